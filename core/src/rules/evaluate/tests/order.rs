//! Tests of the order in which rules are evaluated.

use serde_json::json;

use super::{ALICE, Scenario, document_in_scope, global_document, matching_rule_id, message};

#[test]
fn the_first_matching_rule_wins() {
    let rules = [
        ("override", json!({"rule_id": "over", "conditions": []})),
        ("content", json!({"rule_id": "text", "pattern": "hi"})),
        ("room", json!({"rule_id": "!r:example.org"})),
        ("sender", json!({"rule_id": "@bob:example.org"})),
        ("underride", json!({"rule_id": "under", "conditions": []})),
    ];
    let order = ["over", "text", "!r:example.org", "@bob:example.org", "under"];
    for (first, expected_id) in order.into_iter().enumerate() {
        assert_eq!(matching_rule_id(&rules[first..], &message("hi")).as_deref(), Some(expected_id));
    }
    let override_rules =
        ["b", "a"].map(|id| ("override", json!({"rule_id": id, "conditions": []})));
    assert_eq!(matching_rule_id(&override_rules, &message("hi")).as_deref(), Some("b"));
}

#[test]
fn user_rules_rank_above_builtin_rules_of_the_same_kind() {
    let underride_rules = [("underride", json!({"rule_id": "under", "conditions": []}))];
    assert_eq!(matching_rule_id(&underride_rules, &message("hi")).as_deref(), Some("under"));
    assert_eq!(
        matching_rule_id(&underride_rules, &message("alice")).as_deref(),
        Some(".m.rule.contains_user_name")
    );
    let content_rules = [("content", json!({"rule_id": "text", "pattern": "alice"}))];
    assert_eq!(matching_rule_id(&content_rules, &message("alice")).as_deref(), Some("text"));
    let notice =
        json!({"type": "m.room.message", "content": {"msgtype": "m.notice", "body": "alice"}});
    assert_eq!(
        matching_rule_id(&content_rules, &notice).as_deref(),
        Some(".m.rule.suppress_notices")
    );
}

#[test]
fn the_master_rule_ranks_above_all_others() {
    let override_rule = ("override", json!({"rule_id": "over", "conditions": []}));
    let changes = json!({".m.rule.master": {"enabled": true}});
    let documents = [
        document_in_scope("global", std::slice::from_ref(&override_rule), &changes),
        document_in_scope("device/phone", &[override_rule], &json!({})),
    ];
    let explanation = Scenario::new(documents).with_profile_tag("phone").explain(&message("hi"));
    assert_eq!(explanation["rule"]["rule_id"], ".m.rule.master");
    assert_eq!((&explanation["notify"], &explanation["actions"]), (&json!(false), &json!([])));
}

#[test]
fn device_rules_rank_above_global_rules() {
    let documents = || {
        [
            global_document(&[("override", json!({"rule_id": "g", "conditions": []}))]),
            document_in_scope(
                "device/phone",
                &[("underride", json!({"rule_id": "p", "conditions": []}))],
                &json!({}),
            ),
            document_in_scope(
                "device/desk",
                &[("content", json!({"rule_id": "d", "pattern": "moon"}))],
                &json!({}),
            ),
        ]
    };
    for (tag, expected_id) in [("phone", "p"), ("desk", "g"), ("unknown", "g"), ("", "g")] {
        let explanation = Scenario::new(documents()).with_profile_tag(tag).explain(&message("hi"));
        assert_eq!(explanation["rule"]["rule_id"], expected_id, "{tag}");
    }
    assert_eq!(Scenario::new(documents()).matching_rule_id(&message("hi")).as_deref(), Some("g"));
    let explanation = Scenario::new(documents()).with_profile_tag("phone").explain(&message("hi"));
    assert_eq!(
        explanation["rule"],
        json!({"scope": "device/phone", "kind": "underride", "rule_id": "p"})
    );
}

#[test]
fn a_disabled_rule_is_skipped() {
    let rules = [
        ("override", json!({"rule_id": "off", "conditions": [], "enabled": false})),
        ("override", json!({"rule_id": "on", "conditions": []})),
    ];
    assert_eq!(matching_rule_id(&rules, &message("hi")).as_deref(), Some("on"));
    let changes = json!({".m.rule.message": {"enabled": false}});
    assert_eq!(
        Scenario::new([document_in_scope("global", &[], &changes)])
            .matching_rule_id(&message("hi")),
        None
    );
}

#[test]
fn no_rule_is_evaluated_for_the_users_own_events() {
    let rules = [("override", json!({"rule_id": "over", "conditions": []}))];
    for sender_field in ["sender", "user_id"] {
        let event =
            json!({"type": "m.room.message", sender_field: ALICE, "content": {"body": "hi"}});
        let explanation = Scenario::new([global_document(&rules)]).explain(&event);
        assert_eq!(
            explanation,
            json!({"notify": false, "rule": null, "actions": [], "tweaks": {}, "walk": []})
        );
    }
}
