//! The app that calls an OAuth endpoint, once it has proved who it is.

use axum::http::{HeaderMap, header};
use belfry_core::oauth::app::App;
use belfry_core::oauth::client_auth::Credentials;
use belfry_core::oauth::error::Refusal;

use super::Belfry;
use super::error::OAuthError;

/// The `Authorization` header, if there is one.
pub(super) fn authorization(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(header::AUTHORIZATION).map(axum::http::HeaderValue::as_bytes)
}

/// The app of these credentials. An unknown app, a wrong secret and a disabled app are the same to
/// the caller.
pub(super) async fn authenticate(
    belfry: &Belfry,
    credentials: &Credentials,
) -> Result<App, OAuthError> {
    let app = belfry.store.app_of_client(&credentials.client_id).await?;
    let presented = credentials.client_secret.digest();
    let proved = app.filter(|app| app.secret == presented && app.disabled_at.is_none());
    Ok(proved.ok_or(Refusal::InvalidClient)?.to_core())
}
