//! `/oauth/account/rules`: all rules in the order of evaluation, and forms that change them.

pub(crate) mod edit;
mod form;

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::percent::encode;
use belfry_core::rules::{
    Document, MAX_CONDITIONS, NewRule, Position, RemovedRule, RuleError, RuleId, RuleListing,
    RuleRef, RuleScope, User,
};
use belfry_core::text::escape_invisible;
use belfry_store::RuleWriteError;

use self::edit::Edit;
use self::form::{RuleChange, RuleForm};
use super::stale_session::StaleSession;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::form::{Form, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_to_sign_in, respond, show_large_page};
use crate::language::Localize;
use crate::pages::{
    self, AccountSection, Notice, RuleLinks, RulesMessage, RulesPage, RulesView, UndoFields,
    rule_anchor,
};
use crate::paths::with_parameters;

/// `GET /oauth/account/rules`
pub(crate) async fn rules_page(session: BrowserSession, Query(query): Query) -> Response {
    let view = RulesView::from_query(&query);
    respond(&session, show_rules(&session, &view, StatusCode::OK, None).await)
}

/// `POST /oauth/account/rules`: moves, enables, disables, deletes or restores a rule.
pub(crate) async fn change_rules(
    session: BrowserSession,
    Query(query): Query,
    request: Request,
) -> Response {
    let result = async {
        let Form(pairs) =
            Form::within(form::max_bytes(&session.state), request, &session.state).await?;
        let form = RuleForm::read(&pairs)?;
        match StaleSession::detect(&session, &pairs)? {
            None => {}
            // The form may be the only place where the deleted rule is left.
            Some(stale) if form.change == RuleChange::Restore => {
                return Edit::of_deleted(&form.rule, &form.json).show_unsaved(&session, stale);
            }
            Some(StaleSession::SignedIn) => return Err(PageError::ForgedForm),
            Some(StaleSession::SignedOut) => {
                let notice = Some(Notice::NotSaved);
                return redirect_to_sign_in(&session, AccountSection::Rules, notice);
            }
        }
        let view = RulesView::from_query(&query);
        match &form.change {
            RuleChange::Delete => delete(&session, &view, form).await,
            RuleChange::Restore => restore(&session, &view, form).await,
            RuleChange::Move(direction, neighbour) => {
                let (rule, direction, neighbour) =
                    (form.rule.clone(), *direction, neighbour.clone());
                let change = move |document: &mut Document| {
                    document.move_rule(rule.kind, &rule.id, direction, &neighbour)
                };
                let changed = write(&session, &form.rule.scope, change).await?;
                after_change(&session, &view, &form.rule, changed, Notice::Saved).await
            }
            RuleChange::Enable(enabled) => {
                let (rule, enabled) = (form.rule.clone(), *enabled);
                let change = move |document: &mut Document| {
                    document.set_enabled(rule.kind, &rule.id, enabled)
                };
                let changed = write(&session, &form.rule.scope, change).await?;
                after_change(&session, &view, &form.rule, changed, Notice::Saved).await
            }
        }
    };
    let result = result.await;
    respond(&session, result)
}

/// Redirects to the changed rule, or shows the rules with the reason why nothing was changed.
async fn after_change(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
    changed: Result<(), RuleError>,
    notice: Notice,
) -> Result<Response, PageError> {
    match changed {
        Ok(()) => redirect_to_rule(session, view, rule, notice).await,
        Err(error) => {
            show_error(session, &unfold(view, rule), StatusCode::CONFLICT, &error, None).await
        }
    }
}

/// Shows the rules with the reason why nothing was changed, and the form that restores a rule.
async fn show_error(
    session: &BrowserSession,
    view: &RulesView,
    status: StatusCode,
    error: &RuleError,
    undo: Option<UndoFields>,
) -> Result<Response, PageError> {
    let text = error.localize(session.layout(session.lang).language);
    let message = RulesMessage { text, is_warning: true, undo };
    show_rules(session, view, status, Some(message)).await
}

/// The view with the group of a rule unfolded.
fn unfold(view: &RulesView, rule: &RuleRef) -> RulesView {
    RulesView { open: Some((rule.scope.clone(), rule.kind)), ..view.clone() }
}

/// Redirects to the row of a rule.
async fn redirect_to_rule(
    session: &BrowserSession,
    view: &RulesView,
    rule: &RuleRef,
    notice: Notice,
) -> Result<Response, PageError> {
    let index = with_listing(session, |listing| listing.index_of(rule)).await?.flatten();
    let view = index.map_or_else(|| view.clone(), |index| view.showing(rule, index));
    let path = RuleLinks { lang: session.lang }.rules(&view);
    let path = with_parameters(&path, [("notice", notice.code())]);
    redirect(session, &format!("{path}#{}", rule_anchor(rule)))
}

