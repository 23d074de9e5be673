//! Limits on the number and size of imported rules, and on bodies.

use axum::body::Body;
use bytes::Bytes;
use serde_json::{Value, json};

use super::add_rules;
use crate::rules::{pushrules_path, start_unlimited};
use crate::support::service::config_with;

#[tokio::test]
async fn a_rule_that_was_accepted_is_exported_and_imported() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    // A body of the maximum size; the export adds the id and two more members.
    let rule_with_size = |bytes: usize| {
        let base_bytes = json!({ "actions": [], "x": "" }).to_string().len();
        json!({ "actions": [], "x": "x".repeat(bytes - base_bytes) })
    };
    let largest_path = format!("global/room/{}", "i".repeat(255));
    alice.put_rule_ok(&largest_path, &rule_with_size(64 * 1024)).await;

    let growing_path = "global/room/a";
    alice.put_rule_ok(growing_path, &rule_with_size(60 * 1024)).await;
    let actions = |count: usize| json!({ "actions": vec!["notify"; count] });
    let response = alice.put_rule(&format!("{growing_path}/actions"), &actions(1000)).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    alice.put_rule_ok(&format!("{growing_path}/actions"), &actions(10)).await;

    bob.import(&alice.get_rules("export").await).await;
    assert_eq!(bob.export().await, alice.export().await);
}

#[tokio::test]
async fn a_thousand_rules_are_exported_and_imported() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    let rules = |count: usize| -> Vec<Value> {
        let rule = |number| {
            json!({ "rule_id": format!("r{number}"), "default": false, "enabled": number % 3 == 0,
                "actions": ["notify"], "pattern": "p", "x": "x".repeat(700) })
        };
        (0..count).map(rule).collect()
    };
    let import_body = |count: usize| json!({ "global": { "content": rules(count) } });
    assert!(import_body(1000).to_string().len() > 750_000);
    alice.import(&import_body(1000)).await;
    let export = alice.get_rules("export").await;
    assert_eq!(export["global"]["content"], json!(rules(1000)));
    bob.import(&export).await;
    assert_eq!(bob.export().await, alice.export().await);

    let rules_before = bob.get(&pushrules_path("")).await.text;
    let response = bob.post_rules("import", &import_body(1001)).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    // More than 1 MiB of rules. No single rule is too large.
    let mut oversized_import = import_body(1000);
    for rule in oversized_import["global"]["content"].as_array_mut().unwrap() {
        rule["x"] = json!("x".repeat(1000));
    }
    let response = bob.post_rules("import", &oversized_import).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    assert_eq!(
        response.json()["error"],
        "the rules of an account must not be larger than 1048576 bytes; \
        delete some, or shorten them"
    );
    // A body above the maximum size.
    let spaces = " ".repeat((2 << 20) + (64 << 10));
    let request = format!("POST {}", pushrules_path("import"));
    let response = bob.send(&request, format!("{spaces}{{\"global\":{{}}}}")).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    assert_eq!(bob.get(&pushrules_path("")).await.text, rules_before);
}

/// A lowered limit must not prevent users from importing their own exports.
#[tokio::test]
async fn an_account_above_a_limit_may_import_as_many_rules_as_it_has() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    drop(alice);
    let lowered_limits = config_with(|config| {
        config.limits.mode = belfry::config::RateLimitMode::Off;
        config.rules.max_rules = 3;
        config.rules.max_bytes = 100;
    });
    let service = service.restart(lowered_limits).await;
    let alice = service.user_client("alice").await;
    let export = alice.get_rules("export").await;
    alice.import(&export).await;
    assert_eq!(alice.export().await["global"], export["global"]);
    let mut larger_import = export.clone();
    larger_import["device"]["new"] = json!({ "room": [{ "rule_id": "a", "actions": [] }] });
    assert_eq!(
        alice.post_rules("import", &larger_import).await.status_and_errcode(),
        (413, "M_TOO_LARGE".into())
    );
}

/// An account cannot occupy memory with many bodies that arrive slowly.
#[tokio::test]
async fn an_account_can_send_one_large_body_at_a_time() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let (poll_sender, poll_receiver) = tokio::sync::oneshot::channel::<()>();
    let channels = (receiver, Some(poll_sender));
    let stream = futures_util::stream::unfold(channels, async |(mut receiver, poll_sender)| {
        if let Some(poll_sender) = poll_sender {
            let _ = poll_sender.send(());
        }
        receiver.recv().await.map(|chunk| (chunk, (receiver, None)))
    });
    let request = format!("POST {}", pushrules_path("import"));
    let slow_import = {
        let alice = alice.clone();
        let request = request.clone();
        tokio::spawn(async move { alice.send(&request, Body::from_stream(stream)).await })
    };
    poll_receiver.await.unwrap();
    let large_import = json!({ "global": { "room": [
        { "rule_id": "a", "actions": [], "x": "x".repeat(60_000) },
        { "rule_id": "b", "actions": [], "x": "x".repeat(60_000) },
    ] } });
    let response = alice.post_rules("import", &large_import).await;
    assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert_eq!(response.header("retry-after"), "1");
    bob.import(&large_import).await;
    sender.send(Ok(Bytes::from_static(b"{\"global\":"))).await.unwrap();
    sender.send(Ok(Bytes::from_static(b"{}}"))).await.unwrap();
    drop(sender);
    assert_eq!(slow_import.await.unwrap().status, 200);
    alice.import(&large_import).await;
}
