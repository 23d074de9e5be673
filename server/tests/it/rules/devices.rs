//! The device scope: rules for the devices of one profile tag.

use axum::http::StatusCode;
use serde_json::json;

use super::{KINDS, at, least, service};

#[tokio::test]
async fn a_device_has_rules_of_every_kind_and_no_built_in_ones() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in KINDS {
        let path = format!("device/phone/{kind}/a");
        alice.puts(&path, &least(kind)).await;
        assert_eq!(alice.shown(&path).await["rule_id"], "a", "{kind}");
        alice.puts(&format!("{path}/enabled"), &json!(false)).await;
        alice.puts(&format!("{path}/actions"), &json!({ "actions": [] })).await;
        let rule = alice.shown(&path).await;
        assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(false), &json!([])), "{kind}");
        let rules = alice.shown(&format!("device/phone/{kind}/")).await;
        assert_eq!(rules.as_array().unwrap().len(), 1, "{kind}");
        alice.puts(&format!("device/phone/{kind}/b?after=a"), &least(kind)).await;
        assert_eq!(alice.own(&format!("device/phone/{kind}/")).await, ["a", "b"], "{kind}");
        assert_eq!(alice.get(&at(&format!("global/{kind}/a"))).await.status, 404, "{kind}");
    }
}

#[tokio::test]
async fn an_unknown_tag_has_five_empty_arrays_and_is_listed_nowhere() {
    let service = service().await;
    let alice = service.person("alice").await;
    let empty = json!({ "override": [], "content": [], "room": [], "sender": [], "underride": [] });
    assert_eq!(alice.shown("device/phone/").await, empty);
    assert_eq!(alice.shown("device/phone/room/").await, json!([]));
    assert_eq!(alice.shown("device/").await, json!({}));
    assert_eq!(alice.shown("").await["device"], json!({}));
}

#[tokio::test]
async fn a_tag_is_listed_while_it_has_a_rule() {
    let service = service().await;
    let alice = service.person("alice").await;
    for tag in ["phone", "tablet", "тег", "a%20b"] {
        alice.puts(&format!("device/{tag}/room/r"), &least("room")).await;
    }
    let all = alice.shown("").await;
    let tags: Vec<&String> = all["device"].as_object().unwrap().keys().collect();
    assert_eq!(tags, ["a b", "phone", "tablet", "тег"]);
    assert_eq!(alice.shown("device/").await, all["device"]);

    alice.delete("device/phone/room/r").await.expect(StatusCode::OK);
    assert_eq!(alice.shown("").await["device"].get("phone"), None);
    assert_eq!(alice.shown("device/").await.as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn the_same_id_in_two_scopes_is_two_rules() {
    let service = service().await;
    let alice = service.person("alice").await;
    for scope in ["global", "device/a", "device/b"] {
        alice.puts(&format!("{scope}/room/r"), &least("room")).await;
    }
    alice.delete("device/a/room/r").await.expect(StatusCode::OK);
    assert_eq!(alice.shown("global/room/r").await["rule_id"], "r");
    assert_eq!(alice.shown("device/b/room/r").await["rule_id"], "r");
}

#[tokio::test]
async fn a_scope_may_be_written_with_its_slash_escaped() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("device%2Fphone/room/r", &least("room")).await;
    assert_eq!(alice.shown("device/phone/room/r").await["rule_id"], "r");
}

#[tokio::test]
async fn a_tag_that_nobody_can_have_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    let long = "a".repeat(256);
    for tag in ["", "a%2Fb", "a%5Cb", "%00", "%ff", "%", &long] {
        let answer = alice.put(&format!("device/{tag}/room/r"), &least("room")).await;
        assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()), "{tag}");
    }
    assert_eq!(alice.shown("").await["device"], json!({}));
}
