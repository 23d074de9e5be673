//! Mastodon's admin API for accounts.

pub(crate) mod accounts;
pub(crate) mod actions;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::account::Role;
use belfry_core::admin::role_id;
use belfry_store::{Account, Store};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::config::BaseUrl;
use crate::http::api::accounts::{account_entity, role_name};
use crate::http::error::ApiError;
use crate::http::extract::raw_path::RawPath;

/// The account id in a path. Anything but a number is rejected like an unknown id.
pub(crate) struct AccountId(i64);

impl<S: Sync> FromRequestParts<S> for AccountId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = RawPath::from_request_parts(parts, state).await?;
        let id = path.parameter("{id}").and_then(|id| id.parse().ok());
        id.map(Self).ok_or(ApiError::RecordNotFound)
    }
}

impl AccountId {
    async fn load_account(&self, store: &Store) -> Result<Account, ApiError> {
        store.account(self.0).await?.ok_or(ApiError::RecordNotFound)
    }
}

/// Returns an `Admin::Account`. IP addresses, locales and invitation requests
/// are not stored.
fn admin_account_entity(base_url: &BaseUrl, account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "username": account.name,
        "domain": null,
        "created_at": format_timestamp(account.created_at),
        "email": account.email.as_ref().or(account.unverified_email.as_ref()),
        "ip": null,
        "role": role_entity(account.role),
        "confirmed": account.email.is_some(),
        "suspended": false,
        "silenced": false,
        "sensitized": false,
        "disabled": account.disabled_at.is_some(),
        "approved": true,
        "locale": null,
        "invite_request": null,
        "ips": [],
        "account": account_entity(base_url, account),
        // Not in Mastodon: the time at which the account will be deleted, as its owner requested.
        "delete_at": account.delete_at.map(format_timestamp),
    })
}

/// Returns a time in Mastodon's format.
fn format_timestamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

/// Returns the role with numbers instead of the strings of `CredentialAccount`. Permission 1
/// implies all others. Roles are built in, so their times are fixed.
fn role_entity(role: Role) -> Value {
    let is_admin = role == Role::Admin;
    json!({
        "id": role_id(role),
        "name": role_name(role),
        "color": "",
        "position": if is_admin { 1000 } else { -1 },
        "permissions": i64::from(is_admin),
        "highlighted": is_admin,
        "created_at": "1970-01-01T00:00:00.000Z",
        "updated_at": "1970-01-01T00:00:00.000Z",
    })
}
