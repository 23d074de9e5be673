//! `/oauth/account/rules`: all rules in evaluation order, one rule as JSON, and forms that change
//! rules.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::form::{Pairs, last_value};
use belfry_core::matrix;
use belfry_core::rules::preferences::PreferenceChange;
use belfry_core::rules::{RuleDocument, RuleError, RuleListing, RuleRef, RuleScope, User};
use belfry_store::Account;

use super::notifications::{change_ruleset, load_rulesets, save_preference};
use crate::http::error::{CommonError, PageError, SubmitError, rejection_status};
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, render_large_page, respond};
use crate::pages::{
    self, AccountSection, NewRuleForm, Notice, RejectionReason, RulePage, RulesPage, RulesView,
    rule_anchor,
};
use crate::paths::with_parameters;

/// `GET /oauth/account/rules`
pub(crate) async fn get_rules_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        let account = session.require_account(AccountSection::Rules)?;
        let view = RulesView::from_query(&query);
        let new_rule = NewRuleForm::default();
        render_rules_page(&session, account, StatusCode::OK, &view, None, new_rule).await
    }
    .await;
    respond(&session, result)
}

/// `GET /oauth/account/rules/rule`: the JSON of one rule, and the form that deletes it.
pub(crate) async fn get_rule_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        let account = session.require_account(AccountSection::Rules)?;
        let path = last_value(&query, "rule");
        let rule_ref = RuleRef::from_path(path).map_err(|_| CommonError::NotFound)?;
        let rulesets = load_rulesets(&session, account).await?;
        let empty_document = RuleDocument::new(rule_ref.scope.clone());
        let document = rulesets.document(&rule_ref.scope).unwrap_or(&empty_document);
        let user_id = matrix::user_id(&account.name, session.state.server_name());
        let rule = document.rule(rule_ref.kind, &rule_ref.id, User::new(&user_id));
        let page = RulePage {
            layout: session.layout(session.lang),
            nav: session.nav(AccountSection::Rules),
            form: pages::Form {
                action: &RulesView::default().path(session.lang),
                csrf: &session.csrf_token(),
                request: None,
            },
            rule_ref: &rule_ref,
            rule: &*rule.map_err(|_| CommonError::NotFound)?,
            rules_path: &RulesView::default().after_change(&rule_ref).path(session.lang),
        };
        render_large_page(&session, StatusCode::OK, &page, account.id)
    }
    .await;
    respond(&session, result)
}

/// `POST /oauth/account/rules`: adds, enables, disables or deletes a rule.
pub(crate) async fn change_rules(
    session: BrowserSession,
    Query(query): Query,
    PageForm(pairs): PageForm,
) -> Response {
    let result = async {
        let account = session.require_account_for_form(AccountSection::Rules, &pairs)?;
        let view = RulesView::from_query(&query);
        let parse_rule_ref = || {
            let path = last_value(&pairs, "rule");
            RuleRef::from_path(path).map_err(|error| CommonError::Malformed(error.to_string()))
        };
        match last_value(&pairs, "change") {
            "add" => add_rule(&session, account, &view, &pairs).await,
            "enable" => set_rule_enabled(&session, account, &view, &parse_rule_ref()?, true).await,
            "disable" => {
                set_rule_enabled(&session, account, &view, &parse_rule_ref()?, false).await
            }
            "delete" => delete_rule(&session, account, &view, &parse_rule_ref()?).await,
            _ => {
                let message = "change must be add, enable, disable or delete";
                Err(CommonError::Malformed(message.to_owned()).into())
            }
        }
    }
    .await;
    respond(&session, result)
}

