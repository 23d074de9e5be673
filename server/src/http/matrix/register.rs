//! `POST register`: creates an account, for a person if registration is open, or for an application
//! service.

use axum::extract::{RawQuery, State};
use belfry_core::account::{NameError, check_password, is_reserved_name, parse_name};
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::json::JsonError;
use belfry_core::matrix::{RegisterRequest, RegistrationStage, RegistrationType, user_id};
use belfry_core::percent;
use belfry_runtime::random;
use serde_json::{Value, json};

use super::login::issue_login_token;
use crate::app::AppState;
use crate::auth::tokens::{FirstPartyApp, find_or_create_first_party_app};
use crate::config::RegistrationPolicy;
use crate::http::error::MatrixError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::Json;

/// `POST register`: creates an account, and a token unless the client declines one.
pub(crate) async fn register(
    State(state): State<AppState>,
    guard: AbuseGuard,
    service: Result<RequestingService, MatrixError>,
    RawQuery(query): RawQuery,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    let request = RegisterRequest::parse(&body);
    if let Ok(request) = &request
        && request.kind == RegistrationType::ApplicationService
    {
        return register_for_service(&state, &guard.audit, service, request).await;
    }
    if state.config.registration == RegistrationPolicy::Closed {
        return Err(MatrixError::RegistrationClosed);
    }
    // If the operator has disabled Matrix clients, the new account could not log in.
    find_or_create_first_party_app(&state.store, state.clock.now(), FirstPartyApp::Matrix).await?;
    let query = percent::parse_query(query.as_deref().unwrap_or_default())?;
    if query.iter().any(|(name, kind)| name == "kind" && kind == "guest") {
        return Err(MatrixError::GuestsUnsupported);
    }
    let request = request?;
    let chosen_name = request.username.as_deref().map(parse_name).transpose();
    let chosen_name = chosen_name.map_err(MatrixError::Username)?;
    // The name is checked before the stages, while the user still sees the form.
    if let Some(name) = &chosen_name {
        if is_reserved_name(name) {
            return Err(MatrixError::Username(NameError::Reserved));
        }
        // Rejected whether or not the account exists, so nothing is revealed.
        if is_reserved(name, &state) {
            return Err(MatrixError::ReservedName);
        }
        // The lookup is counted as a sign-up before its result is known, so that names cannot be
        // enumerated faster than accounts can be created, even concurrently.
        guard.count_sign_up().await?;
        let name_lookup = state.store.account_by_name(name).await;
        if !matches!(name_lookup, Ok(Some(_))) {
            guard.refund_name_lookup().await;
        }
        if name_lookup?.is_some() {
            return Err(MatrixError::Username(NameError::Taken));
        }
    }
    if let Some(password) = &request.password {
        check_password(password, chosen_name.as_deref()).map_err(MatrixError::Password)?;
    }
    if request.stage != RegistrationStage::Completed {
        let session = random::split_token(state.clock.now()).reveal().to_owned();
        let is_unknown_stage = request.stage == RegistrationStage::Unknown;
        return Err(MatrixError::IncompleteStages { session, is_unknown_stage });
    }
    let password =
        request.password.ok_or_else(|| JsonError::MissingField("password".to_owned()))?;
    let name = match chosen_name {
        Some(name) => name,
        None => generate_name(&state)?,
    };
    guard.count_sign_up().await?;
    let events = guard.audit.success_event(AuditKind::SignUp).into();
    let proof = state.authenticator().sign_up(&events, name, None, Some(password)).await?;
    if request.inhibit_login {
        return Ok(response_without_token(&state, &proof.account.name));
    }
    let events = guard.audit.success_event(AuditKind::TokenIssue).into();
    issue_login_token(&events, &state, &proof, request.device).await
}

/// Creates a user in the namespaces of an application service, without a password, even if
/// registration is closed. The limits on sign-ups do not apply, because the operator has configured
/// the service. The audit events contain the service's id.
async fn register_for_service(
    state: &AppState,
    audit: &RequestAudit,
    service: Result<RequestingService, MatrixError>,
    request: &RegisterRequest,
) -> Result<Json<Value>, MatrixError> {
    let RequestingService(service) = service.map_err(|error| match error {
        // A valid token, but not of an application service.
        MatrixError::ApplicationServiceRequired
        | MatrixError::UserRequired
        | MatrixError::Deactivated => MatrixError::UnknownToken,
        error => error,
    })?;
    let username = request
        .username
        .as_deref()
        .ok_or_else(|| JsonError::MissingField("username".to_owned()))?;
    let name = parse_name(username).map_err(MatrixError::Username)?;
    let server_name = state.server_name();
    if !service.may_act_for(&name, &user_id(&name, server_name)) {
        return Err(MatrixError::NameOutsideNamespace);
    }
    if state.application_services.is_reserved_by_other(&service, &name, server_name) {
        return Err(MatrixError::ReservedName);
    }
    if !request.inhibit_login {
        // If the operator has disabled Matrix clients, no token could be issued.
        find_or_create_first_party_app(&state.store, state.clock.now(), FirstPartyApp::Matrix)
            .await?;
    }
    let detail = Some(service.id.clone());
    let event = |kind| NewAuditEvent { detail: detail.clone(), ..audit.success_event(kind) };
    let events = event(AuditKind::AccountAdd).into();
    let proof = state.authenticator().sign_up(&events, name, None, None).await?;
    if request.inhibit_login {
        return Ok(response_without_token(state, &proof.account.name));
    }
    let events = event(AuditKind::TokenIssue).into();
    issue_login_token(&events, state, &proof, request.device.clone()).await
}

fn response_without_token(state: &AppState, name: &str) -> Json<Value> {
    let server_name = state.server_name();
    Json(json!({ "user_id": user_id(name, server_name), "home_server": server_name }))
}

/// Generates a name that no application service has reserved.
fn generate_name(state: &AppState) -> Result<String, MatrixError> {
    let number = u64::from_be_bytes(random::bytes());
    // `u` for user, or another letter if names with `u` are reserved.
    let mut names =
        ('u'..='z').chain('a'..'u').map(|first_letter| format!("{first_letter}{number:016x}"));
    names.find(|name| !is_reserved(name, state)).ok_or(MatrixError::ReservedName)
}

fn is_reserved(name: &str, state: &AppState) -> bool {
    state.application_services.is_reserved(name, state.server_name())
}
