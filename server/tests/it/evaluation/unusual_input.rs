//! Unusual events and rules do not cause a panic.

use serde_json::{Value, json};

use super::{EVALUATE, EXPLAIN, members, silent_rule, start_with_application_service, user_id};

fn nested_event(depth: usize) -> Value {
    (0..depth).fold(json!("cake"), |inner, _| json!({ "content": inner }))
}

#[tokio::test]
async fn every_event_is_evaluated_or_rejected() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/content/stars", &silent_rule(&"*a".repeat(200))).await;
    alice.put_rule_ok("global/content/marks", &silent_rule(&"?".repeat(1000))).await;
    alice.put_rule_ok("global/content/empty", &silent_rule("")).await;
    for (id, condition) in [
        ("dots", json!({ "kind": "event_match", "key": "....\\", "pattern": "\\" })),
        ("list", json!({ "kind": "event_property_contains", "key": "content.l", "value": null })),
        ("count", json!({ "kind": "room_member_count", "is": "99999999999999999999999" })),
        ("level", json!({ "kind": "sender_notification_permission", "key": "" })),
    ] {
        let rule = json!({ "actions": [], "conditions": [condition] });
        alice.put_rule_ok(&format!("global/override/{id}"), &rule).await;
    }
    let events = [
        json!({}),
        json!({ "": "" }),
        json!({ "content": null, "sender": {}, "type": [] }),
        json!({ "content": { "body": "a".repeat(60_000) } }),
        json!({ "content": { "body": "\u{0}\u{feff}\u{202e}ﬀİßẞ\u{10ffff}" } }),
        json!({ "content": { "body": "👩‍👩‍👧".repeat(2000), "m.mentions": [] } }),
        json!({ "content": { "l": [null, [null], {}, 1.5, -0.0, u64::MAX, i64::MIN] } }),
        json!({ "content.body": "a", "content": { "body": { "body": "a" } } }),
        json!({ "sender": user_id("alice"), "user_id": 5 }),
        json!({ "type": "m.room.member", "state_key": "*", "content": { "membership": "?" } }),
        nested_event(90),
        nested_event(120),
    ];
    for event in &events {
        for room in [
            json!({}),
            json!({ "member_count": u64::MAX, "display_name": "" }),
            json!({ "member_count": 0, "display_name": "*\u{0}?" }),
            json!({ "power_levels": { "users_default": i64::MIN, "notifications": { "": " 5 " } } }),
        ] {
            let mut body = json!({ "event": event, "room": room });
            let response = alice.send_json(EXPLAIN, &body).await;
            assert!(matches!(response.status, 200 | 400), "{response:?}");
            body["members"] = members(&["alice"]);
            body["members"][0]["display_name"] = json!("*\u{0}a");
            let response = application_service.send_json(EVALUATE, &body).await;
            assert!(matches!(response.status, 200 | 400), "{response:?}");
        }
    }
    assert!(service.metrics().await.contains("belfry_panics_total 0"));
}
