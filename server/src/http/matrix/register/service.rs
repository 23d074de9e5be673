//! Registration by an application service: creates a user of its namespaces without a password, also
//! if registration is closed.

use belfry_core::audit::{AuditEntry, AuditKind};
use belfry_core::json::JsonError;
use belfry_core::matrix::{RegisterRequest, user_id};
use belfry_core::oauth::account::check_name;
use serde_json::Value;

use super::super::login::login_response;
use super::response_without_token;
use crate::app::AppState;
use crate::auth::tokens::{FirstPartyApp, first_party_app};
use crate::http::error::MatrixError;
use crate::http::extract::audit::Audit;
use crate::http::extract::requester::RequestingService;
use crate::http::json::Json;

/// Creates the user, recorded with the id of the service. The limits on sign-ups do not apply,
/// because the operator has configured the service.
pub(super) async fn register(
    state: &AppState,
    audit: &Audit,
    service: Result<RequestingService, MatrixError>,
    request: &RegisterRequest,
) -> Result<Json<Value>, MatrixError> {
    let RequestingService(service) = service.map_err(|error| match error {
        // The valid token of a user or an app is not that of an application service.
        MatrixError::ApplicationServiceRequired
        | MatrixError::UserRequired
        | MatrixError::Deactivated => MatrixError::UnknownToken,
        error => error,
    })?;
    let name = request.username.clone();
    let name = name.ok_or_else(|| JsonError::MissingField("username".to_owned()))?;
    check_name(&name).map_err(MatrixError::Username)?;
    let server_name = state.server_name();
    if !service.may_act_for(&name, &user_id(&name, server_name)) {
        return Err(MatrixError::NameOutsideNamespace);
    }
    if state.application_services.is_reserved_by_other(&service, &name, server_name) {
        return Err(MatrixError::Exclusive);
    }
    if !request.inhibit_login {
        // If the operator has disabled Matrix clients, no token could be issued.
        first_party_app(&state.store, state.clock.now(), FirstPartyApp::Matrix).await?;
    }
    let detail = Some(service.id.clone());
    let event = |kind| AuditEntry { detail: detail.clone(), ..audit.success(kind) };
    let events = event(AuditKind::AccountAdd).into();
    let created = state.authenticator().sign_up(&events, name, None, None).await?;
    if request.inhibit_login {
        return Ok(response_without_token(state, &created.account.name));
    }
    let events = event(AuditKind::TokenIssue).into();
    login_response(&events, state, &created, request.device.clone()).await
}
