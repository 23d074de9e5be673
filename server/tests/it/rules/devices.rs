//! Device scope: rules for the devices with one profile tag.

use axum::http::StatusCode;
use serde_json::json;

use super::{KINDS, minimal_rule, pushrules_path, start_unlimited};

#[tokio::test]
async fn a_device_has_rules_of_every_kind_but_no_built_in_rules() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for kind in KINDS {
        let path = format!("device/phone/{kind}/a");
        alice.put_rule_ok(&path, &minimal_rule(kind)).await;
        assert_eq!(alice.get_rules(&path).await["rule_id"], "a", "{kind}");
        alice.put_rule_ok(&format!("{path}/enabled"), &json!(false)).await;
        alice.put_rule_ok(&format!("{path}/actions"), &json!({ "actions": [] })).await;
        let rule = alice.get_rules(&path).await;
        assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(false), &json!([])), "{kind}");
        let rules = alice.get_rules(&format!("device/phone/{kind}/")).await;
        assert_eq!(rules.as_array().unwrap().len(), 1, "{kind}");
        alice.put_rule_ok(&format!("device/phone/{kind}/b?after=a"), &minimal_rule(kind)).await;
        assert_eq!(
            alice.user_rule_ids(&format!("device/phone/{kind}/")).await,
            ["a", "b"],
            "{kind}"
        );
        assert_eq!(
            alice.get(&pushrules_path(&format!("global/{kind}/a"))).await.status,
            404,
            "{kind}"
        );
    }
}

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
    for tag in ["phone", "tablet", "тег", "a%20b"] {
        alice.put_rule_ok(&format!("device/{tag}/room/r"), &minimal_rule("room")).await;
    }
    let rulesets = alice.get_rules("").await;
    let tags: Vec<&String> = rulesets["device"].as_object().unwrap().keys().collect();
    assert_eq!(tags, ["a b", "phone", "tablet", "тег"]);
    assert_eq!(alice.get_rules("device/").await, rulesets["device"]);

    alice.delete_rule("device/phone/room/r").await.expect_json(StatusCode::OK);
    assert_eq!(alice.get_rules("").await["device"].get("phone"), None);
    assert_eq!(alice.get_rules("device/").await.as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn rules_with_the_same_id_in_different_scopes_are_separate() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for scope in ["global", "device/a", "device/b"] {
        alice.put_rule_ok(&format!("{scope}/room/r"), &minimal_rule("room")).await;
    }
    alice.delete_rule("device/a/room/r").await.expect_json(StatusCode::OK);
    assert_eq!(alice.get_rules("global/room/r").await["rule_id"], "r");
    assert_eq!(alice.get_rules("device/b/room/r").await["rule_id"], "r");
}

#[tokio::test]
async fn the_slash_in_a_device_scope_may_be_escaped() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("device%2Fphone/room/r", &minimal_rule("room")).await;
    assert_eq!(alice.get_rules("device/phone/room/r").await["rule_id"], "r");
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
