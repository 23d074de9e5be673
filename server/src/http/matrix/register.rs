//! `POST register`: an account for a stranger, while registration is open.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use belfry_core::matrix::{Register, Stage, user_id};
use belfry_core::oauth::account::{self, check_free_name, check_password};
use belfry_core::percent;
use belfry_core::rules::Refusal;
use serde_json::{Value, json};

use super::login::{check_app, signed_in};
use crate::config::SignUps;
use crate::http::body::Whole;
use crate::http::error::{Problem, RuleError};
use crate::http::{Belfry, Guard};
use crate::random;

/// `POST register`.
pub(in crate::http) async fn register(
    State(belfry): State<Arc<Belfry>>,
    guard: Guard,
    RawQuery(query): RawQuery,
    Whole(body): Whole,
) -> Result<Json<Value>, RuleError> {
    if belfry.config.registration == SignUps::Closed {
        return Err(RuleError::RegistrationClosed);
    }
    // Who registers here could not sign in here.
    check_app(&belfry).await?;
    let query = percent::query(query.as_deref().unwrap_or_default())?;
    if query.iter().any(|(name, kind)| name == "kind" && kind == "guest") {
        return Err(RuleError::Guest);
    }
    let asked = Register::read(&body)?;
    // What is wrong with the name is said before the stages, while the user still looks at it.
    if let Some(name) = &asked.username {
        check(name, &belfry).await?;
    }
    if let Some(password) = &asked.password {
        check_password(password).map_err(RuleError::Password)?;
    }
    if asked.stage != Stage::Done {
        let session = random::secret(belfry.clock.now()).reveal().to_owned();
        return Err(RuleError::Stages { session, unknown: asked.stage == Stage::Unknown });
    }
    let password = asked.password.ok_or_else(|| Refusal::MissingField("password".to_owned()))?;
    let name = match asked.username {
        Some(name) => name,
        None => any_name(&belfry)?,
    };
    guard.sign_up().await.map_err(Problem::from)?;
    let hash = belfry.passwords.hash(password).await?;
    let made = belfry.store.new_account(belfry.clock.now(), name, None, hash).await?;
    let account = made.map_err(|_| RuleError::Username(account::Problem::Taken))?;
    if asked.inhibit_login {
        let user_id = user_id(&account.name, belfry.server_name());
        let made = json!({ "user_id": user_id, "home_server": belfry.server_name() });
        return Ok(Json(made));
    }
    signed_in(&belfry, &account, asked.device_id).await
}

async fn check(name: &str, belfry: &Belfry) -> Result<(), RuleError> {
    check_free_name(name).map_err(RuleError::Username)?;
    if is_kept(name, belfry) {
        return Err(RuleError::Exclusive);
    }
    if belfry.store.account_named(name).await?.is_some() {
        return Err(RuleError::Username(account::Problem::Taken));
    }
    Ok(())
}

/// A name for who does not care: one that no application service keeps for itself.
fn any_name(belfry: &Belfry) -> Result<String, RuleError> {
    let number = u64::from_be_bytes(random::bytes());
    // `u` for user, unless that is taken; then any other letter.
    let mut names = ('u'..='z').chain('a'..'u').map(|first| format!("{first}{number:016x}"));
    names.find(|name| !is_kept(name, belfry)).ok_or(RuleError::Exclusive)
}

fn is_kept(name: &str, belfry: &Belfry) -> bool {
    belfry.application_services.keep(&user_id(name, belfry.server_name()))
}
