//! Mastodon's admin API: accounts, and empty lists for features that Belfry lacks.

pub(crate) mod accounts;
pub(crate) mod actions;
mod entity;

use std::future::ready;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::routing::{MethodRouter, get, post};
use belfry_core::oauth::scope::Scope;
use belfry_store::Account;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::ApiError;
use crate::http::extract::admin::Admin;
use crate::http::extract::raw_path::RawPath;
use crate::http::json::Json;

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
    async fn load_account(&self, state: &AppState) -> Result<Account, ApiError> {
        state.store.account(self.0).await?.ok_or(ApiError::RecordNotFound)
    }
}

/// Returns the route for a list that is always empty, for clients that expect it.
pub(crate) fn empty_list_route(scope: Scope) -> MethodRouter<Arc<AppState>> {
    let respond = move |admin: Admin| ready(respond_empty(&admin, scope));
    get(respond)
}

/// Returns the route for statistics that are always empty.
pub(crate) fn empty_statistics_route() -> MethodRouter<Arc<AppState>> {
    let respond = |admin: Admin| ready(respond_empty(&admin, Scope::AdminRead));
    post(respond)
}

fn respond_empty(admin: &Admin, scope: Scope) -> Result<Json<Value>, ApiError> {
    admin.require_scope(scope)?;
    Ok(Json(json!([])))
}
