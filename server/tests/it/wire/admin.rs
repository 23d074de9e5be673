//! Snapshots of Mastodon's admin API.

use belfry_core::account::Role;

use super::{Cases, FORM_TYPE, assert_snapshot};
use crate::support::{Service, TestClient, any_events};

/// Returns a client with a token of the admin `root` with these scopes, and the id of `root`.
async fn admin_client(service: &Service, scopes: &str) -> (TestClient, i64) {
    let client = service
        .user_client_with_scopes("root", scopes)
        .await
        .with_header("content-type", FORM_TYPE);
    let id = service.store().account_by_name("root").await.unwrap().unwrap().id;
    service.store().set_account_role(&any_events(), id, Role::Admin).await.unwrap();
    (client, id)
}

#[tokio::test]
async fn accounts_for_admins_match_their_snapshot() {
    let service = Service::start().await;
    let (admin, _) = admin_client(&service, "admin:read").await;
    service.clock.advance(1);
    let alice = service.add_account("alice").await;
    service
        .store()
        .set_account_disabled_at(&any_events(), alice, Some(service.now()))
        .await
        .unwrap();
    let mut cases = Cases(Vec::new());
    for (case, request) in [
        ("first page", "GET /api/v2/admin/accounts?limit=1&status=disabled"),
        ("all accounts", "GET /api/v2/admin/accounts?origin=local"),
        ("no account", "GET /api/v2/admin/accounts?status=suspended"),
    ] {
        cases.add(case, admin.exchange(request, "").await);
    }
    assert_snapshot("admin_accounts", &cases);
}

#[tokio::test]
async fn admin_errors_match_their_snapshot() {
    let service = Service::start().await;
    let (admin, admin_id) = admin_client(&service, "admin:write").await;
    let user = service.user_client_with_scopes("alice", "read admin:read").await;
    let mut cases = Cases(Vec::new());
    for (case, client, request, body) in [
        ("missing scope", &admin, "GET /api/v2/admin/accounts", ""),
        ("not an admin", &user, "GET /api/v2/admin/accounts", ""),
        ("unknown account", &admin, "POST /api/v1/admin/accounts/1/enable", ""),
    ] {
        cases.add(case, client.exchange(request, body).await);
    }
    for (case, method, suffix, body) in [
        ("unknown action", "POST", "/action", "type=suspend"),
        ("last admin", "POST", "/action", "type=disable"),
        ("last admin", "DELETE", "", ""),
    ] {
        let target = format!("{method} /api/v1/admin/accounts/{admin_id}{suffix}");
        let mut exchange = admin.exchange(&target, body).await;
        exchange.request = format!("{method} /api/v1/admin/accounts/[id]{suffix}");
        cases.add(case, exchange);
    }
    assert_snapshot("errors_admin", &cases);
}
