//! Mastodon's admin API for accounts, and the scopes that only admins can grant.

mod access;
mod actions;
mod cache;
mod lists;
mod scopes;

use belfry_core::account::Role;

use crate::support::service::unlimited_config;
use crate::support::{Service, TestClient, TestDatabase, any_events};

/// Starts a service without rate limits on this database.
async fn start_unlimited(database: TestDatabase) -> Service {
    Service::start_on(database, unlimited_config()).await
}

async fn account_id(service: &Service, name: &str) -> i64 {
    service.store().account_by_name(name).await.unwrap().unwrap().id
}

async fn set_role(service: &Service, name: &str, role: Role) {
    let id = account_id(service, name).await;
    service.store().set_account_role(&any_events(), id, role).await.unwrap();
}

/// Makes `root` an admin, and returns a client with a token for `root` with these scopes. Creates
/// the account if it does not exist.
async fn admin_client(service: &Service, scopes: &str) -> TestClient {
    let root = service.user_client_with_scopes("root", scopes).await;
    set_role(service, "root", Role::Admin).await;
    root.with_header("content-type", "application/x-www-form-urlencoded")
}
