//! Fields of a rule: which are returned, stored or rejected.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{KINDS, minimal_rule, pushrules_path, start_unlimited};

#[tokio::test]
async fn a_rule_has_the_fields_of_its_kind() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (kind, expected_fields) in [
        ("override", &["actions", "conditions", "default", "enabled", "rule_id"][..]),
        ("underride", &["actions", "conditions", "default", "enabled", "rule_id"]),
        ("content", &["actions", "default", "enabled", "pattern", "rule_id"]),
        ("room", &["actions", "default", "enabled", "rule_id"]),
        ("sender", &["actions", "default", "enabled", "rule_id"]),
    ] {
        alice.put_rule_ok(&format!("global/{kind}/a"), &minimal_rule(kind)).await;
        let rule = alice.get_rules(&format!("global/{kind}/a")).await;
        let mut field_names: Vec<&String> = rule.as_object().unwrap().keys().collect();
        field_names.sort();
        assert_eq!(field_names, expected_fields, "{kind}");
    }
}

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
async fn actions_are_required_and_may_be_empty() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        let response = alice.put_rule(&path, &json!({ "pattern": "x", "conditions": [] })).await;
        assert_eq!(response.status_and_errcode(), (400, "M_MISSING_PARAM".into()), "{kind}");
        for wrong_value in [json!("notify"), json!(null), json!({}), json!(1)] {
            let response =
                alice.put_rule(&path, &json!({ "pattern": "x", "actions": wrong_value })).await;
            assert_eq!(
                response.status_and_errcode(),
                (400, "M_BAD_JSON".into()),
                "{kind} {wrong_value}"
            );
        }
        alice.put_rule_ok(&path, &json!({ "pattern": "x", "actions": [] })).await;
        assert_eq!(alice.get_rules(&path).await["actions"], json!([]), "{kind}");
    }
}

#[tokio::test]
async fn every_form_of_an_action_is_returned_unchanged() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for action in [
        json!("notify"),
        json!("dont_notify"),
        json!("coalesce"),
        json!("set_tweak"),
        json!({ "set_tweak": "sound", "value": "default" }),
        json!({ "set_tweak": "highlight" }),
        json!({ "set_tweak": "highlight", "value": false }),
        json!({ "set_tweak": "org.example.light", "value": "red", "blink": { "times": 3 } }),
    ] {
        let actions = json!([action, "notify", action]);
        alice.put_rule_ok("global/room/a", &json!({ "actions": actions })).await;
        assert_eq!(alice.get_rules("global/room/a").await["actions"], actions);
    }
}

#[tokio::test]
async fn unknown_and_malformed_actions_are_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (action, errcode) in [
        (json!("ring"), "M_INVALID_PARAM"),
        (json!("Notify"), "M_INVALID_PARAM"),
        (json!(""), "M_INVALID_PARAM"),
        (json!(1), "M_BAD_JSON"),
        (json!(null), "M_BAD_JSON"),
        (json!(["notify"]), "M_BAD_JSON"),
        (json!({}), "M_MISSING_PARAM"),
        (json!({ "set_sound": "x" }), "M_MISSING_PARAM"),
        (json!({ "set_tweak": 1 }), "M_BAD_JSON"),
        (json!({ "set_tweak": "sound", "value": 1 }), "M_BAD_JSON"),
        (json!({ "set_tweak": "sound", "value": null }), "M_BAD_JSON"),
    ] {
        let response =
            alice.put_rule("global/room/a", &json!({ "actions": ["notify", action] })).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{action}");
    }
    assert_eq!(alice.get(&pushrules_path("global/room/a")).await.status, 404);
}

#[tokio::test]
async fn every_form_of_a_condition_is_returned_unchanged() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let conditions = json!([
        { "kind": "event_match", "key": "content.body", "pattern": "cake*" },
        { "kind": "contains_display_name" },
        { "kind": "room_member_count", "is": "2" },
        { "kind": "room_member_count", "is": ">=10" },
        { "kind": "sender_notification_permission", "key": "room" },
        { "kind": "event_property_is", "key": "a.b", "value": null },
        { "kind": "event_property_contains", "key": "a.b", "value": 7 },
        { "kind": "time_and_day", "intervals": [{}], "org.example": 1 },
        {
            "kind": "org.matrix.msc3767.time_and_day", "timezone": "Europe/Berlin",
            "intervals": [{ "time_of_day": ["00:00", "08:00"], "day_of_week": [0, 1, 7] }],
        },
        { "kind": "device", "profile_tag": "unknown kinds are stored" },
        { "kind": "contains_display_name", "org.example": [1.5, { "deep": true }] },
    ]);
    for kind in KINDS {
        let mut body = minimal_rule(kind);
        body["conditions"] = conditions.clone();
        alice.put_rule_ok(&format!("global/{kind}/a"), &body).await;
        assert_eq!(alice.get_rules(&format!("global/{kind}/a")).await["conditions"], conditions);
    }
}

#[tokio::test]
async fn conditions_default_to_an_empty_array() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for kind in ["override", "underride"] {
        for body in [json!({ "actions": [] }), json!({ "actions": [], "conditions": [] })] {
            alice.put_rule_ok(&format!("global/{kind}/a"), &body).await;
            assert_eq!(alice.get_rules(&format!("global/{kind}/a")).await["conditions"], json!([]));
        }
    }
}

