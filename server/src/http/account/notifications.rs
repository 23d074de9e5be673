//! `/oauth/account/notifications`: what notifies the user, in everyday terms. The changes of the
//! page are changes of push rules, by the same operations as those of the API.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::oauth::form::Pairs;
use belfry_core::rules::preferences::{PreferenceChange, PreferenceError, Preferences};
use belfry_core::rules::{Document, RuleError, RuleScope};
use belfry_store::StoredRulesets;

use super::stale_session::StaleSession;
use crate::http::error::{CommonError, PageError, rejection_status};
use crate::http::extract::form::{Form, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_to_sign_in, respond, show_page};
use crate::pages::{
    self, AccountSection, Notice, NotificationsPage, NotificationsView, RejectedForm,
    RejectionReason,
};
use belfry_store::RuleWriteError;

/// `GET /oauth/account/notifications`: redirects to the sign-in page unless the browser is signed
/// in.
pub(crate) async fn notifications_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        if session.account().is_none() {
            return redirect_to_sign_in(&session, AccountSection::Notifications, None);
        }
        let view = NotificationsView::from_query(&query, session.lang);
        show(&session, &view, StatusCode::OK, None).await
    };
    respond(&session, result.await)
}

/// `POST /oauth/account/notifications`: makes the change in the field `change`. A rejected form is
/// shown again, and so is one with a text after the session has ended.
pub(crate) async fn change_notifications(
    session: BrowserSession,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let result = async {
        let view = NotificationsView::from_query(&query, session.lang);
        if let Some(stale) = StaleSession::detect(&session, &pairs)? {
            return show_stale(&session, &view, &pairs, stale).await;
        }
        match save(&session, &view, &pairs).await {
            Ok(change) => redirect_after(&session, view, &change).await,
            Err(WriteError::Failed(error)) => Err(error),
            Err(WriteError::Rejected(reason)) => {
                let language = session.layout(session.lang).language;
                let rejected = RejectedForm::new(&pairs, &reason, language);
                show(&session, &view, rejection_status(&reason), rejected).await
            }
        }
    };
    respond(&session, result.await)
}

/// Shows a form with a text again. A form without one can be sent again without any loss.
async fn show_stale(
    session: &BrowserSession,
    view: &NotificationsView,
    pairs: &Pairs,
    stale: StaleSession,
) -> Result<Response, PageError> {
    let reason = RejectionReason::Stale(stale.describe(session, AccountSection::Notifications));
    let form = RejectedForm::new(pairs, &reason, session.layout(session.lang).language);
    match (form.filter(RejectedForm::has_text), stale) {
        (Some(form), _) => show(session, view, stale.status(), Some(form)).await,
        (None, StaleSession::SignedIn) => Err(PageError::ForgedForm),
        (None, StaleSession::SignedOut) => {
            let notice = Some(Notice::NotSaved);
            redirect_to_sign_in(session, AccountSection::Notifications, notice)
        }
    }
}

/// Why a form changed nothing.
pub(super) enum WriteError {
    /// The page shows the form again, with the reason.
    Rejected(RejectionReason),
    Failed(PageError),
}

impl<E: Into<PageError>> From<E> for WriteError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn save(
    session: &BrowserSession,
    view: &NotificationsView,
    pairs: &Pairs,
) -> Result<PreferenceChange, WriteError> {
    let change = PreferenceChange::from_pairs(pairs, session.state.clock.now());
    // Only all devices together have built-in rules.
    let is_global = change.as_ref().is_ok_and(PreferenceChange::is_global);
    let scope = if is_global { RuleScope::Global } else { view.scope() };
    save_preference(session, &scope, change).await
}

/// Makes the change of a form, with the limits of the API.
pub(super) async fn save_preference(
    session: &BrowserSession,
    scope: &RuleScope,
    change: Result<PreferenceChange, PreferenceError>,
) -> Result<PreferenceChange, WriteError> {
    let change = match change {
        Ok(change) => change,
        Err(error @ PreferenceError::UnknownChange) => {
            return Err(CommonError::Malformed(error.to_string()).into());
        }
        Err(error) => return Err(WriteError::Rejected(RejectionReason::Field(error))),
    };
    let (applied, limits) = (change.clone(), session.state.config.rules.new_rule_limits());
    let apply = move |document: &mut Document| applied.apply(document, limits);
    write(session, scope, apply).await?;
    Ok(change)
}

/// Changes a ruleset of the signed-in user.
pub(super) async fn write(
    session: &BrowserSession,
    scope: &RuleScope,
    change: impl Fn(&mut Document) -> Result<(), RuleError> + Send + Sync + 'static,
) -> Result<(), WriteError> {
    let account = session.account().ok_or(CommonError::Internal)?.id;
    let (writer, now) = (&session.state.rule_writer, session.state.clock.now());
    let written = writer.change(account, scope.clone(), now, change).await;
    written.map_err(|error| match error {
        RuleWriteError::Rejected(error) => WriteError::Rejected(RejectionReason::Rules(error)),
        error => error.into(),
    })
}

async fn redirect_after(
    session: &BrowserSession,
    mut view: NotificationsView,
    change: &PreferenceChange,
) -> Result<Response, PageError> {
    let rulesets = load(session).await?;
    if let Some(document) = rulesets.document(&view.scope()) {
        view.show_changed(change, &Preferences::read(document));
    }
    let notice = if change.is_removal() { Notice::Removed } else { Notice::Saved };
    redirect(session, &view.path_after(change, notice.code()))
}

/// The rules of the signed-in user.
pub(super) async fn load(session: &BrowserSession) -> Result<StoredRulesets, PageError> {
    let Some(account) = session.account() else { return Ok(StoredRulesets::default()) };
    Ok(session.state.store.rulesets(account.id, session.state.clock.now()).await?)
}

async fn show(
    session: &BrowserSession,
    view: &NotificationsView,
    status: StatusCode,
    rejected: Option<RejectedForm>,
) -> Result<Response, PageError> {
    let rulesets = load(session).await?;
    let empty = Document::new(view.scope());
    let document = rulesets.document(&view.scope()).unwrap_or(&empty);
    let csrf = session.csrf_token();
    let mut nav = session.nav(AccountSection::Notifications);
    // The notice of a change is shown in the part that was changed, and not after the next form.
    let notice = nav.notice.take_if(|_| view.part.is_some() || rejected.is_some());
    let page = NotificationsPage {
        layout: session.layout(session.lang),
        nav,
        notice: notice.filter(|_| rejected.is_none()),
        form: pages::Form { action: &view.path(), csrf: &csrf, request: None },
        preferences: &Preferences::read(document),
        view,
        profiles: &rulesets.profile_tags(),
        now: session.state.clock.now(),
        is_signed_in: session.account().is_some(),
        rejected,
    };
    show_page(session, status, &page, None)
}
