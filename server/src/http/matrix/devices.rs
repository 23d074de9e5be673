//! `devices`: the Matrix devices of a user.

use axum::extract::State;
use belfry_core::audit::AuditKind;
use belfry_core::matrix::{LoginRequest, parse_device_deletion, parse_device_name};
use belfry_core::oauth::scope::Scope;
use belfry_core::percent;
use belfry_store::{AccountDevice, Store, StoreError, WriteOutcome};
use serde_json::{Value, json};

use crate::app::AppState;
use crate::auth::authentication::{Guess, VerifyError};
use crate::http::error::MatrixError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::body::FullBody;
use crate::http::extract::raw_path::RawPath;
use crate::http::extract::requester::Requester;
use crate::http::json::Json;

const READ_DEVICES: &[Scope] = &[Scope::ReadAccounts, Scope::MatrixApi];
pub(crate) const MANAGE_DEVICES: &[Scope] = &[Scope::WriteAccounts, Scope::MatrixApi];

/// `GET devices`
pub(crate) async fn list_devices(
    State(store): State<Store>,
    requester: Requester,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(READ_DEVICES)?;
    let devices = store.account_devices(requester.account_id, None, requester.now).await?;
    Ok(Json(json!({ "devices": devices.iter().map(to_json).collect::<Vec<_>>() })))
}

/// `GET devices/{deviceId}`
pub(crate) async fn get_device(
    State(store): State<Store>,
    requester: Requester,
    path: RawPath,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(READ_DEVICES)?;
    let id = device_id(&path)?;
    let devices = store.account_devices(requester.account_id, Some(&id), requester.now).await?;
    devices.first().map(to_json).map(Json).ok_or(MatrixError::NoDevice)
}

/// `PUT devices/{deviceId}`: sets the display name.
pub(crate) async fn rename_device(
    State(store): State<Store>,
    requester: Requester,
    path: RawPath,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(MANAGE_DEVICES)?;
    let id = device_id(&path)?;
    let name = parse_device_name(&body)?;
    let Requester { account_id, now, .. } = requester;
    match store.rename_device(account_id, &id, name.as_deref(), now).await? {
        WriteOutcome::Written => Ok(Json(json!({}))),
        WriteOutcome::NotFound => Err(MatrixError::NoDevice),
    }
}

/// `DELETE devices/{deviceId}`: signs a device out. A device may delete itself. To delete another
/// one, the client sends the user's password.
pub(crate) async fn delete_device(
    State(state): State<AppState>,
    guard: AbuseGuard,
    requester: Requester,
    path: RawPath,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    requester.require_scope(MANAGE_DEVICES)?;
    let id = device_id(&path)?;
    let store = &state.store;
    let is_own = match requester.token_key {
        Some(token) => store.token_device_id(token).await?.as_deref() == Some(&*id),
        None => true,
    };
    if !is_own {
        let login = parse_device_deletion(&body)?.ok_or(MatrixError::PasswordRequired)?;
        verify_password(&state, &guard, &requester, login).await?;
    }
    let events = guard.audit.success_event(AuditKind::TokenRevoke).into();
    let Requester { account_id, now, .. } = requester;
    match store.delete_device(&events, account_id, &id, now).await? {
        WriteOutcome::Written => Ok(Json(json!({}))),
        WriteOutcome::NotFound => Err(MatrixError::NoDevice),
    }
}

async fn verify_password(
    state: &AppState,
    guard: &AbuseGuard,
    requester: &Requester,
    login: LoginRequest,
) -> Result<(), MatrixError> {
    let account = state.store.account(requester.account_id).await?;
    let account = account.ok_or(MatrixError::Deactivated)?;
    let guess = Guess::Confirmation(account.clone());
    let lookup = async { Ok::<_, StoreError>(Some(account)) };
    let kind = AuditKind::SignIn;
    let result = state.authenticator().verify(guard, guess, kind, lookup, login.password).await;
    result.map(drop).map_err(|error: VerifyError| error.into())
}

fn device_id(path: &RawPath) -> Result<String, MatrixError> {
    Ok(percent::decode_segment(path.parameter("{device}").unwrap_or_default())?.into_owned())
}

fn to_json(device: &AccountDevice) -> Value {
    json!({
        "device_id": device.id,
        "display_name": device.name,
        "last_seen_ts": device.seen_at.as_millisecond(),
    })
}
