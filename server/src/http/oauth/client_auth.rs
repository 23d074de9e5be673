//! Authentication of OAuth clients by client id and secret.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject};
use belfry_core::oauth::app::App;
use belfry_core::oauth::client::Issuer;
use belfry_core::oauth::client_auth::{ClientAuthError, Credentials, single_authorization_header};
use belfry_core::oauth::error::OAuthError;
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
/// a secret or must send one, and a disabled app cause the same error. All of them count towards the
/// limit on wrong secrets.
pub(crate) async fn authenticate_client(
    state: &AppState,
    issuer: Issuer,
    guard: &AbuseGuard,
    credentials: &Credentials,
) -> Result<App, OAuthApiError> {
    let client_id = &credentials.client_id;
    let stored_app = state.store.app_by_client_id(client_id).await?;
    let app_id = stored_app.as_ref().map(|stored_app| stored_app.app.id);
    guard.check_client_secret(client_id, app_id).await?;
    let verify = |stored_app: &Arc<StoredApp>| {
        let policy = state.policy(issuer);
        let StoredApp { app, secrets, disabled_at, .. } = &**stored_app;
        credentials.verify(policy, secrets, &app.properties, *disabled_at, state.clock.now())?;
        Ok(app.clone())
    };
    let reason = match stored_app.as_ref().ok_or(ClientAuthError::UnknownClient).and_then(verify) {
        Ok(app) => {
            RequestContext::record_app(app.id);
            return Ok(app);
        }
        Err(reason) => reason,
    };
    let subject = CountedSubject::new(AuditKind::ClientAuthentication, AuditOutcome::Failure);
    let detail = Some(reason.to_string());
    guard.audit.count(CountedSubject { app: app_id, detail, ..subject });
    guard.count_wrong_client_secret(client_id, app_id).await;
    let error = OAuthError::InvalidClient;
    let reason = reason.into();
    Err(OAuthApiError::Undisclosed { error, reason, app: app_id })
}
