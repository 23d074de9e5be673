//! Tests of the order in which rules are evaluated.

use serde_json::json;

use super::{ALICE, Scenario, global, message, scoped, winner};

#[test]
fn the_first_matching_rule_of_all_kinds_wins() {
    let rules = [
        ("override", json!({"rule_id": "over", "conditions": []})),
        ("content", json!({"rule_id": "text", "pattern": "hi"})),
        ("room", json!({"rule_id": "!r:example.org"})),
        ("sender", json!({"rule_id": "@bob:example.org"})),
        ("underride", json!({"rule_id": "under", "conditions": []})),
    ];
    let order = ["over", "text", "!r:example.org", "@bob:example.org", "under"];
    for (first, winner_id) in order.into_iter().enumerate() {
        assert_eq!(winner(&rules[first..], &message("hi")).as_deref(), Some(winner_id));
    }
    let override_rules =
        ["b", "a"].map(|id| ("override", json!({"rule_id": id, "conditions": []})));
    assert_eq!(winner(&override_rules, &message("hi")).as_deref(), Some("b"));
}

#[test]
fn user_rules_rank_above_built_in_rules_of_the_same_kind() {
    let underride_rules = [("underride", json!({"rule_id": "under", "conditions": []}))];
    assert_eq!(winner(&underride_rules, &message("hi")).as_deref(), Some("under"));
    assert_eq!(
        winner(&underride_rules, &message("alice")).as_deref(),
        Some(".m.rule.contains_user_name")
    );
    let content_rules = [("content", json!({"rule_id": "text", "pattern": "alice"}))];
    assert_eq!(winner(&content_rules, &message("alice")).as_deref(), Some("text"));
    let notice =
        json!({"type": "m.room.message", "content": {"msgtype": "m.notice", "body": "alice"}});
    assert_eq!(winner(&content_rules, &notice).as_deref(), Some(".m.rule.suppress_notices"));
}

#[test]
fn the_master_rule_ranks_above_all_others() {
    let override_rule = ("override", json!({"rule_id": "over", "conditions": []}));
    let changes = json!({".m.rule.master": {"enabled": true}});
    let documents = [
        scoped("global", std::slice::from_ref(&override_rule), &changes),
        scoped("device/phone", &[override_rule], &json!({})),
    ];
    let explanation = Scenario::new(documents).with_tag("phone").explain(&message("hi"));
    assert_eq!(explanation["rule"]["rule_id"], ".m.rule.master");
    assert_eq!((&explanation["notify"], &explanation["actions"]), (&json!(false), &json!([])));
}

#[test]
fn device_rules_rank_above_global_rules() {
    let documents = || {
        [
            global(&[("override", json!({"rule_id": "g", "conditions": []}))]),
            scoped(
                "device/phone",
                &[("underride", json!({"rule_id": "p", "conditions": []}))],
                &json!({}),
            ),
            scoped(
                "device/desk",
                &[("content", json!({"rule_id": "d", "pattern": "moon"}))],
                &json!({}),
            ),
        ]
    };
    for (tag, winner) in [("phone", "p"), ("desk", "g"), ("unknown", "g"), ("", "g")] {
        let explanation = Scenario::new(documents()).with_tag(tag).explain(&message("hi"));
        assert_eq!(explanation["rule"]["rule_id"], winner, "{tag}");
    }
    assert_eq!(Scenario::new(documents()).winner(&message("hi")).as_deref(), Some("g"));
    let explanation = Scenario::new(documents()).with_tag("phone").explain(&message("hi"));
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
    assert_eq!(winner(&rules, &message("hi")).as_deref(), Some("on"));
    let changes = json!({".m.rule.message": {"enabled": false}});
    assert_eq!(Scenario::new([scoped("global", &[], &changes)]).winner(&message("hi")), None);
}

#[test]
fn no_rule_is_evaluated_for_the_users_own_events() {
    let rules = [("override", json!({"rule_id": "over", "conditions": []}))];
    for sender_field in ["sender", "user_id"] {
        let event =
            json!({"type": "m.room.message", sender_field: ALICE, "content": {"body": "hi"}});
        let explanation = Scenario::new([global(&rules)]).explain(&event);
        assert_eq!(
            explanation,
            json!({"notify": false, "rule": null, "actions": [], "tweaks": {}, "walk": []})
        );
    }
}
