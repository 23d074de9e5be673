//! `login`: exchanges a password for a token.

use axum::extract::State;
use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::matrix::{LOGIN_PASSWORD, LoginRequest, RequestedDevice, localpart, user_id};
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_runtime::random;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::auth::authentication::{AuthenticationProof, Login};
use crate::http::error::MatrixError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::body::FullBody;
use crate::http::json::Json;
use crate::log::request_context::RequestContext;

/// `GET login`: the supported login types.
pub(crate) async fn get_login_flows() -> Json<Value> {
    Json(json!({ "flows": [{ "type": LOGIN_PASSWORD }] }))
}

/// `POST login`: verifies the password and issues a token.
pub(crate) async fn login(
    State(state): State<AppState>,
    guard: AbuseGuard,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    let login = LoginRequest::parse(&body)?;
    let name = localpart(&login.user, state.server_name()).unwrap_or(&login.user);
    let login_metrics = &state.metrics.authentication.matrix_logins;
    let authenticator = state.authenticator();
    let proof =
        authenticator.sign_in(&guard, login_metrics, Login::Name(name), login.password).await?;
    RequestContext::record_account(proof.account.id);
    let events = NewAuditEvents::from(guard.audit.success_event(AuditKind::SignIn))
        .with_event(guard.audit.success_event(AuditKind::TokenIssue));
    let response = issue_login_token(&events, &state, &proof, login.device).await?;
    login_metrics.success.inc();
    Ok(response)
}

/// Issues a token to a device, recorded by these events, and returns the login response.
pub(super) async fn issue_login_token(
    events: &NewAuditEvents,
    state: &AppState,
    proof: &AuthenticationProof,
    device: RequestedDevice,
) -> Result<Json<Value>, MatrixError> {
    let scopes = Scopes::from_iter([Scope::Read, Scope::Write, Scope::Push]);
    let device = device.into_device(random::bytes());
    let device_id = device.id().to_owned();
    let token = state.token_issuer().issue_to_device(events, device, proof, scopes).await?;
    state.metrics.authentication.tokens.matrix_login.inc();
    Ok(Json(json!({
        "user_id": user_id(&proof.account.name, state.server_name()),
        "access_token": token.reveal(),
        "device_id": device_id,
        "home_server": state.server_name(),
    })))
}
