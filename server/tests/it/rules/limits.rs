//! Limits on the number and size of rules, and on the size of bodies.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use belfry::config::LimitMode;
use belfry::http::Peer;
use serde_json::json;

use super::{minimal_rule, pushrules};
use crate::support::Service;
use crate::support::service::{config_with, peer_address};

async fn service_with_limits(max_rules: usize, max_bytes: usize, max_body_bytes: usize) -> Service {
    Service::start_with(config_with(|config| {
        config.limits.mode = LimitMode::Off;
        config.rules.max_rules = max_rules;
        config.rules.max_bytes = max_bytes;
        config.rules.max_body_bytes = max_body_bytes;
    }))
    .await
}

#[tokio::test]
async fn the_number_of_rules_in_all_scopes_is_limited() {
    let service = service_with_limits(3, 1 << 20, 1 << 16).await;
    let alice = service.user_client("alice").await;
    for path in ["global/room/a", "global/content/a", "device/phone/room/a"] {
        alice.put_ok(path, &json!({ "actions": [], "pattern": "x" })).await;
    }
    for path in ["global/room/b", "device/phone/sender/b", "device/new/room/b"] {
        let response = alice.put(path, &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    // Existing rules can be replaced, changed and deleted.
    alice.put_ok("global/room/a", &json!({ "actions": ["notify"] })).await;
    alice.put_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    assert_eq!(alice.delete("device/phone/room/a").await.status, 200);
    alice.put_ok("global/room/b", &minimal_rule("room")).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["b", "a"]);
    // The limit applies to each account separately.
    service.user_client("bob").await.put_ok("global/room/a", &minimal_rule("room")).await;
}

#[tokio::test]
async fn the_default_limits_are_a_thousand_rules_and_64_kib_for_a_body() {
    let rules = belfry::config::Config::default().rules;
    assert_eq!((rules.max_rules, rules.max_body_bytes), (1000, 64 * 1024));
}

#[tokio::test]
async fn the_number_of_conditions_in_a_new_rule_is_limited() {
    let rule = |conditions: usize| {
        let condition = json!({ "kind": "contains_display_name" });
        json!({ "actions": [], "conditions": vec![condition; conditions] })
    };
    let service = service_with_limits(1000, 1 << 20, 1 << 16).await;
    let alice = service.user_client("alice").await;
    alice.put_ok("global/override/a", &rule(64)).await;
    for path in ["global/override/a", "global/underride/b", "global/room/c"] {
        let response = alice.put(path, &rule(65)).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{path}");
    }
}

#[tokio::test]
async fn the_stored_size_of_the_rules_is_limited() {
    let service = service_with_limits(1000, 2000, 1 << 16).await;
    let alice = service.user_client("alice").await;
    let big = json!({ "actions": [], "x": "x".repeat(800) });
    alice.put_ok("global/room/a", &big).await;
    alice.put_ok("device/phone/room/a", &json!({ "actions": [], "x": "x".repeat(500) })).await;
    let before = alice.get(&pushrules("")).await.text;
    for (path, body) in [
        ("global/room/b", &big),
        ("device/new/room/b", &big),
        (
            "global/override/.m.rule.master/actions",
            &json!({
                "actions": [{ "set_tweak": "sound", "value": "x".repeat(1000) }],
            }),
        ),
    ] {
        let response = alice.put(path, body).await;
        assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    assert_eq!(alice.get(&pushrules("")).await.text, before);
    alice.put_ok("global/room/a", &minimal_rule("room")).await;
    alice.put_ok("global/room/b", &big).await;
}

#[tokio::test]
async fn concurrent_changes_within_the_limit_are_stored() {
    let service = service_with_limits(1000, 2000, 1 << 16).await;
    let alice = service.user_client("alice").await;
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..16 {
        let alice = alice.clone();
        let size = if number % 2 == 0 { 10 } else { 5000 };
        clients.spawn(async move {
            let body = json!({ "actions": [], "x": "x".repeat(size) });
            let response = alice.put(&format!("global/room/r{number}"), &body).await;
            (number % 2 == 0, response.status)
        });
    }
    for (fits, status) in clients.join_all().await {
        assert_eq!(status, if fits { 200 } else { 413 });
    }
    assert_eq!(alice.user_rule_ids("global/room/").await.len(), 8);
}

#[tokio::test]
async fn a_rate_limited_request_changes_nothing() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    alice.put_ok("global/room/a", &minimal_rule("room")).await;
    let before = alice.get(&pushrules("")).await.text;
    for _ in 0..298 {
        assert_eq!(alice.get(&pushrules("global/")).await.status, 200);
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
        ("POST bulk", json!({ "changes": [] }).to_string()),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let response = alice.send(&format!("{method} {}", pushrules(path)), body).await;
        assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()), "{request}");
        assert!(
            response.json()["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0),
            "{request}"
        );
        assert_ne!(response.header("retry-after"), "", "{request}");
    }
    service.clock.advance(300);
    assert_eq!(alice.get(&pushrules("")).await.text, before);
}

/// The limit applies with and without `Content-Length`.
#[tokio::test]
async fn the_size_of_a_body_is_limited() {
    let service = service_with_limits(1000, 1 << 20, 1000).await;
    let alice = service.user_client("alice").await;
    let body = |size: usize| format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(size - 21));
    for path in ["global/room/a", "global/room/a/enabled", "global/room/a/actions"] {
        let put = format!("PUT {}", pushrules(path));
        let declared = alice.with_header("content-length", "1001").send(&put, "").await;
        assert_eq!(declared.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
        let undeclared = alice.send(&put, body(1001)).await;
        assert_eq!(undeclared.status_and_errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    let fits = alice.send(&format!("PUT {}", pushrules("global/room/a")), body(1000)).await;
    assert_eq!(fits.status, 200, "{fits:?}");
}

/// Without this limit, an account could fill the memory with responses that it does not read.
#[tokio::test]
async fn the_size_of_unread_responses_is_limited_per_account() {
    let service = service_with_limits(1000, 1 << 20, 1 << 16).await;
    let (alice, bob) = (service.user_client("alice").await, service.user_client("bob").await);
    let large = json!({ "actions": [], "pattern": "x".repeat(60_000) });
    for client in [&alice, &bob] {
        for id in 0..16 {
            client.put_ok(&format!("global/content/{id}"), &large).await;
        }
    }
    // Returns a response whose body is not read.
    let get = async |token: &str, path: &str| {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::empty()).unwrap();
        service.http.respond(Peer(peer_address([192, 0, 2, 1])), request).await
    };
    let account_data =
        "/_matrix/client/v3/user/@alice:ring.example/account_data/m.push_rules".to_owned();
    for path in [pushrules(""), pushrules("global/"), pushrules("global/content/"), account_data] {
        let mut unread = Vec::new();
        let rejected = loop {
            let response = get(alice.token(), &path).await;
            if response.status() != StatusCode::OK {
                break response;
            }
            unread.push(response);
        };
        assert_eq!(unread.len(), 8, "{path}");
        assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        let rule = get(alice.token(), &pushrules("global/content/1")).await;
        assert_eq!(rule.status(), StatusCode::OK, "a small response");
        assert_eq!(get(bob.token(), &pushrules("")).await.status(), StatusCode::OK);
        drop(unread);
        assert_eq!(get(alice.token(), &path).await.status(), StatusCode::OK, "{path}");
    }
}