/// Adds a rule that mutes or highlights a word, a person or a room on all devices.
async fn add_rule(
    session: &BrowserSession,
    account: &Account,
    view: &RulesView,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let change = PreferenceChange::from_rule_form(pairs);
    match save_preference(session, account, &RuleScope::Global, change).await {
        Ok((change, notice)) => {
            let rulesets = load_rulesets(session, account).await?;
            let document = rulesets.document(&RuleScope::Global);
            let rule = document.and_then(|document| change.changed_rule(document));
            redirect_to_rule(session, view, &rule.ok_or(CommonError::Internal)?, notice)
        }
        Err(error) => {
            let reason = error.into_reason()?;
            let text = reason.text("", session.layout(session.lang).language);
            let new_rule = NewRuleForm::from_rejected(pairs, text);
            render_rules_page(session, account, rejection_status(&reason), view, None, new_rule)
                .await
        }
    }
}

async fn set_rule_enabled(
    session: &BrowserSession,
    account: &Account,
    view: &RulesView,
    rule: &RuleRef,
    is_enabled: bool,
) -> Result<Response, PageError> {
    let kind = rule.kind;
    let id = rule.id.clone();
    let change = move |document: &mut RuleDocument| document.set_enabled(kind, &id, is_enabled);
    match change_ruleset(session, account, &rule.scope, change).await {
        Ok(()) => redirect_to_rule(session, view, rule, Notice::Saved),
        Err(error) => render_rejected_change(session, account, view, rule, error).await,
    }
}

/// Deletes a user rule. A rule that no longer exists is not an error, because a form may be
/// submitted twice.
async fn delete_rule(
    session: &BrowserSession,
    account: &Account,
    view: &RulesView,
    rule: &RuleRef,
) -> Result<Response, PageError> {
    let kind = rule.kind;
    let id = rule.id.clone();
    let change = move |document: &mut RuleDocument| document.remove(kind, &id);
    match change_ruleset(session, account, &rule.scope, change).await {
        Ok(())
        | Err(SubmitError::Rejected(RejectionReason::Rules(RuleError::NoSuchRule { .. }))) => {
            let path = view.after_change(rule).path(session.lang);
            redirect(session, &with_parameters(&path, [("notice", Notice::Removed.code())]))
        }
        Err(error) => render_rejected_change(session, account, view, rule, error).await,
    }
}

/// Redirects to the row of a changed rule.
fn redirect_to_rule(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
    notice: Notice,
) -> Result<Response, PageError> {
    let view_path = view.after_change(rule).path(session.lang);
    let path = with_parameters(&view_path, [("notice", notice.code())]);
    redirect(session, &format!("{path}#{}", rule_anchor(rule)))
}

/// Renders the rules with the reason why a rule was not changed.
async fn render_rejected_change(
    session: &BrowserSession,
    account: &Account,
    view: &RulesView,
    rule: &RuleRef,
    error: SubmitError<RejectionReason>,
) -> Result<Response, PageError> {
    let reason = error.into_reason()?;
    let text = reason.text(&rule.id, session.layout(session.lang).language);
    let view = view.after_change(rule);
    let new_rule = NewRuleForm::default();
    render_rules_page(session, account, rejection_status(&reason), &view, Some(text), new_rule)
        .await
}

async fn render_rules_page(
    session: &BrowserSession,
    account: &Account,
    status: StatusCode,
    view: &RulesView,
    rejection: Option<String>,
    new_rule: NewRuleForm,
) -> Result<Response, PageError> {
    let rulesets = load_rulesets(session, account).await?;
    let user_id = matrix::user_id(&account.name, session.state.server_name());
    let listing = RuleListing::new(rulesets.documents(), User::new(&user_id));
    let mut nav = session.nav(AccountSection::Rules);
    nav.notice.take_if(|_| status != StatusCode::OK);
    // The notice is shown next to the changed rule, if it still exists.
    let is_listed = view.changed_rule.as_ref().is_some_and(|rule| listing.contains(rule));
    let notice = nav.notice.take_if(|_| is_listed);
    let page = RulesPage {
        layout: session.layout(session.lang),
        nav,
        form: pages::Form {
            action: &RulesView { page: view.page, changed_rule: None }.path(session.lang),
            csrf: &session.csrf_token(),
            request: None,
        },
        listing: &listing,
        view,
        notice,
        rejection,
        new_rule,
    };
    render_large_page(session, status, &page, account.id)
}
