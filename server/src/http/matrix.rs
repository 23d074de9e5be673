//! What Matrix clients ask beside the push rules, under the same prefixes.

pub(super) mod login;
pub(super) mod register;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use belfry_core::matrix::VERSIONS;
use belfry_core::percent;
use belfry_core::rules::{Access, User};
use serde_json::{Value, json};

use super::Belfry;
use super::caller::Caller;
use super::error::RuleError;
use super::json;

/// `GET versions`: for clients that ask first.
pub(super) async fn versions() -> Json<Value> {
    Json(json!({ "versions": VERSIONS, "unstable_features": {} }))
}

/// `GET account/whoami`: whose token this is.
pub(super) async fn whoami(State(belfry): State<Arc<Belfry>>, caller: Caller) -> Json<Value> {
    Json(json!({ "user_id": caller.user_id(&belfry), "is_guest": false }))
}

/// `POST logout`: the token is good for nothing from now on.
pub(super) async fn logout(
    State(belfry): State<Arc<Belfry>>,
    caller: Caller,
) -> Result<Json<Value>, RuleError> {
    let token = caller.token.ok_or(RuleError::NoLogout)?;
    belfry.store.revoke_token(token, belfry.clock.now()).await?;
    Ok(Json(json!({})))
}

/// `GET user/{userId}/account_data/m.push_rules`: the same as all rulesets, for their owner.
pub(super) async fn account_data(
    State(belfry): State<Arc<Belfry>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, RuleError> {
    caller.may(Access::Read)?;
    let named = percent::segment(uri.path().rsplit('/').nth(2).unwrap_or_default())?;
    let user_id = caller.user_id(&belfry);
    if named != user_id {
        return Err(RuleError::Foreign);
    }
    let rulesets = belfry.store.rulesets(caller.account).await?;
    Ok(json::answer(rulesets.answer(User::new(&user_id))))
}
