//! `/oauth/account/notifications`: what notifies the user, in everyday terms. The changes of the
//! page are changes of push rules, by the same operations as those of the API.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::oauth::form::Pairs;
use belfry_core::rules::preferences::{PreferenceChange, PreferenceError, Preferences};
use belfry_core::rules::{Document, RuleScope};

use crate::http::error::{CommonError, PageError, rejection_status};
use crate::http::extract::form::{Form, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::page::{redirect, redirect_to_sign_in, respond, show_page};
use crate::pages::{
    self, AccountSection, Notice, NotificationsPage, NotificationsView, RejectedForm,
    RejectionReason,
};
use crate::store::{Account, RuleWriteError, StoredRulesets};

/// `GET /oauth/account/notifications`: redirects to the sign-in page unless the browser is signed
/// in.
pub(crate) async fn notifications_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            return redirect_to_sign_in(&session, AccountSection::Notifications, None);
        };
        let view = NotificationsView::from_query(&query, session.lang);
        show(&session, account, &view, StatusCode::OK, None).await
    };
    respond(&session, result.await)
}

/// `POST /oauth/account/notifications`: makes the change in the field `change`. A rejected form is
/// shown again.
pub(crate) async fn change_notifications(
    session: BrowserSession,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            let notice = Some(Notice::NotSaved);
            return redirect_to_sign_in(&session, AccountSection::Notifications, notice);
        };
        session.check_form(&pairs)?;
        let view = NotificationsView::from_query(&query, session.lang);
        match save(&session, account, &view, &pairs).await? {
            Ok(change) => redirect_after(&session, account, view, &change).await,
            Err(reason) => show_rejected(&session, account, &view, &pairs, &reason).await,
        }
    };
    respond(&session, result.await)
}

async fn save(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    pairs: &Pairs,
) -> Result<Result<PreferenceChange, RejectionReason>, PageError> {
    let change = match PreferenceChange::from_pairs(pairs, session.state.clock.now()) {
        Ok(change) => change,
        Err(error @ PreferenceError::UnknownChange) => {
            return Err(CommonError::Malformed(error.to_string()).into());
        }
        Err(error) => return Ok(Err(RejectionReason::Field(error))),
    };
    // Only all devices together have built-in rules.
    let scope = if change.is_global() { RuleScope::Global } else { view.scope() };
    let applied = change.clone();
    let apply = move |document: &mut Document| applied.apply(document);
    match session.state.rule_writer.change(account.id, scope, apply).await {
        Ok(()) => Ok(Ok(change)),
        Err(RuleWriteError::Rejected(error)) => Ok(Err(RejectionReason::Rules(error))),
        Err(error) => Err(error.into()),
    }
}

async fn redirect_after(
    session: &BrowserSession,
    account: &Account,
    mut view: NotificationsView,
    change: &PreferenceChange,
) -> Result<Response, PageError> {
    let now = session.state.clock.now();
    let rulesets = session.state.store.rulesets(account.id, now).await?;
    if let Some(document) = rulesets.document(&view.scope()) {
        view.show_changed(change, &Preferences::read(document));
    }
    let notice = if change.is_removal() { Notice::Removed } else { Notice::Saved };
    redirect(session, &view.path_after(change, notice.code()))
}

async fn show_rejected(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    pairs: &Pairs,
    reason: &RejectionReason,
) -> Result<Response, PageError> {
    let language = session.layout(session.lang).language;
    let rejected = RejectedForm::new(pairs, reason, language);
    show(session, account, view, rejection_status(reason), rejected).await
}

async fn show(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    status: StatusCode,
    rejected: Option<RejectedForm>,
) -> Result<Response, PageError> {
    let now = session.state.clock.now();
    let rulesets = session.state.store.rulesets(account.id, now).await?;
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
        profiles: &profiles(&rulesets),
        now,
        rejected,
    };
    show_page(session, status, &page, None)
}

/// The device profiles with rules, by name.
fn profiles(rulesets: &StoredRulesets) -> Vec<&str> {
    let tags = rulesets.documents().filter_map(|document| match document.scope() {
        RuleScope::Device(tag) => Some(tag.as_str()),
        RuleScope::Global => None,
    });
    let mut tags: Vec<&str> = tags.collect();
    tags.sort_unstable();
    tags
}
