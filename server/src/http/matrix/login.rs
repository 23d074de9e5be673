//! `login`: a password for a token.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use belfry_core::matrix::{Login, PASSWORD, device_id, localpart, user_id};
use belfry_core::oauth::scope::{Scope, Scopes};
use serde_json::{Value, json};

use crate::http::body::Whole;
use crate::http::error::{Problem, RuleError};
use crate::http::password::proved;
use crate::http::{Belfry, Guard};
use crate::issue::{self, MATRIX, issue};
use crate::random;
use crate::store::Account;

/// `GET login`: the ways to sign in.
pub(in crate::http) async fn flows() -> Json<Value> {
    Json(json!({ "flows": [{ "type": PASSWORD }] }))
}

/// `POST login`.
pub(in crate::http) async fn login(
    State(belfry): State<Arc<Belfry>>,
    guard: Guard,
    Whole(body): Whole,
) -> Result<Json<Value>, RuleError> {
    let login = Login::read(&body)?;
    let name = localpart(&login.user, belfry.server_name()).unwrap_or(&login.user);
    guard.sign_in(name).await.map_err(Problem::from)?;
    let account = belfry.store.account_named(name).await?;
    let account = proved(&belfry, account, login.password).await?;
    let account = account.ok_or(RuleError::WrongPassword)?;
    if account.disabled_at.is_some() {
        return Err(RuleError::Deactivated);
    }
    signed_in(&belfry, &account, login.device_id).await
}

/// Whether Matrix clients get tokens at all.
pub(super) async fn check_app(belfry: &Belfry) -> Result<(), RuleError> {
    Ok(issue::own_app(&belfry.store, belfry.clock.now(), MATRIX).await.map(drop)?)
}

/// Issues a token, and says what a client wants to know of it.
pub(super) async fn signed_in(
    belfry: &Belfry,
    account: &Account,
    device: Option<String>,
) -> Result<Json<Value>, RuleError> {
    let scopes = Scopes::from_iter([Scope::Read, Scope::Write, Scope::Push]);
    let (now, lifetime) = (belfry.clock.now(), belfry.config.oauth.token_lifetime);
    let (store, password) = (&belfry.store, Some(&*account.password));
    let token = issue(store, now, lifetime, account.id, password, scopes, MATRIX).await?;
    let device = device.unwrap_or_else(|| device_id(random::bytes()));
    Ok(Json(json!({
        "user_id": user_id(&account.name, belfry.server_name()),
        "access_token": token.reveal(),
        "device_id": device,
        "home_server": belfry.server_name(),
    })))
}
