//! `GET|POST /oauth/userinfo`: who the token speaks for.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::oauth::metadata::issuer;
use belfry_core::oauth::scope::Scope;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::api::accounts::{avatar, profile};
use crate::http::error::ApiError;
use crate::http::extract::bearer::Bearer;
use crate::http::respond::json::Json;

/// Only for `profile` itself: a token that may read everything was not asked for to sign in with.
pub(crate) async fn userinfo(
    State(state): State<Arc<AppState>>,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    if !bearer.scopes().contains(Scope::Profile) {
        return Err(ApiError::OutsideScopes);
    }
    let account = bearer.user()?;
    Ok(Json(json!({
        "iss": issuer(&state.base_url.to_string()),
        "sub": subject(&state, account.id),
        "name": &*account.name,
        "preferred_username": &*account.name,
        "profile": profile(&state, &account.name),
        "picture": avatar(&state),
    })))
}

/// What never changes of an account and is never another's, nor an app's.
pub(crate) fn subject(state: &AppState, account: i64) -> String {
    format!("{}/users/{account}", state.base_url)
}
