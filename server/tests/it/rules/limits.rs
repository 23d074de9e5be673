//! Limits on rules, request bodies and unread responses, and rate-limited rule changes.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use belfry::config::RateLimitMode;
use belfry::http::Peer;
use serde_json::json;

use super::{minimal_rule, pushrules_path};
use crate::support::Service;
use crate::support::service::{config_with, peer_address};

async fn start_with_limits(max_rules: usize, max_bytes: usize, max_body_bytes: usize) -> Service {
    Service::start_with(config_with(|config| {
        config.limits.mode = RateLimitMode::Off;
        config.rules.max_rules = max_rules;
        config.rules.max_bytes = max_bytes;
        config.rules.max_body_bytes = max_body_bytes;
    }))
    .await
}

#[tokio::test]
async fn the_number_of_rules_in_all_scopes_is_limited() {
    let service = start_with_limits(3, 1 << 20, 1 << 16).await;
    let alice = service.user_client("alice").await;
    for path in ["global/room/a", "global/content/a", "device/phone/room/a"] {
        alice.put_rule_ok(path, &json!({ "actions": [], "pattern": "x" })).await;
    }
    for path in ["global/room/b", "device/phone/sender/b", "device/new/room/b"] {
        let response = alice.put_rule(path, &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    // Existing rules can be replaced, changed and deleted.
    alice.put_rule_ok("global/room/a", &json!({ "actions": ["notify"] })).await;
    alice.put_rule_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    assert_eq!(alice.delete_rule("device/phone/room/a").await.status, 200);
    alice.put_rule_ok("global/room/b", &minimal_rule("room")).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["b", "a"]);
    // The limit applies to each account separately.
    service.user_client("bob").await.put_rule_ok("global/room/a", &minimal_rule("room")).await;
}

#[tokio::test]
async fn the_number_of_conditions_in_a_new_rule_is_limited() {
    let rule_with_conditions = |count: usize| {
        let condition = json!({ "kind": "contains_display_name" });
        json!({ "actions": [], "conditions": vec![condition; count] })
    };
    let service = start_with_limits(1000, 1 << 20, 1 << 16).await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/override/a", &rule_with_conditions(64)).await;
    for path in ["global/override/a", "global/underride/b", "global/room/c"] {
        let response = alice.put_rule(path, &rule_with_conditions(65)).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{path}");
    }
}

#[tokio::test]
async fn the_stored_size_of_the_rules_is_limited() {
    let service = start_with_limits(1000, 2000, 1 << 16).await;
    let alice = service.user_client("alice").await;
    let big_rule = json!({ "actions": [], "x": "x".repeat(800) });
    alice.put_rule_ok("global/room/a", &big_rule).await;
    alice.put_rule_ok("device/phone/room/a", &json!({ "actions": [], "x": "x".repeat(500) })).await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    for (path, body) in [
        ("global/room/b", &big_rule),
        ("device/new/room/b", &big_rule),
        (
            "global/override/.m.rule.master/actions",
            &json!({
                "actions": [{ "set_tweak": "sound", "value": "x".repeat(1000) }],
            }),
        ),
    ] {
        let response = alice.put_rule(path, body).await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    alice.put_rule_ok("global/room/b", &big_rule).await;
}

#[tokio::test]
async fn concurrent_changes_within_the_limit_are_stored() {
    let service = start_with_limits(1000, 2000, 1 << 16).await;
    let alice = service.user_client("alice").await;
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..16 {
        let alice = alice.clone();
        let padding_bytes = if number % 2 == 0 { 10 } else { 5000 };
        clients.spawn(async move {
            let body = json!({ "actions": [], "x": "x".repeat(padding_bytes) });
            let response = alice.put_rule(&format!("global/room/r{number}"), &body).await;
            (number % 2 == 0, response.status)
        });
    }
    for (is_within_limit, status) in clients.join_all().await {
        assert_eq!(status, if is_within_limit { 200 } else { 413 });
    }
    assert_eq!(alice.user_rule_ids("global/room/").await.len(), 8);
}

#[tokio::test]
async fn a_rate_limited_request_changes_nothing() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    for _ in 0..298 {
        assert_eq!(alice.get(&pushrules_path("global/")).await.status, 200);
    }
    for (request, body) in [
        ("PUT global/room/b", minimal_rule("room").to_string()),
        ("PUT global/room/a", json!({ "actions": [] }).to_string()),
        ("PUT global/room/a/enabled", "false".to_owned()),
        ("PUT global/room/a/actions", json!({ "actions": [] }).to_string()),
        ("PUT global/override/.m.rule.master/enabled", "true".to_owned()),
        ("DELETE global/room/a", String::new()),
        ("POST import", json!({ "global": {} }).to_string()),
        ("POST reset", String::new()),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let response = alice.send(&format!("{method} {}", pushrules_path(path)), body).await;
        assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()), "{request}");
        assert!(
            response.json()["retry_after_ms"]
                .as_u64()
                .is_some_and(|retry_after_ms| retry_after_ms > 0),
            "{request}"
        );
        assert_ne!(response.header("retry-after"), "", "{request}");
    }
    service.clock.advance(300);
    assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
}

/// The limit applies with and without `Content-Length`.
#[tokio::test]
async fn the_body_size_is_limited() {
    let service = start_with_limits(1000, 1 << 20, 1000).await;
    let alice = service.user_client("alice").await;
    let body_with_size =
        |size: usize| format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(size - 21));
    for path in ["global/room/a", "global/room/a/enabled", "global/room/a/actions"] {
        let put_request = format!("PUT {}", pushrules_path(path));
        let response = alice.with_header("content-length", "1001").send(&put_request, "").await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
        let response = alice.send(&put_request, body_with_size(1001)).await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    let response =
        alice.send(&format!("PUT {}", pushrules_path("global/room/a")), body_with_size(1000)).await;
    assert_eq!(response.status, 200, "{response:?}");
}

/// Without this limit, an account could fill the memory with responses that it does not read.
#[tokio::test]
async fn the_size_of_unread_responses_is_limited_per_account() {
    let service = start_with_limits(1000, 1 << 20, 1 << 16).await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    let large_rule = json!({ "actions": [], "pattern": "x".repeat(60_000) });
    for client in [&alice, &bob] {
        for id in 0..16 {
            client.put_rule_ok(&format!("global/content/{id}"), &large_rule).await;
        }
    }
    // Returns a response whose body is not read.
    let get_unread = async |token: &str, path: &str| {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::empty()).unwrap();
        service.http.respond(Peer(peer_address([192, 0, 2, 1])), request).await
    };
    let account_data =
        "/_matrix/client/v3/user/@alice:ring.example/account_data/m.push_rules".to_owned();
    for path in [
        pushrules_path(""),
        pushrules_path("global/"),
        pushrules_path("global/content/"),
        account_data,
    ] {
        let mut unread_responses = Vec::new();
        let rejection = loop {
            let response = get_unread(alice.token(), &path).await;
            if response.status() != StatusCode::OK {
                break response;
            }
            unread_responses.push(response);
        };
        assert_eq!(unread_responses.len(), 8, "{path}");
        assert_eq!(rejection.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        let rule = get_unread(alice.token(), &pushrules_path("global/content/1")).await;
        assert_eq!(rule.status(), StatusCode::OK, "small responses are not limited");
        assert_eq!(get_unread(bob.token(), &pushrules_path("")).await.status(), StatusCode::OK);
        drop(unread_responses);
        assert_eq!(get_unread(alice.token(), &path).await.status(), StatusCode::OK, "{path}");
    }
}
