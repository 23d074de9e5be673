//! `/api/v1/push/subscription`: the Web Push subscription of a Mastodon client. Each access token
//! has at most one.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::scope::Scope;
use belfry_core::push::receiver::{ReceiverDocument, Subscription, SubscriptionSettings};
use belfry_core::push::subscription::{SubscriptionError, SubscriptionRequest};
use belfry_delivery::acceptance::Delivery;
use belfry_delivery::acceptance::registration::{NewReceiver, Registration};
use belfry_delivery::web_push::encryption::check_public_key;
use belfry_store::{Receiver, Store, WriteOutcome};
use serde_json::{Value, json};

use crate::http::error::ApiError;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::bearer::Bearer;
use crate::http::extract::form::SubscriptionForm;
use crate::http::json::Json;

/// `POST /api/v1/push/subscription`: creates the subscription of the token, or replaces it.
pub(crate) async fn create_subscription(
    State(store): State<Store>,
    State(delivery): State<Option<Arc<Delivery>>>,
    audit: RequestAudit,
    bearer: Bearer,
    SubscriptionForm(pairs): SubscriptionForm,
) -> Result<Json<Value>, ApiError> {
    let account_id = require_push(&bearer)?;
    let delivery = delivery.ok_or(ApiError::DeliveryOff)?;
    let request = SubscriptionRequest::from_pairs(&pairs, &delivery.addresses)?;
    check_public_key(&request.keys).map_err(SubscriptionError::Key)?;
    let origin = request.endpoint.serialized_origin();
    let (document, secrets) = request.into_receiver(&bearer.secret);
    let now = bearer.now;
    let existing = store.receiver_of_token(bearer.lookup_key, now).await?;
    let token = Some(bearer.lookup_key);
    let receiver = NewReceiver { account_id, token, document, secrets, origin, pending_ack: None };
    let events = audit.success_event(AuditKind::ReceiverAdd).into();
    match delivery.register(&events, receiver, existing.as_ref(), now).await? {
        Registration::Renewed | Registration::Added(_) => {}
        Registration::NotFound => return Err(ApiError::InvalidToken),
    }
    find_subscription(&store, &bearer).await.map(|receiver| Json(subscription_entity(&receiver)))
}

/// `GET /api/v1/push/subscription`
pub(crate) async fn get_subscription(
    State(store): State<Store>,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    require_push(&bearer)?;
    find_subscription(&store, &bearer).await.map(|receiver| Json(subscription_entity(&receiver)))
}

/// `PUT /api/v1/push/subscription`: replaces the alerts and the policy.
pub(crate) async fn change_subscription(
    State(store): State<Store>,
    bearer: Bearer,
    SubscriptionForm(pairs): SubscriptionForm,
) -> Result<Json<Value>, ApiError> {
    require_push(&bearer)?;
    let mut receiver = find_subscription(&store, &bearer).await?;
    let settings = SubscriptionSettings::from_pairs(&pairs)?;
    if let ReceiverDocument::Subscription(subscription) = &mut receiver.document {
        subscription.settings = settings;
    }
    let Receiver { account_id, id, document, .. } = &receiver;
    let token = Some(bearer.lookup_key);
    match store.renew_receiver(*account_id, *id, token, document).await? {
        WriteOutcome::Written => Ok(Json(subscription_entity(&receiver))),
        WriteOutcome::NotFound => Err(ApiError::RecordNotFound),
    }
}

/// `DELETE /api/v1/push/subscription`: succeeds even if there is none.
pub(crate) async fn delete_subscription(
    State(store): State<Store>,
    audit: RequestAudit,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    let account_id = require_push(&bearer)?;
    match find_subscription(&store, &bearer).await {
        Ok(receiver) => {
            let events = audit.success_event(AuditKind::ReceiverRemove).into();
            store.delete_receiver(&events, account_id, receiver.id).await?;
        }
        Err(ApiError::RecordNotFound) => {}
        Err(error) => return Err(error),
    }
    Ok(Json(json!({})))
}

/// Requires a user's token with the scope `push`. Returns the account's id.
fn require_push(bearer: &Bearer) -> Result<i64, ApiError> {
    bearer.require_scope(&[Scope::Push])?;
    Ok(bearer.require_user()?.id)
}

async fn find_subscription(store: &Store, bearer: &Bearer) -> Result<Receiver, ApiError> {
    let receiver = store.receiver_of_token(bearer.lookup_key, bearer.now).await?;
    receiver.ok_or(ApiError::RecordNotFound)
}

/// Returns Mastodon's `WebPushSubscription`.
fn subscription_entity(receiver: &Receiver) -> Value {
    let ReceiverDocument::Subscription(subscription) = &receiver.document else {
        return Value::Null;
    };
    let Subscription { endpoint, standard, settings, .. } = subscription;
    json!({
        "id": receiver.id,
        "endpoint": endpoint,
        "standard": standard,
        "alerts": settings.alerts,
        "policy": settings.policy,
        "server_key": receiver.vapid_key,
    })
}

impl From<SubscriptionError> for ApiError {
    fn from(error: SubscriptionError) -> Self {
        Self::Invalid(error.to_string(), None)
    }
}
