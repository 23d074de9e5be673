//! `POST register`: an account for a stranger, while registration is open.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use belfry_core::json::JsonError;
use belfry_core::matrix::{RegisterRequest, RegistrationStage, user_id};
use belfry_core::oauth::account::{self, check_free_name, check_password};
use belfry_core::percent;
use serde_json::{Value, json};

use super::login::{check_app, signed_in};
use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::Whole;
use crate::http::layer::rate_limit::guard::Guard;
use crate::http::respond::json::Json;
use crate::random;

/// `POST register`.
pub(crate) async fn register(
    State(state): State<Arc<AppState>>,
    guard: Guard,
    RawQuery(query): RawQuery,
    Whole(body): Whole,
) -> Result<Json<Value>, MatrixError> {
    if state.config.registration == RegistrationPolicy::Closed {
        return Err(MatrixError::RegistrationClosed);
    }
    // Who registers here could not sign in here.
    check_app(&state).await?;
    let query = percent::parse_query(query.as_deref().unwrap_or_default())?;
    if query.iter().any(|(name, kind)| name == "kind" && kind == "guest") {
        return Err(MatrixError::Guest);
    }
    let asked = RegisterRequest::read(&body)?;
    // What is wrong with the name is said before the stages, while the user still looks at it.
    if let Some(name) = &asked.username {
        check(name, &state).await?;
    }
    if let Some(password) = &asked.password {
        check_password(password).map_err(MatrixError::Password)?;
    }
    if asked.stage != RegistrationStage::Completed {
        let session = random::secret(state.clock.now()).reveal().to_owned();
        return Err(MatrixError::Stages {
            session,
            unknown: asked.stage == RegistrationStage::Unknown,
        });
    }
    let password = asked.password.ok_or_else(|| JsonError::MissingField("password".to_owned()))?;
    let name = match asked.username {
        Some(name) => name,
        None => any_name(&state)?,
    };
    guard.sign_up().await.map_err(CommonError::from)?;
    let hash = state.passwords.hash(password).await?;
    let made = state.store.new_account(state.clock.now(), name, None, hash).await?;
    let account = made.map_err(|_| MatrixError::Username(account::FieldError::Taken))?;
    if asked.inhibit_login {
        let user_id = user_id(&account.name, state.server_name());
        let made = json!({ "user_id": user_id, "home_server": state.server_name() });
        return Ok(Json(made));
    }
    signed_in(&state, &account, asked.device_id).await
}

async fn check(name: &str, state: &AppState) -> Result<(), MatrixError> {
    check_free_name(name).map_err(MatrixError::Username)?;
    if is_kept(name, state) {
        return Err(MatrixError::Exclusive);
    }
    if state.store.account_by_name(name).await?.is_some() {
        return Err(MatrixError::Username(account::FieldError::Taken));
    }
    Ok(())
}

/// A name for who does not care: one that no application service keeps for itself.
fn any_name(state: &AppState) -> Result<String, MatrixError> {
    let number = u64::from_be_bytes(random::bytes());
    // `u` for user, unless that is taken; then any other letter.
    let mut names = ('u'..='z').chain('a'..'u').map(|first| format!("{first}{number:016x}"));
    names.find(|name| !is_kept(name, state)).ok_or(MatrixError::Exclusive)
}

fn is_kept(name: &str, state: &AppState) -> bool {
    state.application_services.is_reserved(&user_id(name, state.server_name()))
}
