//! `POST /id/register`: registration of clients without a secret (RFC 7591).

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{AuthMethod, ClientProperties, Issuer, Registrar};
use belfry_core::oauth::registration::ClientMetadata;

use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::body::FullBody;
use crate::http::json::Json;

/// Registers a client. Clients do so before each sign-in, so the same metadata is the same client.
/// Its secret is discarded, and no endpoint accepts one from it.
pub(crate) async fn register_client(
    State(state): State<AppState>,
    guard: AbuseGuard,
    FullBody(body): FullBody,
) -> Result<Response, OAuthApiError> {
    if state.config.app_registration == RegistrationPolicy::Closed {
        return Err(OAuthApiError::RegistrationClosed);
    }
    guard.count_app_registration().await?;
    let policy = state.policy(Issuer::Id);
    let metadata = ClientMetadata::parse(&body, policy)?;
    let scopes = metadata.scopes(policy);
    let scope_names = scopes.to_string();
    let client_id = metadata.client_id(&scope_names);
    let now = state.clock.now();
    let response = metadata.registration_response(&client_id, now, &scope_names);
    let properties = ClientProperties {
        auth_method: AuthMethod::None,
        grant_types: metadata.grant_types,
        ..ClientProperties::new(policy, Registrar::Api)
    };
    let details = AppDetails {
        name: metadata.name,
        website: metadata.website,
        redirect_uris: metadata.redirect_uris,
        scopes,
    };
    let events = guard.audit.success_event(AuditKind::AppRegister).into();
    let app = App { id: 0, client_id, details, properties };
    state.store.register_client(&events, now, app).await?;
    Ok((StatusCode::CREATED, Json(response)).into_response())
}
