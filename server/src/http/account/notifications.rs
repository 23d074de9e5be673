//! `/oauth/account/notifications`: what notifies the user, in everyday terms. The page changes push
//! rules with the same operations as the API.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::form::{Pairs, last_value};
use belfry_core::rules::preferences::{
    PreferenceChange, PreferenceError, Preferences, QuietPeriod,
};
use belfry_core::rules::{Effect, RuleDocument, RuleScope};
use belfry_store::{Account, RuleWriteError, StoreError, StoredRulesets};

use super::trial::run_trial;
use crate::http::error::{CommonError, PageError, SubmitError};
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, render_large_page, respond_with};
use crate::pages::{
    self, AccountSection, Notice, NotificationsPage, NotificationsPart, NotificationsView,
    RejectedForm, RejectionReason, Trial,
};

/// `GET /oauth/account/notifications`: redirects to the sign-in page unless the browser is signed
/// in.
pub(crate) async fn get_notifications_page(
    session: BrowserSession,
    Query(query): Query,
) -> Response {
    respond_with(&session, async {
        let account = session.require_account(AccountSection::Notifications)?;
        let view = NotificationsView::from_query(&query, session.lang);
        let trial = Trial::default();
        render_notifications_page(&session, account, &view, StatusCode::OK, None, trial).await
    })
    .await
}

/// `POST /oauth/account/notifications`: makes the change in the field `change`, or tries the rules
/// with a message (`try`). A rejected form is shown again.
pub(crate) async fn change_notifications(
    session: BrowserSession,
    Query(query): Query,
    PageForm(pairs): PageForm,
) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Notifications, &pairs)?;
        let view = NotificationsView::from_query(&query, session.lang);
        if last_value(&pairs, "change") == "try" {
            let trial = run_trial(&session, account, &view, &pairs).await?;
            let is_invalid = matches!(trial.outcome, Some(Err(_)));
            let status = if is_invalid { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
            return render_notifications_page(&session, account, &view, status, None, trial).await;
        }
        match save_form(&session, account, &view, &pairs).await {
            Ok(saved_change) => {
                redirect_to_part(&session, account, view, &pairs, saved_change).await
            }
            Err(error) => {
                let reason = error.into_reason()?;
                let language = session.layout(session.lang).language;
                let form = RejectedForm::new(&pairs, &reason, language);
                let status = if reason.is_conflict() {
                    StatusCode::CONFLICT
                } else {
                    StatusCode::UNPROCESSABLE_ENTITY
                };
                let trial = Trial::default();
                render_notifications_page(&session, account, &view, status, form, trial).await
            }
        }
    })
    .await
}

/// Makes the change that a form requests, with the API's limits. Returns the change and the notice
/// about it.
async fn save_form(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    pairs: &Pairs,
) -> Result<(PreferenceChange, Notice), SubmitError<RejectionReason>> {
    let change = match PreferenceChange::from_form(pairs, session.now) {
        Ok(change) => change,
        Err(error @ PreferenceError::UnknownChange) => {
            return Err(CommonError::Malformed(error.to_string()).into());
        }
        Err(error) => return Err(SubmitError::Rejected(RejectionReason::Field(error))),
    };
    let scope = if change.is_global() { RuleScope::Global } else { view.scope() };
    let notice = match &change {
        PreferenceChange::SetKeyword { effect, .. } => {
            let rulesets = load_rulesets(session, account).await?;
            match rulesets.document(&scope).is_some_and(|document| change.reverses_word(document)) {
                true if *effect == Effect::Silent => Notice::KeywordMuted,
                true => Notice::WordUnmuted,
                false => Notice::Saved,
            }
        }
        change if change.is_removal() => Notice::Removed,
        _ => Notice::Saved,
    };
    let change_copy = change.clone();
    let limits = session.state.rule_settings.new_rule_limits();
    let apply = move |document: &mut RuleDocument| change_copy.apply(document, limits);
    match session.state.rule_writer.change_document(account.id, scope, session.now, apply).await {
        Ok(()) => Ok((change, notice)),
        Err(RuleWriteError::Rejected(error)) => {
            Err(SubmitError::Rejected(RejectionReason::Rules(error)))
        }
        Err(error) => Err(error.into()),
    }
}

async fn redirect_to_part(
    session: &BrowserSession,
    account: &Account,
    mut view: NotificationsView,
    pairs: &Pairs,
    (change, notice): (PreferenceChange, Notice),
) -> Result<Response, PageError> {
    let rulesets = load_rulesets(session, account).await?;
    if let Some(document) = rulesets.document(&view.scope()) {
        view.select_page_of_change(&change, &Preferences::from_document(document));
    }
    let part = NotificationsPart::from_form(pairs).ok_or(CommonError::Internal)?;
    redirect(session, &view.path_after_change(part, notice))
}

pub(super) async fn load_rulesets(
    session: &BrowserSession,
    account: &Account,
) -> Result<StoredRulesets, StoreError> {
    session.state.store.rulesets(account.id, session.now).await
}

async fn render_notifications_page(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    status: StatusCode,
    rejected_form: Option<RejectedForm>,
    trial: Trial,
) -> Result<Response, PageError> {
    let rulesets = load_rulesets(session, account).await?;
    let empty_document = RuleDocument::new(view.scope());
    let document = rulesets.document(&view.scope()).unwrap_or(&empty_document);
    let csrf = session.csrf_token();
    let mut nav = session.nav(AccountSection::Notifications);
    // The notice is shown in the part that was changed, and not again after a rejected form.
    let notice = nav.notice.take_if(|_| view.part.is_some() || rejected_form.is_some());
    let page = NotificationsPage {
        layout: session.layout(session.lang),
        nav,
        notice: notice.filter(|_| rejected_form.is_none()),
        form: pages::Form { action: &view.path(), csrf: &csrf, request: None },
        preferences: &Preferences::from_document(document),
        quiet_period: QuietPeriod::from_document(document, session.now),
        view,
        profiles: &rulesets.profile_tags(),
        now: session.now,
        rejected_form,
        trial,
    };
    render_large_page(session, status, &page, account.id)
}
