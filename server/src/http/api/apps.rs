//! `/api/v1/apps`: app registration.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::{App, AppRegistration};
use belfry_core::oauth::client::{ClientProperties, Issuer, Registrar};
use belfry_core::secret::SplitToken;
use belfry_delivery::acceptance::Delivery;
use belfry_store::Store;
use serde::Serialize;

use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::error::{ApiError, CommonError};
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::bearer::Bearer;
use crate::http::extract::form::Form;
use crate::http::json::Json;
use crate::language::Language;

/// Mastodon's `Application` or, with the client id and secret, `CredentialApplication`. The fields
/// have Mastodon's order.
#[derive(Serialize)]
pub(crate) struct Application {
    id: String,
    name: String,
    website: Option<String>,
    scopes: Vec<String>,
    redirect_uris: Vec<String>,
    /// The VAPID key for subscriptions; empty if delivery is not configured.
    vapid_key: String,
    redirect_uri: String,
    #[serde(flatten)]
    credentials: Option<Credentials>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
struct Credentials {
    client_id: String,
    client_secret: String,
    client_secret_expires_at: i64,
}

impl Application {
    fn new(delivery: Option<&Delivery>, app: App, secret: Option<&SplitToken>) -> Self {
        let App { id, client_id, details, .. } = app;
        let uris: Vec<String> =
            details.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect();
        let credentials = secret.map(|secret| Credentials {
            client_id,
            client_secret: secret.reveal().to_owned(),
            // 0: it does not expire (RFC 7591, section 3.2.1).
            client_secret_expires_at: 0,
        });
        Self {
            id: id.to_string(),
            name: details.name,
            website: details.website,
            scopes: details.scopes.names().map(str::to_owned).collect(),
            redirect_uri: uris.join("\n"),
            redirect_uris: uris,
            vapid_key: delivery.map(Delivery::vapid_key).unwrap_or_default(),
            credentials,
        }
    }
}

/// `POST /api/v1/apps`
pub(crate) async fn register_app(
    State(state): State<AppState>,
    guard: AbuseGuard,
    language: Language,
    Form(pairs): Form,
) -> Result<Json<Application>, ApiError> {
    if state.config.app_registration == RegistrationPolicy::Closed {
        return Err(ApiError::AppRegistrationClosed);
    }
    guard.count_app_registration().await?;
    let result = AppRegistration::from_pairs(pairs).validate(state.policy(Issuer::OAuth));
    let details = result.map_err(|errors| ApiError::invalid_app(&errors, language))?;
    let events = guard.audit.success_event(AuditKind::AppRegister).into();
    let now = state.clock.now();
    let properties = ClientProperties::new(state.policy(Issuer::OAuth), Registrar::Api);
    let (app, secret) = state.store.create_app(&events, now, details, properties).await?;
    Ok(Json(Application::new(state.delivery.as_deref(), app, Some(&secret))))
}

/// `GET /api/v1/apps/verify_credentials`: the app that the token was issued to. No scope is
/// required.
pub(crate) async fn verify_credentials(
    State(store): State<Store>,
    State(delivery): State<Option<Arc<Delivery>>>,
    bearer: Bearer,
) -> Result<Json<Application>, ApiError> {
    let app = store.app(bearer.token.app_id).await?.ok_or(CommonError::Internal)?;
    Ok(Json(Application::new(delivery.as_deref(), app.app, None)))
}