#[tokio::test]
async fn a_malformed_condition_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (conditions, errcode) in [
        (json!("contains_display_name"), "M_BAD_JSON"),
        (json!(null), "M_BAD_JSON"),
        (json!(["contains_display_name"]), "M_BAD_JSON"),
        (json!([{}]), "M_MISSING_PARAM"),
        (json!([{ "kind": 1 }]), "M_BAD_JSON"),
        (json!([{ "kind": "event_match", "key": "a" }]), "M_MISSING_PARAM"),
        (json!([{ "kind": "event_match", "pattern": "a" }]), "M_MISSING_PARAM"),
        (json!([{ "kind": "event_match", "key": "a", "pattern": 1 }]), "M_BAD_JSON"),
        (json!([{ "kind": "room_member_count" }]), "M_MISSING_PARAM"),
        (json!([{ "kind": "room_member_count", "is": 2 }]), "M_BAD_JSON"),
        (json!([{ "kind": "room_member_count", "is": "=2" }]), "M_INVALID_PARAM"),
        (json!([{ "kind": "room_member_count", "is": "two" }]), "M_INVALID_PARAM"),
        (json!([{ "kind": "event_property_is", "key": "a", "value": 0.5 }]), "M_INVALID_PARAM"),
        (json!([{ "kind": "time_and_day" }]), "M_MISSING_PARAM"),
        (
            json!([{ "kind": "org.matrix.msc3767.time_and_day", "intervals": [] }]),
            "M_INVALID_PARAM",
        ),
    ] {
        let body = json!({ "actions": [], "conditions": conditions });
        let response = alice.put_rule("global/override/a", &body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{conditions}");
    }
    assert_eq!(alice.get(&pushrules_path("global/override/a")).await.status, 404);
}

#[tokio::test]
async fn an_invalid_time_condition_is_rejected_with_the_name_of_the_field() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let interval = json!({ "time_of_day": ["22:00", "06:59"] });
    for (condition, message) in [
        (
            json!({ "kind": "time_and_day", "timezone": "Europe/Atlantis", "intervals": [{}] }),
            "conditions[0].timezone must be the name of a time zone, such as Europe/Berlin",
        ),
        (
            json!({ "kind": "time_and_day", "intervals": [{}, interval] }),
            "conditions[0].intervals[1].time_of_day must not start after its end; use two intervals \
             for a time over midnight",
        ),
    ] {
        let body = json!({ "actions": [], "conditions": [condition] });
        let response = alice.put_rule("global/override/a", &body).await;
        let error = json!({ "errcode": "M_INVALID_PARAM", "error": message });
        assert_eq!(response.expect_json(StatusCode::BAD_REQUEST), error);
    }
    assert_eq!(alice.get(&pushrules_path("global/override/a")).await.status, 404);
}

#[tokio::test]
async fn a_content_rule_requires_a_pattern_and_other_kinds_store_one() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let response = alice.put_rule("global/content/a", &json!({ "actions": [] })).await;
    assert_eq!(response.status_and_errcode(), (400, "M_MISSING_PARAM".into()));
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        for pattern in ["cake*", "", "a.b?", "торт"] {
            alice.put_rule_ok(&path, &json!({ "actions": [], "pattern": pattern })).await;
            assert_eq!(alice.get_rules(&path).await["pattern"], pattern, "{kind}");
        }
        let response = alice.put_rule(&path, &json!({ "actions": [], "pattern": 1 })).await;
        assert_eq!(response.status_and_errcode(), (400, "M_BAD_JSON".into()), "{kind}");
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

#[tokio::test]
async fn a_rule_can_be_sent_back_as_it_was_returned() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        let mut body = minimal_rule(kind);
        body["x"] = json!([1]);
        alice.put_rule_ok(&path, &body).await;
        let rule = alice.get_rules(&path).await;
        alice.put_rule_ok(&path, &rule).await;
        assert_eq!(alice.get_rules(&path).await, rule, "{kind}");
    }
}

#[tokio::test]
async fn an_id_is_returned_exactly_as_it_was_sent() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for id in
        ["a", "!room:x.org", "@bob:x", "#spam:example.com", "тест", "a b+c", "50%", "🔔", "a.b"]
    {
        let path = format!("global/room/{}", percent_encode(id));
        alice.put_rule_ok(&path, &minimal_rule("room")).await;
        assert_eq!(alice.get_rules(&path).await["rule_id"], id);
        alice.put_rule_ok(&format!("{path}/enabled"), &json!(false)).await;
        assert_eq!(alice.delete_rule(&path).await.expect_json(StatusCode::OK), json!({}), "{id}");
    }
}

fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Injection attempts are stored and returned as text.
#[tokio::test]
async fn special_characters_are_stored_unchanged() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for text in [
        "'; drop table rulesets; --",
        "<script>alert(1)</script>",
        "${jndi:ldap://x}",
        "\u{1b}[31mred\r\nSet-Cookie: a=b",
        "{{7*7}}",
        "\u{202e}txt.exe",
    ] {
        let body: Value = json!({ "actions": [], "pattern": text, "x": text });
        let path = format!("global/content/{}", percent_encode(&text.replace(['/', '\\'], "")));
        alice.put_rule_ok(&path, &body).await;
        let rule = alice.get_rules(&path).await;
        assert_eq!((&rule["pattern"], &rule["x"]), (&json!(text), &json!(text)));
    }
}
