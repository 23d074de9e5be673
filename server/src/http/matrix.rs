//! Endpoints for Matrix clients other than push rules, below the same path prefixes.

pub(super) mod login;
pub(super) mod pushers;
pub(super) mod register;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::matrix::VERSIONS;
use belfry_core::percent;
use belfry_core::rules::{RuleAccess, User};
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::raw_path::RawPath;
use crate::http::extract::requester::Requester;
use crate::http::json::{Json, JsonBytes};

/// `GET versions`: the supported versions of the Matrix specification.
pub(super) async fn versions(State(state): State<AppState>) -> Json<Value> {
    let unstable_features = if state.delivery.is_some() {
        json!({ "org.matrix.msc3881": true, "org.matrix.msc4174": true })
    } else {
        json!({})
    };
    Json(json!({ "versions": VERSIONS, "unstable_features": unstable_features }))
}

/// `GET account/whoami`: the user of the token, and the device to which it was issued, if any.
pub(super) async fn whoami(
    State(state): State<AppState>,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    let mut response = json!({ "user_id": requester.user_id(&state), "is_guest": false });
    if let Some(token) = requester.token_key
        && let Some(device_id) = state.store.token_device_id(token).await?
    {
        response["device_id"] = device_id.into();
    }
    Ok(Json(response))
}

pub(super) async fn logout(
    State(state): State<AppState>,
    audit: RequestAudit,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    let token = requester.token_key.ok_or(MatrixError::ServiceLogout)?;
    let events = NewAuditEvents::from(audit.success_event(AuditKind::SignOut))
        .with_event(audit.success_event(AuditKind::TokenRevoke));
    state.store.revoke_token(&events, token, state.clock.now()).await?;
    Ok(Json(json!({})))
}

/// `GET user/{userId}/account_data/m.push_rules`: all rulesets of the user.
pub(super) async fn account_data(
    State(state): State<AppState>,
    requester: Requester,
    path: RawPath,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Read)?;
    let path_user = percent::decode_segment(path.parameter("{user}").unwrap_or_default())?;
    let user_id = requester.user_id(&state);
    if path_user != user_id {
        return Err(MatrixError::OtherUser);
    }
    let rulesets = state.store.rulesets(requester.account_id, requester.now).await?;
    let response = rulesets.response(User::new(&user_id));
    Ok(JsonBytes(state.unread_responses.count(requester.account_id, response)?).into_response())
}
