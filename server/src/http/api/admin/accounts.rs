//! Lists of accounts, and single accounts, for admins.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::admin::{AccountFilter, Links, PageRequest};
use belfry_core::oauth::scope::Scope;
use belfry_store::Store;
use serde_json::Value;

use super::{AccountId, admin_account_entity};
use crate::config::BaseUrl;
use crate::http::error::{ApiError, CommonError};
use crate::http::extract::admin::Admin;
use crate::http::extract::form::Query;
use crate::http::json::Json;
use crate::paths::ADMIN_ACCOUNTS;

/// `GET /api/v2/admin/accounts`
pub(crate) async fn list_accounts(
    State(store): State<Store>,
    State(base_url): State<BaseUrl>,
    admin: Admin,
    Query(pairs): Query,
) -> Result<Response, ApiError> {
    admin.require_scope(Scope::AdminReadAccounts)?;
    let filter =
        AccountFilter::parse(&pairs).map_err(|error| CommonError::Malformed(error.to_string()))?;
    let page =
        PageRequest::parse(&pairs).map_err(|error| CommonError::Malformed(error.to_string()))?;
    let accounts = match filter {
        Some(filter) => store.find_accounts(&filter, &page).await?,
        None => Vec::new(),
    };
    let ids: Vec<i64> = accounts.iter().map(|account| account.id).collect();
    let entities: Vec<Value> =
        accounts.iter().map(|account| admin_account_entity(&base_url, account)).collect();
    let mut response = Json(entities).into_response();
    let Links { next, previous } = page.links(&pairs, &ids);
    let links = [("next", next), ("prev", previous)].into_iter().filter_map(|(rel, query)| {
        Some(format!("<{base_url}{ADMIN_ACCOUNTS}?{}>; rel=\"{rel}\"", query?))
    });
    let link_header = links.collect::<Vec<_>>().join(", ");
    if !link_header.is_empty() {
        let link_header = HeaderValue::try_from(link_header).map_err(|_| CommonError::Internal)?;
        response.headers_mut().insert(header::LINK, link_header);
    }
    Ok(response)
}

/// `GET /api/v1/admin/accounts/:id`
pub(crate) async fn get_account(
    State(store): State<Store>,
    State(base_url): State<BaseUrl>,
    admin: Admin,
    id: AccountId,
) -> Result<Json<Value>, ApiError> {
    admin.require_scope(Scope::AdminReadAccounts)?;
    Ok(Json(admin_account_entity(&base_url, &id.load_account(&store).await?)))
}
