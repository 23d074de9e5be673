//! `GET|POST /oauth/userinfo`: who the token speaks for.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use belfry_core::oauth::metadata::issuer;
use belfry_core::oauth::scope::Scope;
use serde_json::{Value, json};

use super::Belfry;
use super::accounts::{avatar, profile};
use super::bearer::Bearer;
use super::error::ApiError;

/// Only for `profile` itself: a token that may read everything was not asked for to sign in with.
pub(super) async fn userinfo(
    State(belfry): State<Arc<Belfry>>,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    if !bearer.scopes().contains(Scope::Profile) {
        return Err(ApiError::OutsideScopes);
    }
    let account = bearer.user()?;
    Ok(Json(json!({
        "iss": issuer(&belfry.base_url.to_string()),
        "sub": subject(&belfry, account.id),
        "name": &*account.name,
        "preferred_username": &*account.name,
        "profile": profile(&belfry, &account.name),
        "picture": avatar(&belfry),
    })))
}

/// What never changes of an account and is never another's, nor an app's.
pub(super) fn subject(belfry: &Belfry, account: i64) -> String {
    format!("{}/users/{account}", belfry.base_url)
}
