//! Pushers of Matrix clients.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::audit::AuditKind;
use belfry_core::push::message::Message;
use belfry_core::push::pusher::{
    ACK_LIFETIME, ActivationRequest, NewPusher, PendingAck, PusherError, PusherRequest,
};
use belfry_core::push::receiver::{Pusher, ReceiverDocument, ReceiverSecrets};
use belfry_core::rules::access::{READ_RULES, SET_PUSHERS};
use belfry_core::secret::Sha256Digest;
use belfry_delivery::acceptance::outgoing::OutgoingMessage;
use belfry_delivery::acceptance::registration::{NewReceiver, Registration};
use belfry_delivery::acceptance::{Delivery, EnqueueError};
use belfry_delivery::web_push::encryption::check_public_key;
use belfry_runtime::random;
use belfry_store::{Receiver, Store, WriteOutcome};
use serde_json::{Value, json};

use crate::http::error::MatrixError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::json::Json;

pub(crate) async fn capabilities(
    State(delivery): State<Option<Arc<Delivery>>>,
    _requester: Requester,
) -> Json<Value> {
    let mut capabilities = json!({
        "m.change_password": { "enabled": false },
        "im.nheko.msc3664.related_event_match": { "enabled": true },
    });
    if let Some(delivery) = delivery {
        let web_push = json!({ "enabled": true, "vapid": delivery.vapid_key() });
        capabilities["m.webpush"] = web_push.clone();
        capabilities["org.matrix.msc4174.webpush"] = web_push;
    }
    Json(json!({ "capabilities": capabilities }))
}

/// `GET pushers`: the pushers of the user. The addresses of those that other tokens have set are
/// omitted, except for application services.
pub(crate) async fn list_pushers(
    State(store): State<Store>,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(READ_RULES)?;
    let receivers = store.receivers(requester.account_id, requester.now).await?;
    let to_json = |receiver: Receiver| {
        let ReceiverDocument::Pusher(mut pusher) = receiver.document else { return None };
        if requester.token_key.is_some() && requester.token_key != receiver.token {
            pusher.redact();
        }
        Some(pusher.to_json(receiver.pending_ack.is_none()))
    };
    Ok(Json(json!({ "pushers": receivers.into_iter().filter_map(to_json).collect::<Vec<_>>() })))
}

/// `POST pushers/set`: creates, replaces or deletes a pusher. A new one for Web Push gets no
/// messages until its client has acknowledged the first.
pub(crate) async fn set_pusher(
    State(store): State<Store>,
    State(delivery): State<Option<Arc<Delivery>>>,
    guard: AbuseGuard,
    requester: Requester,
    FullBody(body): FullBody,
) -> Result<Response, MatrixError> {
    requester.require_scope(SET_PUSHERS)?;
    // A pusher can be deleted even if delivery is off.
    let delivery = delivery.as_ref().ok_or(MatrixError::DeliveryOff);
    let addresses =
        delivery.as_ref().map(|delivery| delivery.addresses.clone()).unwrap_or_default();
    let receivers = store.receivers(requester.account_id, requester.now).await?;
    let find_receiver = |app_id: &str, pushkey: &str| {
        let is_found = |pusher: &Pusher| pusher.app_id == app_id && pusher.pushkey == pushkey;
        receivers.iter().find(|receiver| receiver.document.as_pusher().is_some_and(is_found))
    };
    match PusherRequest::parse(&body, &addresses)? {
        PusherRequest::Delete { app_id, pushkey } => {
            if let Some(receiver) = find_receiver(&app_id, &pushkey) {
                let events = guard.audit.success_event(AuditKind::ReceiverRemove).into();
                store.delete_receiver(&events, requester.account_id, receiver.id).await?;
            }
            Ok(Json(json!({})).into_response())
        }
        PusherRequest::Set(pusher) => {
            if let Some(keys) = &pusher.keys {
                check_public_key(keys).map_err(PusherError::Key)?;
            }
            let existing = find_receiver(&pusher.pusher.app_id, &pusher.pusher.pushkey);
            add_pusher(&store, &guard, &requester, delivery?, *pusher, existing).await
        }
    }
}

