//! Authentication of OAuth clients by client id and secret.

use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject};
use belfry_core::oauth::app::App;
use belfry_core::oauth::client_auth::{Credentials, single_authorization_header};
use belfry_core::oauth::error::OAuthError;
use belfry_core::secret::SplitToken;
use belfry_store::StoredApp;

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::log::request_context::RequestContext;

/// Returns the `Authorization` header; more than one is an error.
pub(crate) fn authorization_header(headers: &HeaderMap) -> Result<Option<&[u8]>, OAuthError> {
    single_authorization_header(
        headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes),
    )
}

/// Returns the app with these credentials. An unknown app, a wrong secret, an app that may not use
/// a secret and a disabled app cause the same error. All four count towards the limit on wrong
/// secrets.
pub(crate) async fn authenticate_client(
    state: &AppState,
    guard: &AbuseGuard,
    credentials: &Credentials,
) -> Result<App, OAuthApiError> {
    let client_id = &credentials.client_id;
    let app = state.store.app_by_client_id(client_id).await?;
    let app_id = app.as_ref().map(|app| app.app.id);
    guard.check_client_secret(client_id, app_id).await?;
    let secret =
        SplitToken::parse(credentials.client_secret.reveal()).map(|secret| secret.hashed_secret());
    let now = state.clock.now();
    let is_accepted =
        |app: &StoredApp| secret.is_some_and(|secret| app.secrets.accepts(secret, now));
    let reason = match &app {
        None => "unknown client",
        Some(app) if !is_accepted(app) => "wrong secret",
        Some(app) if !app.app.properties.may_authenticate_with_secret() => {
            "the app may not use a secret"
        }
        Some(app) if app.disabled_at.is_some() => "the app is disabled",
        Some(app) => {
            RequestContext::record_app(app.app.id);
            return Ok(app.app.clone());
        }
    };
    let kind = AuditKind::ClientAuthentication;
    let detail = Some(reason.to_owned());
    let subject =
        CountedSubject { app: app_id, detail, ..CountedSubject::new(kind, AuditOutcome::Failure) };
    guard.audit.count_failure(kind, subject);
    guard.count_wrong_client_secret(client_id, app_id).await;
    Err(OAuthApiError::Undisclosed { error: OAuthError::InvalidClient, reason, app: app_id })
}
