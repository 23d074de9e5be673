//! The fields of a rule: which are shown, which are kept, which are refused.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{KINDS, at, least, service};

#[tokio::test]
async fn a_rule_shows_the_fields_of_its_kind() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (kind, fields) in [
        ("override", &["actions", "conditions", "default", "enabled", "rule_id"][..]),
        ("underride", &["actions", "conditions", "default", "enabled", "rule_id"]),
        ("content", &["actions", "default", "enabled", "pattern", "rule_id"]),
        ("room", &["actions", "default", "enabled", "rule_id"]),
        ("sender", &["actions", "default", "enabled", "rule_id"]),
    ] {
        alice.puts(&format!("global/{kind}/a"), &least(kind)).await;
        let rule = alice.shown(&format!("global/{kind}/a")).await;
        let mut shown: Vec<&String> = rule.as_object().unwrap().keys().collect();
        shown.sort();
        assert_eq!(shown, fields, "{kind}");
    }
}

#[tokio::test]
async fn actions_are_required_and_may_be_empty() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        let answer = alice.put(&path, &json!({ "pattern": "x", "conditions": [] })).await;
        assert_eq!(answer.errcode(), (400, "M_MISSING_PARAM".into()), "{kind}");
        for wrong in [json!("notify"), json!(null), json!({}), json!(1)] {
            let answer = alice.put(&path, &json!({ "pattern": "x", "actions": wrong })).await;
            assert_eq!(answer.errcode(), (400, "M_BAD_JSON".into()), "{kind} {wrong}");
        }
        alice.puts(&path, &json!({ "pattern": "x", "actions": [] })).await;
        assert_eq!(alice.shown(&path).await["actions"], json!([]), "{kind}");
    }
}

#[tokio::test]
async fn every_form_of_an_action_is_returned_as_it_came() {
    let service = service().await;
    let alice = service.person("alice").await;
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
        alice.puts("global/room/a", &json!({ "actions": actions })).await;
        assert_eq!(alice.shown("global/room/a").await["actions"], actions);
    }
}

#[tokio::test]
async fn any_other_action_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (action, code) in [
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
        let answer = alice.put("global/room/a", &json!({ "actions": ["notify", action] })).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{action}");
    }
    assert_eq!(alice.get(&at("global/room/a")).await.status, 404);
}

#[tokio::test]
async fn every_form_of_a_condition_is_returned_as_it_came() {
    let service = service().await;
    let alice = service.person("alice").await;
    let conditions = json!([
        { "kind": "event_match", "key": "content.body", "pattern": "cake*" },
        { "kind": "contains_display_name" },
        { "kind": "room_member_count", "is": "2" },
        { "kind": "room_member_count", "is": ">=10" },
        { "kind": "sender_notification_permission", "key": "room" },
        { "kind": "event_property_is", "key": "a.b", "value": null },
        { "kind": "event_property_contains", "key": "a.b", "value": 7 },
        { "kind": "device", "profile_tag": "unknown kinds are kept" },
        { "kind": "contains_display_name", "org.example": [1.5, { "deep": true }] },
    ]);
    for kind in KINDS {
        let mut body = least(kind);
        body["conditions"] = conditions.clone();
        alice.puts(&format!("global/{kind}/a"), &body).await;
        assert_eq!(alice.shown(&format!("global/{kind}/a")).await["conditions"], conditions);
    }
}

#[tokio::test]
async fn conditions_are_optional_and_none_are_shown_as_an_empty_list() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in ["override", "underride"] {
        for body in [json!({ "actions": [] }), json!({ "actions": [], "conditions": [] })] {
            alice.puts(&format!("global/{kind}/a"), &body).await;
            assert_eq!(alice.shown(&format!("global/{kind}/a")).await["conditions"], json!([]));
        }
    }
}

#[tokio::test]
async fn a_malformed_condition_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (conditions, code) in [
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
    ] {
        let body = json!({ "actions": [], "conditions": conditions });
        let answer = alice.put("global/override/a", &body).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{conditions}");
    }
    assert_eq!(alice.get(&at("global/override/a")).await.status, 404);
}

#[tokio::test]
async fn a_content_rule_needs_a_pattern_and_others_keep_one_that_is_given() {
    let service = service().await;
    let alice = service.person("alice").await;
    let answer = alice.put("global/content/a", &json!({ "actions": [] })).await;
    assert_eq!(answer.errcode(), (400, "M_MISSING_PARAM".into()));
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        for pattern in ["cake*", "", "a.b?", "торт"] {
            alice.puts(&path, &json!({ "actions": [], "pattern": pattern })).await;
            assert_eq!(alice.shown(&path).await["pattern"], pattern, "{kind}");
        }
        let answer = alice.put(&path, &json!({ "actions": [], "pattern": 1 })).await;
        assert_eq!(answer.errcode(), (400, "M_BAD_JSON".into()), "{kind}");
    }
}

#[tokio::test]
async fn other_top_level_keys_are_kept_except_those_that_are_ours() {
    let service = service().await;
    let alice = service.person("alice").await;
    let extra = json!({ "list": [1, null], "text": "\u{0}\u{1F514}", "number": -0.5 });
    let body = json!({
        "actions": [], "org.example": extra, "rule_id": "b", "default": true, "enabled": false,
    });
    alice.puts("global/room/a", &body).await;
    let shown = json!({
        "rule_id": "a", "default": false, "enabled": true, "actions": [], "org.example": extra,
    });
    assert_eq!(alice.shown("global/room/a").await, shown);
    assert_eq!(alice.get(&at("global/room/b")).await.status, 404);
    // A replacement takes the whole rule, so what it does not say is gone.
    alice.puts("global/room/a", &json!({ "actions": [] })).await;
    assert_eq!(alice.shown("global/room/a").await.get("org.example"), None);
}

#[tokio::test]
async fn a_rule_that_was_shown_can_be_sent_back() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        let mut body = least(kind);
        body["x"] = json!([1]);
        alice.puts(&path, &body).await;
        let shown = alice.shown(&path).await;
        alice.puts(&path, &shown).await;
        assert_eq!(alice.shown(&path).await, shown, "{kind}");
    }
}

#[tokio::test]
async fn any_id_of_one_segment_is_kept_exactly() {
    let service = service().await;
    let alice = service.person("alice").await;
    for id in
        ["a", "!room:x.org", "@bob:x", "#spam:example.com", "тест", "a b+c", "50%", "🔔", "a.b"]
    {
        let path = format!("global/room/{}", encode(id));
        alice.puts(&path, &least("room")).await;
        assert_eq!(alice.shown(&path).await["rule_id"], id);
        alice.puts(&format!("{path}/enabled"), &json!(false)).await;
        assert_eq!(alice.delete(&path).await.expect(StatusCode::OK), json!({}), "{id}");
    }
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Attack 150: text that means something elsewhere is only text here.
#[tokio::test]
async fn hostile_texts_are_kept_inert() {
    let service = service().await;
    let alice = service.person("alice").await;
    for text in [
        "'; drop table rulesets; --",
        "<script>alert(1)</script>",
        "${jndi:ldap://x}",
        "\u{1b}[31mred\r\nSet-Cookie: a=b",
        "{{7*7}}",
        "\u{202e}txt.exe",
    ] {
        let body: Value = json!({ "actions": [], "pattern": text, "x": text });
        let path = format!("global/content/{}", encode(&text.replace(['/', '\\'], "")));
        alice.puts(&path, &body).await;
        let rule = alice.shown(&path).await;
        assert_eq!((&rule["pattern"], &rule["x"]), (&json!(text), &json!(text)));
    }
}
