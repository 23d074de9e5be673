//! Lists of accounts, and single accounts, for admins.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::admin::{AccountFilter, Links, Page};
use belfry_core::oauth::form::Pairs;
use belfry_core::oauth::scope::Scope;
use serde_json::Value;

use super::AccountId;
use super::entity::admin_account;
use crate::app::AppState;
use crate::http::error::{ApiError, CommonError};
use crate::http::extract::admin::Admin;
use crate::http::extract::form::Query;
use crate::http::json::Json;
use crate::paths::{ADMIN_ACCOUNTS_V1, ADMIN_ACCOUNTS_V2};

/// `GET /api/v1/admin/accounts`
pub(crate) async fn list_v1(
    State(state): State<Arc<AppState>>,
    admin: Admin,
    Query(pairs): Query,
) -> Result<Response, ApiError> {
    admin.require_scope(Scope::AdminReadAccounts)?;
    list(&state, ADMIN_ACCOUNTS_V1, &pairs, AccountFilter::from_v1(&pairs)).await
}

/// `GET /api/v2/admin/accounts`
pub(crate) async fn list_v2(
    State(state): State<Arc<AppState>>,
    admin: Admin,
    Query(pairs): Query,
) -> Result<Response, ApiError> {
    admin.require_scope(Scope::AdminReadAccounts)?;
    let filter = AccountFilter::from_v2(&pairs)
        .map_err(|error| CommonError::Malformed(error.to_string()))?;
    list(&state, ADMIN_ACCOUNTS_V2, &pairs, filter).await
}

/// `GET /api/v1/admin/accounts/:id`
pub(crate) async fn show(
    State(state): State<Arc<AppState>>,
    admin: Admin,
    id: AccountId,
) -> Result<Json<Value>, ApiError> {
    admin.require_scope(Scope::AdminReadAccounts)?;
    Ok(Json(admin_account(&state, &id.load(&state).await?)))
}

async fn list(
    state: &AppState,
    path: &str,
    pairs: &Pairs,
    filter: Option<AccountFilter>,
) -> Result<Response, ApiError> {
    let page = Page::parse(pairs).map_err(|error| CommonError::Malformed(error.to_string()))?;
    let accounts = match filter {
        Some(filter) => state.store.find_accounts(&filter, &page).await?,
        None => Vec::new(),
    };
    let ids: Vec<i64> = accounts.iter().map(|account| account.id).collect();
    let entities: Vec<Value> =
        accounts.iter().map(|account| admin_account(state, account)).collect();
    let mut response = Json(entities).into_response();
    let Links { next, previous } = page.links(pairs, &ids);
    let links = [("next", next), ("prev", previous)].into_iter().filter_map(|(rel, query)| {
        Some(format!("<{}{path}?{}>; rel=\"{rel}\"", state.base_url, query?))
    });
    let links = links.collect::<Vec<_>>().join(", ");
    if !links.is_empty() {
        let links = HeaderValue::try_from(links).map_err(|_| CommonError::Internal)?;
        response.headers_mut().insert(header::LINK, links);
    }
    Ok(response)
}