/// Registers a pusher. For a new one for Web Push, sends the token that its client must return to
/// activate it. This message counts as a test of the device, because users choose its URL.
async fn add_pusher(
    store: &Store,
    guard: &AbuseGuard,
    requester: &Requester,
    delivery: &Delivery,
    new_pusher: NewPusher,
    existing: Option<&Receiver>,
) -> Result<Response, MatrixError> {
    let NewPusher { pusher, endpoint, keys } = new_pusher;
    let account_id = requester.account_id;
    let now = requester.now;
    let ack_token = pusher.requires_ack().then(|| random::split_token(now));
    let receiver = NewReceiver {
        account_id,
        token: requester.token_key,
        document: ReceiverDocument::Pusher(pusher.clone()),
        secrets: ReceiverSecrets { auth: keys.map(|keys| keys.auth_text()), access_token: None },
        origin: endpoint.serialized_origin(),
        pending_ack: ack_token.as_ref().map(|token| PendingAck {
            digest: Sha256Digest::compute(token.reveal()),
            expires_at: now.checked_add(ACK_LIFETIME).unwrap_or(now),
        }),
    };
    let is_same_device =
        |existing| delivery.is_same_device(existing, &receiver.document, &receiver.secrets);
    if ack_token.is_some() && !existing.is_some_and(is_same_device) {
        guard.count_device_test(account_id).await?;
    }
    let events = guard.audit.success_event(AuditKind::ReceiverAdd).into();
    let registration = delivery.register(&events, receiver, existing, now).await?;
    match (registration, ack_token) {
        (Registration::NotFound, _) => Err(MatrixError::UnknownToken),
        (Registration::Added(target), Some(token)) => {
            let ack_token = token.reveal().to_owned();
            let content = Message::Ack { app_id: pusher.app_id, ack_token };
            let message = OutgoingMessage { content, source: "", ttl: ACK_LIFETIME, topic: None };
            if delivery.enqueue(&message, vec![target], now).await? == 0 {
                return Err(EnqueueError::QueueFull.into());
            }
            Ok((StatusCode::CREATED, Json(json!({}))).into_response())
        }
        (Registration::Added(_), None) | (Registration::Renewed, _) => {
            take_push_key(store, &guard.audit, account_id, &pusher).await?;
            Ok(Json(json!({})).into_response())
        }
    }
}

/// Deletes the pushers of other accounts with the app id and push key of an active pusher, because
/// a device that changes its user keeps its push key. With `append`, its client shares the key.
async fn take_push_key(
    store: &Store,
    audit: &RequestAudit,
    account_id: i64,
    pusher: &Pusher,
) -> Result<(), MatrixError> {
    if pusher.append {
        return Ok(());
    }
    let events = audit.success_event(AuditKind::ReceiverTakeover).into();
    let Pusher { app_id, pushkey, .. } = pusher;
    let protocol = pusher.protocol();
    store.remove_push_key_of_others(&events, account_id, app_id, pushkey, protocol).await?;
    Ok(())
}

/// `POST pushers/ack`: activates a pusher for Web Push.
pub(crate) async fn acknowledge_pusher(
    State(store): State<Store>,
    audit: RequestAudit,
    requester: Requester,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(SET_PUSHERS)?;
    let request = ActivationRequest::parse(&body)?;
    let Requester { account_id, now, .. } = requester;
    let receivers = store.receivers(account_id, now).await?;
    let pushers = receivers.iter().filter_map(|Receiver { id, document, pending_ack, .. }| {
        Some((*id, document.as_pusher()?, *pending_ack))
    });
    let (id, pusher) = request.find_pusher(pushers, now)?;
    match store.activate_receiver(account_id, id, request.digest()).await? {
        WriteOutcome::Written => take_push_key(&store, &audit, account_id, pusher).await?,
        WriteOutcome::NotFound => return Err(MatrixError::UnknownAckToken),
    }
    Ok(Json(json!({})))
}
