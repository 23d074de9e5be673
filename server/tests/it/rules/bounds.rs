//! How much is taken: rules, bytes, bodies.

use belfry::config::LimitMode;
use serde_json::json;

use super::{at, least};
use crate::support::Service;
use crate::support::service::config;

async fn bounded(max_rules: usize, max_bytes: usize, max_body_bytes: usize) -> Service {
    Service::with(config(|config| {
        config.limits.mode = LimitMode::Off;
        config.rules.max_rules = max_rules;
        config.rules.max_bytes = max_bytes;
        config.rules.max_body_bytes = max_body_bytes;
    }))
    .await
}

#[tokio::test]
async fn an_account_has_at_most_so_many_rules_in_all_scopes_together() {
    let service = bounded(3, 1 << 20, 1 << 16).await;
    let alice = service.person("alice").await;
    for path in ["global/room/a", "global/content/a", "device/phone/room/a"] {
        alice.puts(path, &json!({ "actions": [], "pattern": "x" })).await;
    }
    for path in ["global/room/b", "device/phone/sender/b", "device/new/room/b"] {
        let answer = alice.put(path, &least("room")).await;
        assert_eq!(answer.errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    // What is there can be replaced, changed and deleted, and then there is room.
    alice.puts("global/room/a", &json!({ "actions": ["notify"] })).await;
    alice.puts("global/override/.m.rule.master/enabled", &json!(true)).await;
    assert_eq!(alice.delete("device/phone/room/a").await.status, 200);
    alice.puts("global/room/b", &least("room")).await;
    assert_eq!(alice.own("global/room/").await, ["b", "a"]);
    // Others have rooms of their own.
    service.person("bob").await.puts("global/room/a", &least("room")).await;
}

#[tokio::test]
async fn the_default_is_a_thousand_rules() {
    let rules = belfry::config::Config::default().rules;
    assert_eq!((rules.max_rules, rules.max_body_bytes), (1000, 64 * 1024));
}

#[tokio::test]
async fn the_rules_of_an_account_take_at_most_so_many_bytes() {
    let service = bounded(1000, 2000, 1 << 16).await;
    let alice = service.person("alice").await;
    let big = json!({ "actions": [], "x": "x".repeat(800) });
    alice.puts("global/room/a", &big).await;
    alice.puts("device/phone/room/a", &json!({ "actions": [], "x": "x".repeat(500) })).await;
    let before = alice.get(&at("")).await.text;
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
        let answer = alice.put(path, body).await;
        assert_eq!(answer.errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    assert_eq!(alice.get(&at("")).await.text, before);
    alice.puts("global/room/a", &least("room")).await;
    alice.puts("global/room/b", &big).await;
}

#[tokio::test]
async fn of_many_changes_at_once_those_that_fit_are_kept() {
    let service = bounded(1000, 2000, 1 << 16).await;
    let alice = service.person("alice").await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..16 {
        let alice = alice.clone();
        let size = if number % 2 == 0 { 10 } else { 5000 };
        callers.spawn(async move {
            let body = json!({ "actions": [], "x": "x".repeat(size) });
            let answer = alice.put(&format!("global/room/r{number}"), &body).await;
            (number % 2 == 0, answer.status)
        });
    }
    for (fits, status) in callers.join_all().await {
        assert_eq!(status, if fits { 200 } else { 413 });
    }
    assert_eq!(alice.own("global/room/").await.len(), 8);
}

#[tokio::test]
async fn a_change_that_a_limit_refuses_changes_nothing() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    let before = alice.get(&at("")).await.text;
    for _ in 0..298 {
        assert_eq!(alice.get(&at("global/")).await.status, 200);
    }
    for (what, body) in [
        ("PUT global/room/b", least("room").to_string()),
        ("PUT global/room/a", json!({ "actions": [] }).to_string()),
        ("PUT global/room/a/enabled", "false".to_owned()),
        ("PUT global/room/a/actions", json!({ "actions": [] }).to_string()),
        ("PUT global/override/.m.rule.master/enabled", "true".to_owned()),
        ("DELETE global/room/a", String::new()),
    ] {
        let (method, path) = what.split_once(' ').unwrap();
        let answer = alice.call(&format!("{method} {}", at(path)), body).await;
        assert_eq!(answer.errcode(), (429, "M_LIMIT_EXCEEDED".into()), "{what}");
        assert!(answer.json()["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{what}");
        assert_ne!(answer.header("retry-after"), "", "{what}");
    }
    service.clock.advance(300);
    assert_eq!(alice.get(&at("")).await.text, before);
}

/// Attack 140: a body is bounded whether its length is told or not.
#[tokio::test]
async fn a_body_has_at_most_so_many_bytes() {
    let service = bounded(1000, 1 << 20, 1000).await;
    let alice = service.person("alice").await;
    let body = |size: usize| format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(size - 21));
    for path in ["global/room/a", "global/room/a/enabled", "global/room/a/actions"] {
        let put = format!("PUT {}", at(path));
        let told = alice.with("content-length", "1001").call(&put, "").await;
        assert_eq!(told.errcode(), (413, "M_TOO_LARGE".into()), "{path}");
        let untold = alice.call(&put, body(1001)).await;
        assert_eq!(untold.errcode(), (413, "M_TOO_LARGE".into()), "{path}");
    }
    let fits = alice.call(&format!("PUT {}", at("global/room/a")), body(1000)).await;
    assert_eq!(fits.status, 200, "{fits:?}");
}
