//! Endpoints for Matrix clients other than push rules, below the same path prefixes.

pub(super) mod devices;
pub(super) mod login;
pub(super) mod pushers;
pub(super) mod register;

use std::sync::Arc;

use axum::extract::State;
use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::matrix::VERSIONS;
use belfry_core::percent;
use belfry_core::rules::User;
use belfry_core::rules::access::READ_RULES;
use belfry_delivery::acceptance::Delivery;
use belfry_store::Store;
use serde_json::{Value, json};

use self::devices::MANAGE_DEVICES;
use crate::account_memory::UnreadResponses;
use crate::http::error::MatrixError;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::raw_path::RawPath;
use crate::http::extract::requester::Requester;
use crate::http::json::{Json, JsonBytes};

/// `GET versions`: the supported versions of the Matrix specification.
pub(super) async fn versions(State(delivery): State<Option<Arc<Delivery>>>) -> Json<Value> {
    let unstable_features = if delivery.is_some() {
        json!({ "org.matrix.msc3881": true, "org.matrix.msc4174": true })
    } else {
        json!({})
    };
    Json(json!({ "versions": VERSIONS, "unstable_features": unstable_features }))
}

/// `GET account/whoami`: the user of the token, and the device to which it was issued, if any.
pub(super) async fn whoami(
    State(store): State<Store>,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    let mut response = json!({ "user_id": requester.user_id, "is_guest": false });
    if let Some(token) = requester.token_key
        && let Some(device_id) = store.token_device_id(token).await?
    {
        response["device_id"] = device_id.into();
    }
    Ok(Json(response))
}

pub(super) async fn logout(
    State(store): State<Store>,
    audit: RequestAudit,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    let token = requester.token_key.ok_or(MatrixError::ServiceLogout)?;
    let events = NewAuditEvents::from(audit.success_event(AuditKind::SignOut))
        .with_event(audit.success_event(AuditKind::TokenRevoke));
    store.revoke_token(&events, token, requester.now).await?;
    Ok(Json(json!({})))
}

/// `POST logout/all`: revokes all tokens of the user.
pub(super) async fn logout_all(
    State(store): State<Store>,
    audit: RequestAudit,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(MANAGE_DEVICES)?;
    if requester.token_key.is_none() {
        return Err(MatrixError::ServiceLogout);
    }
    let events = audit.success_event(AuditKind::TokenRevoke).into();
    store.revoke_access(&events, requester.account_id, None, requester.now).await?;
    Ok(Json(json!({})))
}

/// `GET user/{userId}/account_data/m.push_rules`: all rulesets of the user.
pub(super) async fn account_data(
    State(store): State<Store>,
    State(unread_responses): State<UnreadResponses>,
    requester: Requester,
    path: RawPath,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(READ_RULES)?;
    let path_user = percent::decode_segment(path.parameter("{user}").unwrap_or_default())?;
    if path_user != requester.user_id {
        return Err(MatrixError::OtherUser);
    }
    let rulesets = store.rulesets(requester.account_id, requester.now).await?;
    let response = rulesets.response(User::new(&requester.user_id));
    Ok(JsonBytes(unread_responses.count(requester.account_id, response)?))
}
