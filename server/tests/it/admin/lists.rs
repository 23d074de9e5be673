//! Lists of accounts: filters, pages and links.

use axum::http::StatusCode;
use belfry_core::account::Role;
use belfry_store::{Account, NO_PASSWORD};
use serde_json::{Value, json};

use super::admin_client;
use crate::support::{Service, TestClient, any_events, on_both_engines};

on_both_engines! {
    crate::admin::start_unlimited:
    accounts_are_listed_newest_first_in_linked_pages,
    ids_in_the_query_bound_a_page,
    parameters_filter_accounts,
    special_characters_in_a_prefix_match_only_themselves,
}

async fn add_account(service: &Service, id: i64, name: &str, change: impl FnOnce(&mut Account)) {
    let mut account = Account {
        id,
        name: name.to_owned(),
        email: Some(format!("{name}@example.org")),
        unverified_email: None,
        password_hash: NO_PASSWORD.to_owned(),
        role: Role::User,
        created_at: service.now(),
        signed_in_at: None,
        disabled_at: None,
        delete_at: None,
        credential_version: 0,
    };
    change(&mut account);
    service.store().add_account(&any_events(), &account).await.unwrap();
}

/// Returns the names of the accounts that a request lists, separated by spaces.
async fn list_names(client: &TestClient, path: &str) -> String {
    let accounts = client.get(path).await.expect_json(StatusCode::OK);
    let username = |account: &Value| account["username"].as_str().unwrap().to_owned();
    accounts.as_array().unwrap().iter().map(username).collect::<Vec<_>>().join(" ")
}

/// Returns the path of the link with this relation in a `Link` header, if there is one.
fn link_path(header: &str, rel: &str) -> Option<String> {
    let link = header.split(", ").find(|link| link.ends_with(&format!("; rel=\"{rel}\"")))?;
    let url = link.strip_prefix("<https://ring.example").unwrap().split('>').next().unwrap();
    Some(url.to_owned())
}

async fn accounts_are_listed_newest_first_in_linked_pages(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:read:accounts").await;
    for id in 1..=7 {
        add_account(service, id, &format!("user_{id}"), |_| {}).await;
    }
    let expected = "root user_7 user_6 user_5 user_4 user_3 user_2 user_1";
    let path = "/api/v2/admin/accounts";
    assert_eq!(list_names(&admin, path).await, expected);
    let mut next_path = Some(format!("{path}?limit=3&username=&x=y"));
    let mut pages = Vec::new();
    let mut previous_path = None;
    while let Some(path) = next_path {
        pages.push(list_names(&admin, &path).await);
        let response = admin.get(&path).await;
        next_path = link_path(response.header("link"), "next");
        previous_path = link_path(response.header("link"), "prev");
    }
    assert_eq!(pages, ["root user_7 user_6", "user_5 user_4 user_3", "user_2 user_1"]);
    // The link `prev` on the last page names the page before it.
    let previous_names = list_names(&admin, &previous_path.clone().unwrap()).await;
    assert_eq!(previous_names, "user_5 user_4 user_3");
    assert_eq!(previous_path.unwrap(), format!("{path}?limit=3&username=&min_id=2"));
    let response = admin.get("/api/v2/admin/accounts?origin=remote").await;
    assert_eq!((response.expect_json(StatusCode::OK), response.header("link")), (json!([]), ""));
}

async fn ids_in_the_query_bound_a_page(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:read:accounts").await;
    for id in 1..=5 {
        add_account(service, id, &format!("user_{id}"), |_| {}).await;
    }
    for (query, expected) in [
        ("max_id=4", "user_3 user_2 user_1"),
        ("max_id=4&limit=1", "user_3"),
        ("since_id=2&max_id=5", "user_4 user_3"),
        ("since_id=1&max_id=6&limit=2", "user_5 user_4"),
        ("min_id=1&max_id=6&limit=2", "user_3 user_2"),
        ("min_id=5&max_id=6", ""),
    ] {
        let path = format!("/api/v2/admin/accounts?{query}");
        assert_eq!(list_names(&admin, &path).await, expected, "{query}");
    }
    let response = admin.get("/api/v2/admin/accounts?max_id=x").await;
    let expected = json!({ "error": "max_id must be the id of an account" });
    assert_eq!(response.expect_json(StatusCode::BAD_REQUEST), expected);
}

/// Adds four accounts and the admin `root`, and returns the admin's client.
async fn add_filterable_accounts(service: &Service) -> TestClient {
    let admin = admin_client(service, "admin:read").await;
    let now = service.now();
    add_account(service, 1, "alice", |_| {}).await;
    add_account(service, 2, "albert", |account| account.disabled_at = Some(now)).await;
    add_account(service, 3, "bob", |account| {
        (account.email, account.unverified_email) = (None, Some("al@sign-up.example".to_owned()));
    })
    .await;
    add_account(service, 4, "boss", |account| {
        (account.role, account.disabled_at) = (Role::Admin, Some(now));
    })
    .await;
    admin
}

const ALL_NAMES: &str = "root boss bob albert alice";

async fn parameters_filter_accounts(service: Service) {
    let service = &service;
    let admin = add_filterable_accounts(service).await;
    for (query, expected) in [
        ("", ALL_NAMES),
        ("origin=local&status=active", ALL_NAMES),
        ("status=disabled", "boss albert"),
        ("permissions=staff", "root boss"),
        ("role_ids[]=3", "root boss"),
        ("role_ids[]=-99", "bob albert alice"),
        ("role_ids[]=-99&role_ids[]=3", ALL_NAMES),
        ("role_ids[]=1", ""),
        ("role_ids[]=-99&status=disabled", "albert"),
        ("username=al&email=albert@", "albert"),
        ("username=ALI", "alice"),
        ("display_name=bo", "boss bob"),
        ("email=al&username=bo", "bob"),
        ("email=example.org", ""),
        ("origin=remote", ""),
        ("status=pending", ""),
        ("status=suspended", ""),
        ("invited_by=1", ""),
        ("ip=192.0.2.1", ""),
    ] {
        let path = format!("/api/v2/admin/accounts?{query}");
        assert_eq!(list_names(&admin, &path).await, expected, "{query}");
    }
    for (query, error) in [("status=x", "Unknown status: x"), ("origin=x", "Unknown origin: x")] {
        let response = admin.get(&format!("/api/v2/admin/accounts?{query}")).await;
        assert_eq!(response.expect_json(StatusCode::BAD_REQUEST), json!({ "error": error }));
    }
}

async fn special_characters_in_a_prefix_match_only_themselves(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:read").await;
    for (id, name) in [(1, "a_b"), (2, "a-b"), (3, "axb"), (4, "a.b")] {
        add_account(service, id, name, |_| {}).await;
    }
    for (prefix, expected) in [
        ("a_", "a_b"),
        ("a-", "a-b"),
        ("a.", "a.b"),
        ("a", "a.b axb a-b a_b"),
        ("%25", ""),
        ("a%25", ""),
        ("%5C", ""),
        ("a%5C_", ""),
        ("'", ""),
        ("a%00", ""),
    ] {
        let path = format!("/api/v2/admin/accounts?username={prefix}");
        if prefix.contains("%00") {
            assert_eq!(admin.get(&path).await.status, 400);
        } else {
            assert_eq!(list_names(&admin, &path).await, expected, "{prefix}");
        }
    }
}
