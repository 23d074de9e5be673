//! Snapshots of responses with rulesets and single rules.

use serde_json::json;

use super::{Cases, Exchange, assert_snapshot};
use crate::rules::pushrules_path;
use crate::support::{Service, TestClient};

/// Adds a rule of each kind to the global scope, and one for a device profile.
async fn add_rules(client: &TestClient) {
    let sound = json!({ "set_tweak": "sound", "value": "default" });
    let highlight = json!({ "set_tweak": "highlight" });
    let topic = json!({ "kind": "event_match", "key": "content.topic", "pattern": "cake*" });
    let small_room = json!({ "kind": "room_member_count", "is": "<5" });
    let display_name = json!({ "kind": "contains_display_name" });
    for (path, body) in [
        ("global/override/topic", json!({ "actions": ["notify", sound], "conditions": [topic] })),
        ("global/content/cake", json!({ "actions": ["notify", highlight], "pattern": "cake" })),
        ("global/room/!quiet:example.org", json!({ "actions": ["dont_notify"] })),
        ("global/sender/@bob:example.org", json!({ "actions": ["coalesce", "set_tweak"] })),
        (
            "global/underride/small",
            json!({ "actions": [], "conditions": [small_room, display_name] }),
        ),
        ("global/underride/all", json!({ "actions": ["notify"], "note": "an extra key" })),
        ("global/underride/all/enabled", json!(false)),
        ("global/underride/.m.rule.message/enabled", json!(false)),
        ("global/underride/.m.rule.message/actions", json!({ "actions": [] })),
        ("device/phone/content/pie", json!({ "actions": ["notify"], "pattern": "pie" })),
    ] {
        client.put_rule_ok(path, &body).await;
    }
}

async fn get_rules(client: &TestClient, path: &str) -> Exchange {
    client.exchange(&format!("GET {}", pushrules_path(path)), "").await
}

#[tokio::test]
async fn rulesets_of_a_new_user_match_their_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    get_rules(&alice, "").await.assert_snapshot("rulesets_of_a_new_user");
}

#[tokio::test]
async fn rulesets_with_a_rule_of_each_kind_and_a_device_match_their_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    get_rules(&alice, "").await.assert_snapshot("rulesets_with_user_rules");
}

#[tokio::test]
async fn single_scopes_and_rules_match_their_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    let mut cases = Cases(Vec::new());
    for (case, path) in [
        ("all device scopes", "device/"),
        ("a device scope", "device/phone/"),
        ("an unknown device scope", "device/tablet/"),
        ("a kind", "global/room/"),
        ("an override rule", "global/override/topic"),
        ("a content rule", "global/content/cake"),
        ("a room rule", "global/room/!quiet:example.org"),
        ("a sender rule", "global/sender/@bob:example.org"),
        ("an underride rule", "global/underride/small"),
        ("a built-in rule", "global/override/.m.rule.master"),
        ("a rule of a device", "device/phone/content/pie"),
        ("the state of a rule", "global/underride/all/enabled"),
        ("the actions of a rule", "global/content/cake/actions"),
    ] {
        cases.add(case, get_rules(&alice, path).await);
    }
    assert_snapshot("rules", &cases);
}

#[tokio::test]
async fn an_export_matches_its_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    get_rules(&alice, "export").await.assert_snapshot("rulesets_export");
}

#[tokio::test]
async fn responses_to_writes_match_their_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let mut cases = Cases(Vec::new());
    for (case, request, body) in [
        ("create a rule", "PUT global/room/a", r#"{"actions":["notify"]}"#),
        ("replace a rule", "PUT global/room/a", r#"{"actions":[]}"#),
        ("disable a rule", "PUT global/room/a/enabled", "false"),
        ("change its actions", "PUT global/room/a/actions", r#"{"actions":["notify"]}"#),
        ("delete a rule", "DELETE global/room/a", ""),
        ("import rules", "POST import", r#"{"global":{"room":[{"rule_id":"a","actions":[]}]}}"#),
        ("an invalid import", "POST import", r#"{"global":{"room":[{"rule_id":"a"}]}}"#),
        ("reset all rules", "POST reset", "{}"),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let request = format!("{method} {}", pushrules_path(path));
        cases.add(case, alice.exchange(&request, body).await);
    }
    assert_snapshot("rule_writes", &cases);
}
