//! Device scope: rules for the devices with one profile tag.

use axum::http::StatusCode;
use serde_json::json;

use super::{minimal_rule, start_unlimited};

#[tokio::test]
async fn an_unknown_tag_has_five_empty_arrays_and_is_not_listed() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let empty_ruleset =
        json!({ "override": [], "content": [], "room": [], "sender": [], "underride": [] });
    assert_eq!(alice.get_rules("device/phone/").await, empty_ruleset);
    assert_eq!(alice.get_rules("device/phone/room/").await, json!([]));
    assert_eq!(alice.get_rules("device/").await, json!({}));
    assert_eq!(alice.get_rules("").await["device"], json!({}));
}

#[tokio::test]
async fn a_tag_is_listed_while_it_has_a_rule() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/r", &minimal_rule("room")).await;
    alice.put_rule_ok("device%2Ftablet/room/r", &minimal_rule("room")).await;
    for tag in ["phone", "тег", "a%20b"] {
        alice.put_rule_ok(&format!("device/{tag}/room/r"), &minimal_rule("room")).await;
    }
    let rulesets = alice.get_rules("").await;
    let tags: Vec<&String> = rulesets["device"].as_object().unwrap().keys().collect();
    assert_eq!(tags, ["a b", "phone", "tablet", "тег"]);
    assert_eq!(alice.get_rules("device/").await, rulesets["device"]);

    alice.delete_rule("device/phone/room/r").await.expect_json(StatusCode::OK);
    assert_eq!(alice.get_rules("").await["device"].get("phone"), None);
    assert_eq!(alice.get_rules("device/").await.as_object().unwrap().len(), 3);
    assert_eq!(alice.user_rule_ids("global/room/").await, ["r"]);
}

#[tokio::test]
async fn an_invalid_tag_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let long_tag = "a".repeat(256);
    for tag in ["", "a%2Fb", "a%5Cb", "%00", "%ff", "%", &long_tag] {
        let response = alice.put_rule(&format!("device/{tag}/room/r"), &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{tag}");
    }
    assert_eq!(alice.get_rules("").await["device"], json!({}));
}
