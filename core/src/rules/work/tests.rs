//! Tests of the work budget and of the size of compiled rules.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::rules::evaluate::{Member, Room};
use crate::rules::event::Event;
use crate::rules::explain::{EffectiveRules, FailureReason};
use crate::rules::index::{IndexedRules, Members};
use crate::rules::{RuleDocument, RuleScope};

/// Returns a rule that does not match [`expensive_event`]: all conditions but the last are met,
/// after a lot of work.
fn expensive_rule(id: &str) -> Value {
    let condition = json!({"kind": "event_match", "key": "content.a", "pattern": "*b*"});
    let mut conditions = vec![condition; 150];
    conditions.push(json!({"kind": "room_member_count", "is": "99999"}));
    json!({"rule_id": id, "enabled": true, "actions": [], "conditions": conditions})
}

fn cheap_rule(id: &str) -> Value {
    let condition = json!({"kind": "event_match", "key": "type", "pattern": "m.room.message"});
    json!({"rule_id": id, "enabled": true, "actions": [], "conditions": [condition]})
}

fn unconditional_rule(id: &str) -> Value {
    json!({"rule_id": id, "enabled": true, "actions": [], "conditions": []})
}

fn document_with_rules(rules: &[Value]) -> RuleDocument {
    let stored_json = json!({"rules": {"override": rules}, "changes": {}});
    RuleDocument::from_text(RuleScope::Global, &stored_json.to_string()).unwrap()
}

fn expensive_event() -> Event {
    let content = json!({"body": "hi", "a": "a".repeat(60_000) + "b"});
    Event::from_value(json!({"type": "m.room.message", "sender": "@b:x", "content": content}))
        .unwrap()
}

/// Evaluates the event for users with the given rules. Returns the id of the rule that matched for
/// each user, and the number of users who exceeded their budget.
fn evaluate(
    users: &[RuleDocument],
    event: &Event,
    mut budget: RequestWorkBudget,
) -> (Vec<String>, u64) {
    let rules: Vec<IndexedRules> = users.iter().map(|user| IndexedRules::new([user])).collect();
    let members = Members::new(rules.iter().map(|rules| ("@a:x", Member::default(), Some(rules))));
    let evaluation = members.evaluate(event, &Room::default(), Timestamp::UNIX_EPOCH, &mut budget);
    let rule_id = |position| evaluation.get(position).unwrap().rule.unwrap().rule_id.to_owned();
    ((0..users.len()).map(rule_id).collect(), budget.users_over_budget)
}

#[test]
fn rules_that_exceed_a_users_work_budget_do_not_match() {
    let event = expensive_event();
    let expensive = expensive_rule("expensive");
    for (rules, expected_id, is_exceeded) in [
        (vec![cheap_rule("cheap"), expensive.clone()], "cheap", false),
        (vec![expensive.clone(), cheap_rule("cheap")], ".m.rule.message", true),
        (vec![expensive.clone(), unconditional_rule("always")], "always", true),
        (vec![unconditional_rule("always"), expensive.clone()], "always", false),
    ] {
        let document = document_with_rules(&rules);
        let rules = EffectiveRules::new("@a:x", [&document]);
        let explanation =
            rules.explain(&event, &Room::default(), Member::default(), Timestamp::UNIX_EPOCH);
        let (ids, users_over_budget) =
            evaluate(std::slice::from_ref(&document), &event, RequestWorkBudget::default());
        assert_eq!(explanation.evaluation.rule.unwrap().rule_id, expected_id);
        assert_eq!(ids, [expected_id]);
        assert_eq!(
            (explanation.exceeds_work_budget(), users_over_budget),
            (is_exceeded, is_exceeded.into())
        );
        if is_exceeded {
            let step =
                explanation.walk.iter().find(|step| step.rule.rule_id == "expensive").unwrap();
            assert_eq!((step.reason, &step.condition), (Some(FailureReason::WorkBudget), &None));
        }
    }
}

