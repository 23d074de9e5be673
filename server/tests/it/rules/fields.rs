//! Fields of a rule: which are returned, stored or rejected.

use axum::http::StatusCode;
use belfry_core::percent;
use serde_json::json;

use super::{KINDS, pushrules_path, start_unlimited};

#[tokio::test]
async fn extra_fields_and_unknown_condition_kinds_are_stored() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (rule, body) in [
        ("content/c1", json!({ "actions": ["notify"], "pattern": "a", "patterns": ["b"] })),
        ("content/c2", json!({ "actions": [], "pattern": "a", "pattern2": "b", "action": 1 })),
        ("override/o1", json!({ "actions": [], "condition": [], "conditions": [] })),
        ("override/o2", json!({ "actions": [], "conditions": [{ "kind": "event_mach" }] })),
        ("room/!a:b", json!({ "actions": [], "untill": 1 })),
    ] {
        alice.put_rule_ok(&format!("global/{rule}?Before=x"), &body).await;
        let stored_rule = alice.get_rules(&format!("global/{rule}")).await;
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(&stored_rule[field], value, "{rule}");
        }
    }
}

#[tokio::test]
async fn unknown_fields_are_stored_and_reserved_fields_are_ignored() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let extra_value = json!({ "list": [1, null], "text": "\u{0}\u{1F514}", "number": -0.5 });
    let body = json!({
        "actions": [], "org.example": extra_value,
        "rule_id": "b", "default": true, "enabled": false,
    });
    alice.put_rule_ok("global/room/a", &body).await;
    let expected = json!({
        "rule_id": "a", "default": false, "enabled": true,
        "actions": [], "org.example": extra_value,
    });
    assert_eq!(alice.get_rules("global/room/a").await, expected);
    assert_eq!(alice.get(&pushrules_path("global/room/b")).await.status, 404);
    // A replacement does not inherit fields.
    alice.put_rule_ok("global/room/a", &json!({ "actions": [] })).await;
    assert_eq!(alice.get_rules("global/room/a").await.get("org.example"), None);
}

/// The tests of core have every form of an action and a condition, and every invalid one.
#[tokio::test]
async fn a_rule_can_be_sent_back_as_it_was_returned() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let body = json!({
        "actions": ["notify", "coalesce", { "set_tweak": "org.x", "value": "red", "blink": [3] }],
        "conditions": [
            { "kind": "event_property_is", "key": "a.b", "value": null },
            { "kind": "time_and_day", "timezone": "Europe/Berlin", "intervals": [{}] },
            { "kind": "device", "profile_tag": "unknown kinds are stored" },
        ],
        "pattern": "торт*",
        "x": [1.5],
    });
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        alice.put_rule_ok(&path, &body).await;
        let rule = alice.get_rules(&path).await;
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(&rule[field], value, "{kind}");
        }
        alice.put_rule_ok(&path, &rule).await;
        assert_eq!(alice.get_rules(&path).await, rule, "{kind}");
    }
}

#[tokio::test]
async fn an_invalid_field_is_rejected_with_its_name() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let night = json!({ "time_of_day": ["22:00", "06:59"] });
    let quiet_hours = json!([{ "kind": "time_and_day", "intervals": [{}, night] }]);
    for (path, body, errcode, error) in [
        ("content/a", json!({ "pattern": "x" }), "M_MISSING_PARAM", "actions is missing"),
        ("content/a", json!({ "actions": [] }), "M_MISSING_PARAM", "pattern is missing"),
        ("room/a", json!({ "actions": null }), "M_BAD_JSON", "actions must be an array"),
        ("room/a", json!({ "actions": ["Ring"] }), "M_INVALID_PARAM", "actions[0] must be notify,"),
        (
            "override/a",
            json!({ "actions": [], "conditions": [{ "kind": "event_match", "key": "a" }] }),
            "M_MISSING_PARAM",
            "conditions[0].pattern is missing",
        ),
        (
            "override/a",
            json!({ "actions": [], "conditions": quiet_hours }),
            "M_INVALID_PARAM",
            "conditions[0].intervals[1].time_of_day must not start after its end; use two",
        ),
    ] {
        let path = format!("global/{path}");
        let response = alice.put_rule(&path, &body).await.expect_json(StatusCode::BAD_REQUEST);
        assert_eq!(response["errcode"], errcode, "{body}");
        assert!(response["error"].as_str().unwrap().starts_with(error), "{response}");
        assert_eq!(alice.get(&pushrules_path(&path)).await.status, 404, "{body}");
    }
}

/// Injection attempts are stored and returned as text.
#[tokio::test]
async fn ids_and_texts_are_returned_exactly_as_they_were_sent() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for text in [
        "!room:x.org",
        "тест 🔔 a b+c 50%",
        "'; drop table rulesets; --",
        "<script>alert(1)",
        "\u{1b}[31mred\r\nSet-Cookie: a=b",
        "\u{202e}txt.exe{{7*7}}",
    ] {
        let path = format!("global/content/{}", percent::encode(text));
        alice.put_rule_ok(&path, &json!({ "actions": [], "pattern": text, "x": text })).await;
        let rule = alice.get_rules(&path).await;
        assert_eq!([&rule["rule_id"], &rule["pattern"], &rule["x"]], [text; 3]);
        alice.put_rule_ok(&format!("{path}/enabled"), &json!(false)).await;
        assert_eq!(alice.delete_rule(&path).await.expect_json(StatusCode::OK), json!({}), "{text}");
    }
}
