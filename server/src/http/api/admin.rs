//! Mastodon's admin API for accounts.

pub(crate) mod accounts;
pub(crate) mod actions;
mod entity;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_store::{Account, Store};

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