/// An evaluation for many users skips rules that cannot match the event.
#[test]
fn rules_skipped_by_their_key_do_not_use_the_work_budget_of_other_rules() {
    let event = expensive_event();
    let mut skipped_rule = expensive_rule("skipped");
    skipped_rule["conditions"][150] = json!({"kind": "event_property_is", "key": "x", "value": 1});
    let document = document_with_rules(&[skipped_rule.clone(), skipped_rule, cheap_rule("cheap")]);
    let rules = EffectiveRules::new("@a:x", [&document]);
    let explanation =
        rules.explain(&event, &Room::default(), Member::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(explanation.evaluation.rule.unwrap().rule_id, "cheap");
    let result = evaluate(&[document], &event, RequestWorkBudget::default());
    assert_eq!(result, (vec!["cheap".to_owned()], 0));
}

#[test]
fn some_users_cannot_exhaust_the_budget_of_others() {
    let mut users: Vec<RuleDocument> = (0..12)
        .map(|_| document_with_rules(&[expensive_rule("one"), expensive_rule("two")]))
        .collect();
    users.push(document_with_rules(&[cheap_rule("cheap")]));
    let nearly_exhausted = RequestWorkBudget { remaining_steps: 1_000_000, users_over_budget: 0 };
    let (ids, users_over_budget) = evaluate(&users, &expensive_event(), nearly_exhausted);
    assert_eq!(ids.last().map(String::as_str), Some("cheap"));
    assert_eq!(users_over_budget, 12);
}

#[test]
fn a_device_is_evaluated_once_and_only_with_its_own_rules() {
    let device_document = |tag: &str| {
        let rules: Vec<Value> = (0..100).map(|number| cheap_rule(&number.to_string())).collect();
        let stored_json = json!({"rules": {"override": rules}, "changes": {}});
        let scope = RuleScope::Device(tag.parse().unwrap());
        RuleDocument::from_text(scope, &stored_json.to_string()).unwrap()
    };
    let documents = [
        document_with_rules(&[expensive_rule("global")]),
        device_document("phone"),
        device_document("tablet"),
    ];
    let [rules, global_rules] = [&documents[..], &documents[..1]].map(IndexedRules::new);
    let members =
        Members::new([&rules, &global_rules].map(|rules| ("@a:x", Member::default(), Some(rules))));
    let used_steps = |devices: &[(usize, &str)], event: Value| {
        let mut budget = RequestWorkBudget::default();
        let event = Event::from_value(event).unwrap();
        let room = Room::default();
        let now = Timestamp::UNIX_EPOCH;
        members.evaluate_devices(devices.to_vec(), &event, &room, now, &mut budget);
        MAX_REQUEST_STEPS - budget.remaining_steps
    };
    let message = json!({"type": "m.room.message", "content": {"a": "a".repeat(60_000) + "b"}});
    for (devices, event, steps) in [
        // The first rule matches: a step for each device rule of the user, and one to test it.
        (vec![(0, "phone")], &message, 201),
        (vec![(0, "phone"); 1000], &message, 201),
        (vec![(0, "phone"), (0, "tablet"), (0, "phone")], &message, 2 * 201),
        // No rule matches.
        (vec![(0, "phone"), (0, "phone")], &json!({"type": "m.reaction"}), 200),
        (vec![(0, "watch")], &message, 200),
        (vec![(1, "phone"), (1, "watch")], &message, 0),
    ] {
        assert_eq!(used_steps(&devices, event.clone()), steps, "{devices:?}");
    }
}

#[test]
fn the_devices_of_a_user_share_a_budget() {
    let tags = ["a", "b", "c", "d"];
    let document = |tag: &&str| {
        let stored_json = json!({"rules": {"override": [expensive_rule("x")]}, "changes": {}});
        let scope = RuleScope::Device(tag.parse().unwrap());
        RuleDocument::from_text(scope, &stored_json.to_string()).unwrap()
    };
    let rules = IndexedRules::new(&tags.iter().map(document).collect::<Vec<_>>());
    let members = Members::new([("@a:x", Member::default(), Some(&rules))]);
    let mut budget = RequestWorkBudget::default();
    let devices = tags.map(|tag| (0, tag)).to_vec();
    let (room, now) = (Room::default(), Timestamp::UNIX_EPOCH);
    members.evaluate_devices(devices, &expensive_event(), &room, now, &mut budget);
    let used_steps = MAX_REQUEST_STEPS - budget.remaining_steps;
    assert_eq!((used_steps, budget.users_over_budget), (MAX_USER_STEPS, 1));
}

#[test]
fn the_work_of_a_request_is_bounded() {
    let mut budget = RequestWorkBudget::default();
    let mut total_steps = 0;
    for _ in 0..1000 {
        budget.run_for_user(|work| {
            total_steps += work.remaining_steps();
            assert_eq!(work.spend(usize::MAX), None);
            assert_eq!(work.spend(1), None, "nothing is left after an excess");
        });
    }
    assert_eq!(total_steps, 8 * MAX_USER_STEPS + 992 * GUARANTEED_STEPS);
    assert_eq!(budget.users_over_budget, 1000);
}

/// Without the charge, testing one of these conditions would take far longer than a step.
#[test]
fn conditions_are_charged_for_the_text_and_items_they_read() {
    let length = 60_000;
    let items: Value = (0..length).collect();
    let content = json!({
        "body": "a ".repeat(length / 2), "items": items, "upper": "É".repeat(length / 2),
        "lines": "é\n".repeat(length / 3),
    });
    let event = Event::from_value(json!({"type": "x", "content": content})).unwrap();
    let event_match = |key: &str, pattern: &str| json!({"kind": "event_match", "key": format!("content.{key}"), "pattern": pattern});
    for (condition, min_steps) in [
        (event_match("body", "a b"), length / 8),
        (event_match("body", "*b"), length),
        (event_match("body", "?b"), length),
        (event_match("upper", &"é".repeat(length / 2)), length),
        (event_match("upper", "*x"), length),
        (event_match("lines", "*x\n*"), length / 3),
        (event_match("lines", "?x\n?"), length / 3),
        (
            json!({"kind": "event_property_contains", "key": "content.items", "value": length - 1}),
            length,
        ),
    ] {
        let rule = json!({
            "rule_id": "x", "enabled": true, "actions": [], "conditions": [condition],
        });
        let rules = IndexedRules::new([&document_with_rules(&[rule])]);
        let members = Members::new([("@me:x", Member::default(), Some(&rules))]);
        let mut budget = RequestWorkBudget::default();
        let _ = members.evaluate(&event, &Room::default(), Timestamp::UNIX_EPOCH, &mut budget);
        let used_steps = MAX_REQUEST_STEPS - budget.remaining_steps;
        let key = condition["key"].as_str();
        assert!(used_steps >= min_steps, "{key:?} took {used_steps} of {min_steps}");
    }
}

#[test]
fn the_size_of_compiled_rules_includes_patterns_and_small_allocations() {
    for pattern in ["?a", "*a", "a\n", "a?*", "?", "é"] {
        let rule = json!({
            "rule_id": "x", "enabled": true, "actions": [],
            "pattern": pattern.repeat(64_000 / pattern.len()),
        });
        let stored_json = json!({"rules": {"content": [rule]}, "changes": {}}).to_string();
        let document = RuleDocument::from_text(RuleScope::Global, &stored_json).unwrap();
        let bytes = IndexedRules::new([&document]).bytes();
        assert!((60_000..70_000).contains(&bytes), "{pattern}: {bytes}");
    }
    // The size includes the overhead of many small allocations.
    let rule_with_many_actions = json!({
        "rule_id": "x", "enabled": true, "actions": vec!["notify"; 1000], "conditions": [],
    });
    let tweak_with_map = json!({"set_tweak": "a", "b": 1});
    let rule_with_maps = json!({
        "rule_id": "x", "enabled": true, "actions": vec![tweak_with_map; 1000], "conditions": [],
    });
    for (rule, min_bytes) in [(rule_with_many_actions, 60_000), (rule_with_maps, 700_000)] {
        let bytes = IndexedRules::new([&document_with_rules(&[rule])]).bytes();
        assert!(bytes > min_bytes, "{bytes}");
    }
}
