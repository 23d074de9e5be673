//! `GET|POST /oauth/userinfo`: the user of a token.

use axum::extract::State;
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_core::oauth::scope::Scope;
use serde_json::{Value, json};

use crate::config::BaseUrl;
use crate::http::error::ApiError;
use crate::http::extract::bearer::Bearer;
use crate::http::json::Json;

/// Returns the token's account. Requires the scope `profile` itself, which `read` does not
/// include: `userinfo` signs users in to other services.
pub(crate) async fn userinfo(
    State(base_url): State<BaseUrl>,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    if !bearer.token.scopes.contains(Scope::Profile) {
        return Err(ApiError::OutsideScopes(vec![Scope::Profile]));
    }
    let account = bearer.require_user()?;
    Ok(Json(json!({
        "iss": MASTODON.identifier(&base_url.to_string()),
        "sub": base_url.account_uri(account.id),
        "name": &*account.name,
        "preferred_username": &*account.name,
        "profile": base_url.profile_url(&account.name),
        "picture": base_url.avatar_url(),
    })))
}
