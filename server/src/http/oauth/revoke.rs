//! `POST /oauth/revoke`: ends a token, for the app that it was issued to.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::revoke_request::RevokeRequest;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::form::Form;
use crate::http::layer::rate_limit::guard::Guard;
use crate::http::oauth::client_auth::{authenticate, authorization};
use crate::http::respond::json::Json;

/// Whatever is wrong with client or token, the answer is one and the same: who guesses learns
/// nothing.
pub(crate) async fn revoke(
    State(state): State<Arc<AppState>>,
    guard: Guard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthApiError> {
    let request = RevokeRequest::parse(authorization(&headers)?, Parameters::new(&pairs))?;
    let app = match authenticate(&state, &guard, &request.credentials).await {
        Err(OAuthApiError::Refused(_)) => return Err(OAuthError::UnauthorizedRevocation.into()),
        authenticated => authenticated?,
    };
    let digest = request.token.digest();
    let own = state.store.token(digest).await?.filter(|token| token.app_id == app.id);
    own.ok_or(OAuthError::UnauthorizedRevocation)?;
    state.store.revoke_token(digest, state.clock.now()).await?;
    Ok(Json(json!({})))
}
