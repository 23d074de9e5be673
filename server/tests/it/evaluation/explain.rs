//! `POST …/pushrules/explain`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{EXPLAIN, message_event, silent_rule, start_with_application_service};
use crate::rules::start_unlimited;

fn walk_step(explanation: &Value, rule: &str) -> Value {
    let walk = explanation["walk"].as_array().unwrap();
    walk.iter().find(|step| step["rule_id"] == rule).cloned().unwrap_or_default()
}

#[tokio::test]
async fn the_walk_lists_the_outcome_of_each_rule_tried() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let loud_rule =
        json!({ "actions": ["notify", { "set_tweak": "highlight" }], "pattern": "cake" });
    alice.put_rule_ok("global/content/cake", &loud_rule).await;
    alice.put_rule_ok("global/content/pie", &silent_rule("pie")).await;
    alice.put_rule_ok("global/content/off", &silent_rule("cake")).await;
    alice.put_rule_ok("global/content/off/enabled", &json!(false)).await;

    let explanation = alice.explain(&json!({ "event": message_event("There is cake!") })).await;

    assert_eq!(explanation["notify"], true);
    let rule = json!({ "scope": "global", "kind": "content", "rule_id": "cake" });
    assert_eq!(explanation["rule"], rule);
    assert_eq!(explanation["actions"], json!(["notify", { "set_tweak": "highlight" }]));
    assert_eq!(explanation["tweaks"], json!({ "highlight": true }));
    let disabled_step = json!(
        { "scope": "global", "kind": "content", "rule_id": "off", "outcome": "disabled" }
    );
    assert_eq!(walk_step(&explanation, "off"), disabled_step);
    let failed_step = json!({
        "scope": "global", "kind": "content", "rule_id": "pie", "outcome": "failed",
        "condition": { "kind": "event_match", "key": "content.body", "pattern": "pie" },
        "found": "There is cake!",
    });
    assert_eq!(walk_step(&explanation, "pie"), failed_step);
    assert_eq!(walk_step(&explanation, "cake")["outcome"], "won");
    assert_eq!(explanation["walk"].as_array().unwrap().last().unwrap()["rule_id"], "cake");
}

#[tokio::test]
async fn explain_accepts_only_post() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let body = json!({ "event": message_event("cake") });
    for prefix in ["/_service/client/api/v1", "/_service/client/r0", "/_matrix/client/v3"] {
        let path = format!("{prefix}/pushrules/explain");
        let response = alice.send_json(&format!("POST {path}"), &body).await;
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), "*");
        assert_eq!(response.header("cache-control"), "private, no-store");
        let response = alice.get(&path).await;
        assert_eq!(response.status_and_errcode(), (405, "M_UNRECOGNIZED".into()), "{path}");
    }
}

#[tokio::test]
async fn a_token_with_a_sufficient_scope_is_required() {
    let service = start_unlimited().await;
    let body = json!({ "event": message_event("cake") });
    for (scopes, status) in [("read:notifications", 200), ("push", 200), ("write", 403)] {
        let client = service.user_client_with_scopes("alice", scopes).await;
        assert_eq!(client.send_json(EXPLAIN, &body).await.status, status, "{scopes}");
    }
    let response = service.anonymous_client().send_json(EXPLAIN, &body).await;
    assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()));
    let response = service.anonymous_client().with_token("made up").send_json(EXPLAIN, &body).await;
    assert_eq!(response.status_and_errcode(), (401, "M_UNKNOWN_TOKEN".into()));
}

#[tokio::test]
async fn an_application_service_explains_the_rules_of_its_users() {
    let (service, application_service) = start_with_application_service().await;
    let body = json!({ "event": message_event("cake") });
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/content/cake", &silent_rule("cake")).await;
    let as_alice = format!("{EXPLAIN}?user_id=@alice:ring.example");
    let explanation =
        application_service.send_json(&as_alice, &body).await.expect_json(StatusCode::OK);
    assert_eq!(explanation["rule"]["rule_id"], "cake");
    let as_nobody = format!("{EXPLAIN}?user_id=@nobody:ring.example");
    assert_eq!(
        application_service.send_json(&as_nobody, &body).await.status_and_errcode(),
        (403, "M_FORBIDDEN".into())
    );
}

#[tokio::test]
async fn an_invalid_body_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (body, errcode) in [
        ("", "M_NOT_JSON"),
        ("[]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        (r#"{"event":"cake"}"#, "M_BAD_JSON"),
        (r#"{"event":{},"room":{"member_count":1.5}}"#, "M_BAD_JSON"),
        (r#"{"event":{},"profile_tag":"a/b"}"#, "M_INVALID_PARAM"),
    ] {
        let response = alice.send(EXPLAIN, body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.to_owned()), "{body}");
    }
}

#[tokio::test]
async fn a_large_event_is_accepted_and_its_values_are_truncated_in_the_walk() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for pattern in ["pie", "tea", "milk"] {
        alice.put_rule_ok(&format!("global/content/{pattern}"), &silent_rule(pattern)).await;
    }
    let body = "cake ".repeat(13_000);
    let response = alice.send_json(EXPLAIN, &json!({ "event": message_event(&body) })).await;
    assert_eq!(response.status, 200);
    assert!(response.text.len() < 16 * 1024, "{}", response.text.len());
    let excerpt = walk_step(&response.json(), "pie")["found"].clone();
    assert_eq!(excerpt, format!("{}…", "cake ".repeat(20)));
}

#[tokio::test]
async fn an_event_that_is_too_large_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let response =
        alice.send_json(EXPLAIN, &json!({ "event": message_event(&"x".repeat(300_000)) })).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
}
