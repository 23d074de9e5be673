//! `login`: exchanges a password for a token.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::audit::{AuditKind, Events};
use belfry_core::matrix::{LOGIN_PASSWORD, LoginRequest, device_id, localpart, user_id};
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_runtime::random;
use belfry_store::Account;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::auth::tokens::FirstPartyApp;
use crate::http::account::password::verify_password;
use crate::http::error::MatrixError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::body::FullBody;
use crate::http::json::Json;
use crate::log::request_context::RequestContext;

/// `GET login`: the supported login types.
pub(crate) async fn get_login_flows() -> Json<Value> {
    Json(json!({ "flows": [{ "type": LOGIN_PASSWORD }] }))
}

/// `POST login`.
pub(crate) async fn login(
    State(state): State<Arc<AppState>>,
    guard: AbuseGuard,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    let login = LoginRequest::read(&body)?;
    let name = localpart(&login.user, state.server_name()).unwrap_or(&login.user);
    let sign_ins = &state.metrics.authentication.matrix;
    guard.sign_in(name).await.inspect_err(|_| sign_ins.rate_limited.inc())?;
    let account = state.store.account_by_name(name).await?;
    let account_id = account.as_ref().map(|account| account.id);
    let verified = verify_password(&state, account, login.password, guard.network()).await;
    let rejected = match verified.inspect_err(|_| sign_ins.busy.inc())? {
        None => MatrixError::WrongPassword,
        Some(account) if account.disabled_at.is_some() => MatrixError::Deactivated,
        Some(account) => {
            RequestContext::record_account(account.id);
            guard.refund_sign_in(name).await;
            let events = Events::from(guard.audit.success(AuditKind::SignIn));
            let events = events.and(guard.audit.success(AuditKind::TokenIssue));
            let response = login_response(&events, &state, &account, login.device_id).await?;
            sign_ins.success.inc();
            return Ok(response);
        }
    };
    sign_ins.rejected.inc();
    guard.audit.count_failed_sign_in(account_id);
    Err(rejected)
}

/// Issues a token, recorded by these events, and returns the response of a login.
pub(super) async fn login_response(
    events: &Events,
    state: &AppState,
    account: &Account,
    device: Option<String>,
) -> Result<Json<Value>, MatrixError> {
    let scopes = Scopes::from_iter([Scope::Read, Scope::Write, Scope::Push]);
    let (app, password) = (FirstPartyApp::Matrix, Some(&*account.password));
    let issuer = state.token_issuer();
    let token = issuer.issue_first_party(events, app, account.id, password, scopes).await?;
    state.metrics.authentication.tokens.matrix_login.inc();
    let device = device.unwrap_or_else(|| device_id(random::bytes()));
    Ok(Json(json!({
        "user_id": user_id(&account.name, state.server_name()),
        "access_token": token.reveal(),
        "device_id": device,
        "home_server": state.server_name(),
    })))
}
