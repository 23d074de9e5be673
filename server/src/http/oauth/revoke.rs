//! `POST /oauth/revoke`: token revocation (RFC 7009).

use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::ClientTokenRequest;
use belfry_core::secret::SplitToken;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::json::Json;
use crate::http::oauth::client_auth::{authenticate_client, authorization_header};

/// Revokes a token of the client. Clients that cannot be authenticated, unknown tokens and tokens
/// of other apps cause the same response, which does not reveal which clients and tokens exist.
pub(crate) async fn revoke_token(
    State(state): State<AppState>,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthApiError> {
    let reject = |reason, app| match state.issuer_policy.foreign_revocation.clone() {
        Ok(()) => Ok(Json(json!({}))),
        Err(error) => Err(OAuthApiError::Undisclosed { error, reason, app }),
    };
    let parameters = Parameters::new(&pairs);
    let request = match ClientTokenRequest::parse(authorization_header(&headers)?, parameters) {
        Err(OAuthError::MissingOrMalformedCredentials) => {
            return reject("no client credentials", None);
        }
        Err(OAuthError::Missing(_)) => return reject("no token", None),
        result => result?,
    };
    let app = match authenticate_client(&state, &guard, &request.credentials).await {
        Err(OAuthApiError::Undisclosed { reason, app, .. }) => return reject(reason, app),
        result => result?,
    };
    let Some(secret) = SplitToken::parse(request.token.reveal()) else {
        return reject("the token is malformed", None);
    };
    let secret = secret.hashed_secret();
    match state.store.token(secret).await? {
        None => return reject("the token is unknown", None),
        Some(token) if token.app_id != app.id => {
            return reject("the token belongs to another app", None);
        }
        Some(_) => {}
    }
    let events = guard.audit.success_event(AuditKind::TokenRevoke).into();
    state.store.revoke_token(&events, secret.lookup_key, state.clock.now()).await?;
    Ok(Json(json!({})))
}