/// Deletes a rule, and shows a form that restores it. The page is the response to the form, because
/// a redirect could not contain the rule.
async fn delete(
    session: &BrowserSession,
    view: &RulesView,
    form: RuleForm,
) -> Result<Response, PageError> {
    let (rule, removed) = (form.rule.clone(), Arc::new(Mutex::new(None)));
    let slot = Arc::clone(&removed);
    let change = move |document: &mut Document| {
        // After a conflict with another node the change is applied again.
        let removed = document.take(rule.kind, &rule.id)?;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(removed);
        Ok(())
    };
    let deleted = write(session, &form.rule.scope, change).await?;
    let removed = removed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (key, undo) = match (deleted, removed) {
        (Ok(()), Some(removed)) => ("rules-deleted", Some(undo_fields(&form.rule, &removed))),
        // The second of two submits, or another tab was first. The form contains the rule.
        (Err(RuleError::NoSuchRule { .. }), _) => ("rules-already-deleted", form.undo_fields()),
        (Err(error), _) => {
            return after_change(session, view, &form.rule, Err(error), Notice::Saved).await;
        }
        (Ok(()), None) => return Err(CommonError::Internal.into()),
    };
    let name = escape_invisible(&form.rule.id);
    let text = session.layout(session.lang).language.text_with(key, "rule", &*name);
    let message = RulesMessage { text, is_warning: false, undo };
    show_rules(session, &unfold(view, &form.rule), StatusCode::OK, Some(message)).await
}

fn undo_fields(rule: &RuleRef, removed: &RemovedRule) -> UndoFields {
    let encoded = |id: &Option<String>| id.as_deref().map(encode).unwrap_or_default();
    UndoFields {
        rule: rule.path(),
        json: removed.rule.compact_json(),
        enabled: removed.rule.enabled,
        above: encoded(&removed.above),
        below: encoded(&removed.below),
    }
}

/// Restores a deleted rule, with the validation of a new one.
async fn restore(
    session: &BrowserSession,
    view: &RulesView,
    form: RuleForm,
) -> Result<Response, PageError> {
    let restored = match read_deleted(session, &form) {
        Ok((id, new)) => {
            let (form, scope) = (form.clone(), form.rule.scope.clone());
            let change = move |document: &mut Document| {
                let neighbours =
                    Position { before: form.below.as_deref(), after: form.above.as_deref() };
                let kind = form.rule.kind;
                document.restore(kind, id.clone(), new.clone(), form.enabled, neighbours)
            };
            write(session, &scope, change).await?
        }
        Err(error) => Err(error),
    };
    match restored {
        Ok(()) => redirect_to_rule(session, view, &form.rule, Notice::Restored).await,
        // The form is shown again, so that the rule is not lost.
        Err(error) => {
            show_error(session, view, StatusCode::CONFLICT, &error, form.undo_fields()).await
        }
    }
}

fn read_deleted(session: &BrowserSession, form: &RuleForm) -> Result<(RuleId, NewRule), RuleError> {
    let id = form.rule.id.parse()?;
    let new = NewRule::read(form.rule.kind, form.json.as_bytes())?;
    new.check_conditions(MAX_CONDITIONS)?;
    new.check_until(session.state.clock.now())?;
    Ok((id, new))
}

/// Changes a ruleset of the signed-in user. A rejection is returned, so that the page can show it.
pub(super) async fn write(
    session: &BrowserSession,
    scope: &RuleScope,
    change: impl Fn(&mut Document) -> Result<(), RuleError> + Send + Sync + 'static,
) -> Result<Result<(), RuleError>, PageError> {
    let account = session.account().ok_or(CommonError::Internal)?.id;
    match session.state.rule_writer.change(account, scope.clone(), change).await {
        Ok(()) => Ok(Ok(())),
        Err(RuleWriteError::Rejected(error)) => Ok(Err(error)),
        Err(error) => Err(error.into()),
    }
}

/// Reads the rules of the signed-in user.
async fn with_listing<T>(
    session: &BrowserSession,
    read: impl FnOnce(&RuleListing<'_>) -> T,
) -> Result<Option<T>, PageError> {
    let Some(account) = session.account() else { return Ok(None) };
    let rulesets = session.state.store.rulesets(account.id, session.state.clock.now()).await?;
    let user_id = matrix::user_id(&account.name, session.state.server_name());
    Ok(Some(read(&RuleListing::new(rulesets.documents(), User::new(&user_id)))))
}

/// Shows a part of the rules.
async fn show_rules(
    session: &BrowserSession,
    view: &RulesView,
    status: StatusCode,
    message: Option<RulesMessage>,
) -> Result<Response, PageError> {
    let Some(account) = session.account() else {
        return redirect_to_sign_in(session, AccountSection::Rules, None);
    };
    let action = RuleLinks { lang: session.lang }.rules(&RulesView { open: None, ..view.clone() });
    let mut nav = session.nav(AccountSection::Rules);
    if message.is_some() {
        nav.notice = None;
    }
    let csrf = session.csrf_token();
    let show = |listing: &RuleListing<'_>| {
        let page = RulesPage {
            layout: session.layout(session.lang),
            nav,
            form: pages::Form { action: &action, csrf: &csrf, request: None },
            listing,
            view,
            message,
        };
        show_large_page(session, status, &page, account.id)
    };
    with_listing(session, show).await?.unwrap_or_else(|| Err(CommonError::Internal.into()))
}
