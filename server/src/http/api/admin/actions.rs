//! Actions by an admin on an account. Every change has an audit event that names the admin.

use axum::extract::State;
use belfry_core::admin::AccountAction;
use belfry_core::audit::AuditKind;
use belfry_core::form::{is_list, last_value};
use belfry_core::oauth::scope::Scope;
use belfry_store::{AccountDeletionOutcome, AccountUpdateOutcome, Store, WriteOutcome};
use serde_json::{Value, json};

use super::{AccountId, admin_account_entity};
use crate::config::BaseUrl;
use crate::http::error::ApiError;
use crate::http::extract::admin::Admin;
use crate::http::extract::form::Form;
use crate::http::json::Json;

/// `POST /api/v1/admin/accounts/:id/action`: performs the action in `type`, and records the
/// comment in `text`.
pub(crate) async fn perform_action(
    State(store): State<Store>,
    admin: Admin,
    id: AccountId,
    Form(pairs): Form,
) -> Result<Json<Value>, ApiError> {
    admin.require_scope(Scope::AdminWriteAccounts)?;
    let account = id.load_account(&store).await?;
    let action = AccountAction::from_name(last_value(&pairs, "type"));
    if is_list(&pairs, "text") {
        return Err(ApiError::comment_is_list());
    }
    let comment = last_value(&pairs, "text");
    match action.ok_or_else(ApiError::unknown_action)? {
        AccountAction::Note => {
            let events = admin.audit_event(AuditKind::AccountNote, comment).into();
            match store.record_account_events(&events, account.id).await? {
                WriteOutcome::Written => {}
                WriteOutcome::NotFound => return Err(ApiError::RecordNotFound),
            }
        }
        AccountAction::Disable => {
            let events = admin.audit_event(AuditKind::AccountDisable, comment).into();
            let now = Some(admin.bearer.now);
            require_updated(store.set_account_disabled_at(&events, account.id, now).await?)?;
        }
    }
    Ok(Json(json!({})))
}

/// `POST /api/v1/admin/accounts/:id/enable`
pub(crate) async fn enable_account(
    State(store): State<Store>,
    State(base_url): State<BaseUrl>,
    admin: Admin,
    id: AccountId,
) -> Result<Json<Value>, ApiError> {
    admin.require_scope(Scope::AdminWriteAccounts)?;
    let mut account = id.load_account(&store).await?;
    if account.disabled_at.take().is_some() {
        let events = admin.audit_event(AuditKind::AccountEnable, "").into();
        require_updated(store.set_account_disabled_at(&events, account.id, None).await?)?;
    }
    Ok(Json(admin_account_entity(&base_url, &account)))
}

/// `DELETE /api/v1/admin/accounts/:id`: deletes the account with all its data, and returns the
/// deleted account. Mastodon requires a suspension first, which Belfry does not have.
pub(crate) async fn delete_account(
    State(store): State<Store>,
    State(base_url): State<BaseUrl>,
    admin: Admin,
    id: AccountId,
) -> Result<Json<Value>, ApiError> {
    admin.require_scope(Scope::AdminWriteAccounts)?;
    let account = id.load_account(&store).await?;
    let events = admin.audit_event(AuditKind::AccountDelete, "").into();
    match store.delete_account(&events, account.id, admin.bearer.now).await? {
        AccountDeletionOutcome::Deleted(_) => Ok(Json(admin_account_entity(&base_url, &account))),
        AccountDeletionOutcome::NotFound => Err(ApiError::RecordNotFound),
        AccountDeletionOutcome::LastAdmin => Err(ApiError::LastAdmin),
    }
}

fn require_updated(outcome: AccountUpdateOutcome) -> Result<(), ApiError> {
    match outcome {
        AccountUpdateOutcome::Updated => Ok(()),
        AccountUpdateOutcome::NotFound => Err(ApiError::RecordNotFound),
        AccountUpdateOutcome::LastAdmin => Err(ApiError::LastAdmin),
    }
}
