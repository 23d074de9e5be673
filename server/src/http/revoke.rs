//! `POST /oauth/revoke`: ends a token, for the app that it was issued to.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::oauth::error::Refusal;
use belfry_core::oauth::parameter::Parameters;
use belfry_core::oauth::revoke_request::RevokeRequest;
use serde_json::{Value, json};

use super::client::{authenticate, authorization};
use super::error::OAuthError;
use super::form::Form;
use super::{Belfry, Guard};

/// Whatever is wrong with client or token, the answer is one and the same: who guesses learns
/// nothing.
pub(super) async fn revoke(
    State(belfry): State<Arc<Belfry>>,
    guard: Guard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthError> {
    let request = RevokeRequest::check(authorization(&headers)?, Parameters::new(&pairs))?;
    let app = match authenticate(&belfry, &guard, &request.credentials).await {
        Err(OAuthError::Refused(_)) => return Err(Refusal::NotYourToken.into()),
        authenticated => authenticated?,
    };
    let digest = request.token.digest();
    let own = belfry.store.token(digest).await?.filter(|token| token.app == app.id);
    own.ok_or(Refusal::NotYourToken)?;
    belfry.store.revoke_token(digest, belfry.clock.now()).await?;
    Ok(Json(json!({})))
}
