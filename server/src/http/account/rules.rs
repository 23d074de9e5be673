//! `/oauth/account/rules`: all rules in the order of evaluation, and forms that change them.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::rules::preferences::PreferenceChange;
use belfry_core::rules::{Document, RuleError, RuleListing, RuleRef, RuleScope, User};

use super::notifications::{WriteError, load, save_preference, write};
use super::stale_session::StaleSession;
use crate::http::error::{CommonError, PageError, rejection_status};
use crate::http::extract::form::{Form, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_to_sign_in, respond, show_large_page};
use crate::pages::{
    self, AccountSection, NewRuleFields, Notice, RejectionReason, RuleLinks, RulePage, RulesPage,
    RulesView, rule_anchor,
};
use crate::paths::with_parameters;

/// `GET /oauth/account/rules`
pub(crate) async fn rules_page(session: BrowserSession, Query(query): Query) -> Response {
    let view = RulesView::from_query(&query);
    let fields = NewRuleFields::default();
    respond(&session, show_rules(&session, &view, StatusCode::OK, None, fields).await)
}

/// `GET /oauth/account/rules/rule`: the JSON of one rule, and the form that deletes it.
pub(crate) async fn rule_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            return redirect_to_sign_in(&session, AccountSection::Rules, None);
        };
        let path = last_value(&query, "rule");
        let rule = RuleRef::from_path(path).map_err(|_| CommonError::NotFound)?;
        let rulesets = load(&session).await?;
        let without_rules = Document::new(rule.scope.clone());
        let document = rulesets.document(&rule.scope).unwrap_or(&without_rules);
        let user_id = matrix::user_id(&account.name, session.state.server_name());
        let stored = document.rule(rule.kind, &rule.id, User::new(&user_id));
        let links = RuleLinks { lang: session.lang };
        let page = RulePage {
            layout: session.layout(session.lang),
            nav: session.nav(AccountSection::Rules),
            form: pages::Form {
                action: &links.rules(&RulesView::default()),
                csrf: &session.csrf_token(),
                request: None,
            },
            rule: &rule,
            json: &stored.map_err(|_| CommonError::NotFound)?.to_pretty_json(),
            back: &links.rules(&unfold(&RulesView::default(), &rule)),
        };
        show_large_page(&session, StatusCode::OK, &page, account.id)
    };
    respond(&session, result.await)
}

/// A form of the pages about rules.
enum RuleForm {
    /// Mute or highlight a word, a person or a room.
    Add,
    Enable(RuleRef, bool),
    Delete(RuleRef),
}

impl RuleForm {
    fn read(pairs: &Pairs) -> Result<Self, CommonError> {
        let rule = || {
            let path = last_value(pairs, "rule");
            RuleRef::from_path(path).map_err(|error| CommonError::Malformed(error.to_string()))
        };
        Ok(match last_value(pairs, "change") {
            "add" => Self::Add,
            "enable" => Self::Enable(rule()?, true),
            "disable" => Self::Enable(rule()?, false),
            "delete" => Self::Delete(rule()?),
            _ => {
                let text = "change must be one of the buttons of the page";
                return Err(CommonError::Malformed(text.to_owned()));
            }
        })
    }
}

/// `POST /oauth/account/rules`: adds, enables, disables or deletes a rule.
pub(crate) async fn change_rules(
    session: BrowserSession,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let result = async {
        let view = RulesView::from_query(&query);
        let form = RuleForm::read(&pairs)?;
        match (StaleSession::detect(&session, &pairs)?, form) {
            (Some(StaleSession::SignedOut), _) => {
                redirect_to_sign_in(&session, AccountSection::Rules, Some(Notice::NotSaved))
            }
            (Some(stale @ StaleSession::SignedIn), RuleForm::Add) => {
                let reason = stale.describe(&session, AccountSection::Rules);
                let fields = NewRuleFields::rejected(&pairs, reason.text);
                show_rules(&session, &view, stale.status(), None, fields).await
            }
            (Some(StaleSession::SignedIn), _) => Err(PageError::ForgedForm),
            (None, RuleForm::Add) => add(&session, &view, &pairs).await,
            (None, RuleForm::Enable(rule, enabled)) => {
                let (kind, id) = (rule.kind, rule.id.clone());
                let change =
                    move |document: &mut Document| document.set_enabled(kind, &id, enabled);
                match write(&session, &rule.scope, change).await {
                    Ok(()) => redirect_to_rule(&session, &view, &rule).await,
                    Err(error) => show_rejected(&session, &view, &rule, error).await,
                }
            }
            (None, RuleForm::Delete(rule)) => delete(&session, &view, &rule).await,
        }
    };
    respond(&session, result.await)
}

