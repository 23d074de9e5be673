//! `account/whoami` and account data.

use axum::http::StatusCode;
use serde_json::json;

use super::CLIENT_API;
use crate::rules::start_unlimited;

#[tokio::test]
async fn whoami_returns_the_user_of_any_token() {
    let service = start_unlimited().await;
    let alice = service.user_client_with_scopes("alice", "profile").await;
    let response =
        alice.get(&format!("{CLIENT_API}/account/whoami")).await.expect_json(StatusCode::OK);
    assert_eq!(response, json!({ "user_id": "@alice:ring.example", "is_guest": false }));
    let response = service.anonymous_client().get(&format!("{CLIENT_API}/account/whoami")).await;
    assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()));
}

#[tokio::test]
async fn account_data_returns_the_rules_to_their_owner_only() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    alice.put_rule_ok("global/room/a", &json!({ "actions": [] })).await;
    let account_data_path =
        |user: &str| format!("{CLIENT_API}/user/{user}/account_data/m.push_rules");
    let rules = alice.get_rules("").await;
    for user in ["@alice:ring.example", "%40alice%3Aring.example"] {
        assert_eq!(
            alice.get(&account_data_path(user)).await.expect_json(StatusCode::OK),
            rules,
            "{user}"
        );
    }
    for user in ["@alice:ring.example", "@nobody:ring.example", "bob", "@bob:x"] {
        let response = bob.get(&account_data_path(user)).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{user}");
    }
    let response = alice.get(&account_data_path("%ff")).await;
    assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()));
    let write_client = service.user_client_with_scopes("alice", "write").await;
    assert_eq!(write_client.get(&account_data_path("@alice:ring.example")).await.status, 403);
    let put_request = format!("PUT {}", account_data_path("@alice:ring.example"));
    let response = alice.send(&put_request, "{\"global\":{}}").await;
    assert_eq!(response.status_and_errcode(), (405, "M_UNRECOGNIZED".into()));
    assert_eq!(response.header("allow"), "GET,HEAD");
    assert_eq!(alice.get_rules("").await, rules);
}
