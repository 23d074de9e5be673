//! Download of an account's data.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::audit::AuditKind;
use belfry_core::json::to_bytes;
use belfry_core::matrix::user_id;
use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::receiver::{Pusher, ReceiverDocument, Subscription};
use belfry_core::rules::{RulesetsResponse, User};
use belfry_store::{
    Account, AccountSession, AccountToken, AuditEvent, AuditFilter, AuthorizedApp, ListedReceiver,
    LoggedDelivery,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::error::{CommonError, PageError};
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::json::JsonBytes;
use crate::http::respond::{respond_with, with_security_headers};
use crate::pages::AccountSection;

/// Maximum number of sessions in a download.
const MAX_SESSIONS: i64 = 1000;
/// Maximum number of tokens in a download, for all apps together.
const MAX_TOKENS: usize = 1000;
/// Maximum number of deliveries in a download.
const MAX_DELIVERIES: i64 = 1000;
/// Maximum number of audit events in a download.
const MAX_EVENTS: i64 = 10_000;

/// `POST /oauth/account/security/download`: the account's data as a JSON file. Not a GET,
/// because each download is recorded, and links on other sites can cause a GET.
pub(crate) async fn download_data(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    respond_with(&session, async {
        let account = session.require_account(AccountSection::Security)?;
        session.check_form(&pairs)?;
        // One at a time per account, because collecting an account's data may take megabytes of
        // memory.
        let _download_slot = session.state.large_body_slots.acquire(account.id)?;
        let events = session.success_event(AuditKind::DataDownload).into();
        session.state.store.record_account_events(&events, account.id).await?;
        let content = to_bytes(&collect_account_data(&session, account).await?);
        let counted_content = session.state.unread_responses.count(account.id, content.into());
        let mut response = JsonBytes(counted_content.map_err(CommonError::from)?).into_response();
        let today = session.now.strftime("%Y-%m-%d");
        let name = account.name.replace('/', "_");
        let disposition = format!("attachment; filename=\"{name}-{today}.json\"");
        let disposition = HeaderValue::from_str(&disposition).map_err(|_| CommonError::Internal)?;
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
        let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        Ok(with_security_headers(response))
    })
    .await
}

/// Returns the data stored about an account, without secrets. The numbers of sessions, tokens,
/// deliveries and audit events are limited by the constants above.
async fn collect_account_data(
    session: &BrowserSession,
    account: &Account,
) -> Result<Value, PageError> {
    let store = &session.state.store;
    let mut apps = Vec::new();
    let mut remaining_tokens = MAX_TOKENS;
    for app in store.authorized_apps(account.id, session.now).await? {
        let mut tokens = match remaining_tokens {
            0 => Vec::new(),
            _ => store.account_app_tokens(account.id, app.app_id, session.now).await?,
        };
        tokens.truncate(remaining_tokens);
        remaining_tokens -= tokens.len();
        apps.push(app_to_json(&app, &tokens));
    }
    // Before the receivers, so that the last success of a receiver is at least as new.
    let deliveries = store.delivery_log(account.id, None, MAX_DELIVERIES).await?;
    let receivers = store.live_receivers(account.id, session.now).await?;
    let sessions = store.account_sessions(account.id, session.now, MAX_SESSIONS).await?;
    let rulesets = store.rulesets(account.id, session.now).await?;
    let filter = AuditFilter { account: Some(account.id), ..AuditFilter::default() };
    let events = store.audit_events(filter, MAX_EVENTS).await?;
    let user_id = user_id(&account.name, session.state.server_name());
    let current_session = session.hashed_cookie().lookup_key;
    let Account { email, unverified_email, .. } = account;
    Ok(json!({
        "exported_at": session.now.to_string(),
        "account": {
            "id": account.id.to_string(),
            "name": account.name,
            "user_id": user_id,
            "email": email.as_ref().or(unverified_email.as_ref()),
            "email_verified": email.is_some(),
            "role": account.role.as_str(),
            "created_at": account.created_at.to_string(),
            "signed_in_at": format_optional_time(account.signed_in_at),
            "delete_at": format_optional_time(account.delete_at),
        },
        "apps": apps,
        "sessions": sessions
            .iter()
            .map(|session| session_to_json(session, session.lookup_key == current_session))
            .collect::<Vec<_>>(),
        "receivers": receivers.iter().map(receiver_to_json).collect::<Vec<_>>(),
        "deliveries": deliveries.iter().map(delivery_to_json).collect::<Vec<_>>(),
        "push_rules": RulesetsResponse::new(rulesets.documents(), User::new(&user_id)),
        "audit_events": events.iter().map(event_to_json).collect::<Vec<_>>(),
    }))
}

fn app_to_json(app: &AuthorizedApp, tokens: &[AccountToken]) -> Value {
    let tokens = tokens.iter().map(|token| {
        json!({
            "scopes": token.scopes.names().collect::<Vec<_>>(),
            "issued_at": token.created_at.to_string(),
            "expires_at": format_optional_time(token.expires_at),
            "last_used_at": format_optional_time(token.last_used_at),
            "device": token.device_name,
        })
    });
    json!({
        "client_id": app.client_id,
        "name": app.name,
        "website": app.website,
        "scopes": app.scopes.names().collect::<Vec<_>>(),
        "since": app.since.to_string(),
        "tokens": tokens.collect::<Vec<_>>(),
    })
}

fn session_to_json(session: &AccountSession, is_current: bool) -> Value {
    json!({
        "browser": session.browser.browser,
        "system": session.browser.system,
        "address": session.address,
        "signed_in_at": session.created_at.to_string(),
        "last_used_at": session.seen_at.to_string(),
        "expires_at": session.expires_at.to_string(),
        "this_session": is_current,
    })
}

/// Returns a receiver as JSON, without its keys, and without its URL, because anyone who knows it
/// can send messages to the device.
fn receiver_to_json(listed: &ListedReceiver) -> Value {
    let receiver = &listed.receiver;
    let mut receiver_json = json!({
        "id": receiver.id.to_string(),
        "kind": receiver.protocol().as_str(),
        "app": listed.app(),
        "device": listed.device(),
        "origin": receiver.origin,
        "created_at": receiver.created_at.to_string(),
        "last_success_at": format_optional_time(receiver.succeeded_at),
        "last_failure_at": format_optional_time(receiver.failed_at),
        "last_failure": receiver.failure.as_ref().map(AttemptError::for_owner),
    });
    match &receiver.document {
        ReceiverDocument::Subscription(Subscription { settings, .. }) => {
            receiver_json["alerts"] = json!(settings.alerts);
            receiver_json["policy"] = json!(settings.policy);
        }
        ReceiverDocument::Pusher(Pusher { profile_tag, lang, .. }) => {
            receiver_json["profile_tag"] = json!(profile_tag);
            receiver_json["lang"] = json!(lang);
        }
    }
    receiver_json
}

/// Returns a delivery as JSON. Its receiver may no longer exist.
fn delivery_to_json(delivery: &LoggedDelivery) -> Value {
    json!({
        "at": delivery.created_at.to_string(),
        "event_id": delivery.event_id,
        "rule": delivery.details.rule,
        "receiver_id": delivery.receiver_id.to_string(),
        "attempts": delivery.attempts,
        "outcome": delivery.outcome.map(DeliveryOutcome::as_str),
        "expires_at": delivery.expires_at.to_string(),
        "finished_at": format_optional_time(delivery.finished_at),
        "status": delivery.status,
        "error": delivery.error.as_ref().map(AttemptError::for_owner),
    })
}

/// Returns an event as JSON, with address and detail only if the account's owner may see them.
fn event_to_json(event: &AuditEvent) -> Value {
    let mut event_json = json!({
        "at": event.at.to_string(),
        "last_at": event.last_at.to_string(),
        "kind": event.kind,
        "outcome": event.outcome,
        "count": event.count,
        "app": event.app,
    });
    if AuditKind::from_name(&event.kind).is_some_and(AuditKind::shows_details_to_owner) {
        event_json["address"] = event.address.clone().into();
        event_json["detail"] = event.detail.clone().into();
    }
    event_json
}

fn format_optional_time(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}