/// Mutes or highlights a word, a person or a room on all devices.
async fn add(
    session: &BrowserSession,
    view: &RulesView,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let change = PreferenceChange::from_rule_form(pairs);
    match save_preference(session, &RuleScope::Global, change).await {
        Ok(change) => {
            let rulesets = load(session).await?;
            let rule = rulesets.document(&RuleScope::Global).and_then(|it| change.rule(it));
            redirect_to_rule(session, view, &rule.ok_or(CommonError::Internal)?).await
        }
        Err(WriteError::Failed(error)) => Err(error),
        Err(WriteError::Rejected(reason)) => {
            let text = reason.text("", session.layout(session.lang).language);
            let fields = NewRuleFields::rejected(pairs, text);
            show_rules(session, view, rejection_status(&reason), None, fields).await
        }
    }
}

/// Deletes a rule of the user. One that is deleted already is not an error, because a form may be
/// submitted twice.
async fn delete(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
) -> Result<Response, PageError> {
    let (kind, id) = (rule.kind, rule.id.clone());
    let change = move |document: &mut Document| document.remove(kind, &id);
    match write(session, &rule.scope, change).await {
        Ok(())
        | Err(WriteError::Rejected(RejectionReason::Rules(RuleError::NoSuchRule { .. }))) => {
            let path = RuleLinks { lang: session.lang }.rules(&unfold(view, rule));
            redirect(session, &with_parameters(&path, [("notice", Notice::Removed.code())]))
        }
        Err(error) => show_rejected(session, view, rule, error).await,
    }
}

/// The view with the group of a rule unfolded.
fn unfold(view: &RulesView, rule: &RuleRef) -> RulesView {
    RulesView { open: Some((rule.scope.clone(), rule.kind)), ..view.clone() }
}

/// Redirects to the row of a changed rule.
async fn redirect_to_rule(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
) -> Result<Response, PageError> {
    let index = with_listing(session, |listing| listing.index_of(rule)).await?.flatten();
    let view = index.map_or_else(|| view.clone(), |index| view.showing(rule, index));
    let path = RuleLinks { lang: session.lang }.rules(&view);
    let path = with_parameters(&path, [("notice", Notice::Saved.code())]);
    redirect(session, &format!("{path}#{}", rule_anchor(rule)))
}

/// Shows the rules with the reason why a rule was not changed.
async fn show_rejected(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
    error: WriteError,
) -> Result<Response, PageError> {
    let reason = match error {
        WriteError::Rejected(reason) => reason,
        WriteError::Failed(error) => return Err(error),
    };
    let text = reason.text(&rule.id, session.layout(session.lang).language);
    let fields = NewRuleFields::default();
    show_rules(session, &unfold(view, rule), rejection_status(&reason), Some(text), fields).await
}

/// Reads the rules of the signed-in user.
async fn with_listing<T>(
    session: &BrowserSession,
    read: impl FnOnce(&RuleListing<'_>) -> T,
) -> Result<Option<T>, PageError> {
    let Some(account) = session.account() else { return Ok(None) };
    let rulesets = load(session).await?;
    let user_id = matrix::user_id(&account.name, session.state.server_name());
    Ok(Some(read(&RuleListing::new(rulesets.documents(), User::new(&user_id)))))
}

/// Shows a part of the rules.
async fn show_rules(
    session: &BrowserSession,
    view: &RulesView,
    status: StatusCode,
    rejected: Option<String>,
    new_rule: NewRuleFields,
) -> Result<Response, PageError> {
    let Some(account) = session.account() else {
        return redirect_to_sign_in(session, AccountSection::Rules, None);
    };
    let action = RuleLinks { lang: session.lang }.rules(&RulesView { open: None, ..view.clone() });
    let mut nav = session.nav(AccountSection::Rules);
    nav.notice.take_if(|_| status != StatusCode::OK);
    let csrf = session.csrf_token();
    let show = |listing: &RuleListing<'_>| {
        let page = RulesPage {
            layout: session.layout(session.lang),
            nav,
            form: pages::Form { action: &action, csrf: &csrf, request: None },
            listing,
            view,
            rejected,
            new_rule,
        };
        show_large_page(session, status, &page, account.id)
    };
    with_listing(session, show).await?.unwrap_or_else(|| Err(CommonError::Internal.into()))
}
