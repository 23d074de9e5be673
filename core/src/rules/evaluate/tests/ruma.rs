//! Comparison with ruma's evaluator. The results are the same, except where a test below states a
//! difference.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use ruma_common::push::{
    PushConditionPowerLevelsCtx, PushConditionRoomCtx, Ruleset as RumaRuleset,
};
use ruma_common::room_version_rules::{AuthorizationRules, RoomPowerLevelsRules};
use ruma_common::serde::Raw;
use ruma_common::{RoomId, UserId};
use serde_json::{Value, json};

use super::{document_in_scope, generate, parse_room};
use crate::rules::evaluate::{Member, PowerLevel, Room};
use crate::rules::event::Event;
use crate::rules::explain::EffectiveRules;
use crate::rules::pattern::is_word_byte;
use crate::rules::{RuleDocument, RuleScope, User};

/// A user with rules in a room, for whom events are evaluated by Belfry and by ruma.
struct Comparison<'a> {
    user: &'a str,
    display_name: &'a str,
    room: Room,
    document: RuleDocument,
}

impl Comparison<'_> {
    /// Returns the rules that match according to Belfry and to ruma.
    fn matching_rules(&self, event: &Value) -> (Option<String>, Option<String>) {
        let member = Member { display_name: Some(self.display_name), profile_tag: None };
        let rules = EffectiveRules::new(self.user, [&self.document]);
        let now = Timestamp::UNIX_EPOCH;
        let explanation =
            rules.explain(&Event::from_value(event.clone()).unwrap(), &self.room, member, now);
        let belfry_rule =
            explanation.evaluation.rule.map(|rule| format!("{}/{}", rule.kind, rule.rule_id));

        let rules: RumaRuleset =
            serde_json::from_value(json!(self.document.ruleset(User::new(self.user)))).unwrap();
        let raw_event: Raw<Value> = Raw::new(event).unwrap();
        let ruma_rule = poll_once(rules.get_match(&raw_event, &self.context(event)))
            .map(|rule| format!("{}/{}", kind_name(rule), rule.rule_id()));
        (belfry_rule, ruma_rule)
    }

    fn context(&self, event: &Value) -> PushConditionRoomCtx {
        let room = event["room_id"].as_str().unwrap_or("!r:x");
        let member_count = u32::try_from(self.room.member_count.unwrap()).unwrap();
        let context = PushConditionRoomCtx::new(
            room.try_into().unwrap(),
            member_count.into(),
            self.user.try_into().unwrap(),
            self.display_name.to_owned(),
        );
        let Some(levels) = &self.room.power_levels else { return context };
        let to_ruma_int = |level: &PowerLevel| i32::try_from(level.0).unwrap().into();
        let mut notifications = ruma_common::power_levels::NotificationPowerLevels::new();
        notifications.room = to_ruma_int(&levels.required_level("room"));
        context.with_power_levels(PushConditionPowerLevelsCtx::new(
            levels
                .users
                .iter()
                .map(|(id, level)| (id.as_str().try_into().unwrap(), to_ruma_int(level)))
                .collect(),
            to_ruma_int(&levels.users_default),
            notifications,
            RoomPowerLevelsRules::new(
                &AuthorizationRules::V12,
                self.room.creators.iter().filter_map(|id| id.as_str().try_into().ok()),
            ),
        ))
    }
}

fn kind_name(rule: ruma_common::push::AnyPushRuleRef<'_>) -> &'static str {
    use ruma_common::push::AnyPushRuleRef as Rule;
    match rule {
        Rule::Override(_) => "override",
        Rule::Content(_) => "content",
        Rule::Room(_) => "room",
        Rule::Sender(_) => "sender",
        Rule::Underride(_) => "underride",
        _ => "unknown",
    }
}

/// Returns the output of a future that never waits.
fn poll_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is pending"),
    }
}

/// Replaces a pattern that starts or ends with a non-word character other than `*`, because ruma
/// uses different word boundaries for it.
fn normalize_pattern(pattern: &mut Value) {
    let is_shared_boundary =
        |byte: Option<u8>| byte.is_some_and(|byte| is_word_byte(byte) || byte == b'*');
    let text = pattern.as_str().unwrap();
    if !is_shared_boundary(text.bytes().next()) || !is_shared_boundary(text.bytes().last()) {
        *pattern = json!("cake");
    }
}

/// Removes the actions, because ruma rejects a sound without a value. The result does not depend on
/// them.
fn remove_actions(rule: &mut Value) {
    if let Some(actions) = rule.get_mut("actions") {
        *actions = json!([]);
    }
}

/// Generates documents that ruma accepts and evaluates in the same way.
fn ruma_compatible_document() -> impl Strategy<Value = RuleDocument> {
    generate::any_global_document().prop_map(|document| {
        let mut stored_json: Value = serde_json::from_str(&document.to_text()).unwrap();
        for change in stored_json["changes"].as_object_mut().unwrap().values_mut() {
            remove_actions(change);
        }
        let rules = &mut stored_json["rules"];
        for list in rules.as_object_mut().unwrap().values_mut() {
            list.as_array_mut().unwrap().iter_mut().for_each(remove_actions);
        }
        for rule in rules["content"].as_array_mut().unwrap() {
            normalize_pattern(&mut rule["pattern"]);
        }
        for kind in ["override", "underride"] {
            for rule in rules[kind].as_array_mut().unwrap() {
                for condition in rule["conditions"].as_array_mut().unwrap() {
                    if condition["kind"] == "event_match" && condition["key"] == "content.body" {
                        normalize_pattern(&mut condition["pattern"]);
                    }
                    // ruma does not support conditions about the time and about related events.
                    if condition["kind"] == "time_and_day"
                        || condition["kind"] == "related_event_match"
                    {
                        *condition = json!({"kind": "org.x.unknown"});
                    }
                    // The only notification key that ruma supports is `room`.
                    if condition["key"] == "moon" {
                        condition["key"] = json!("room");
                    }
                }
            }
        }
        let has_valid_id = |is_valid: fn(&str) -> bool| {
            move |rule: &Value| is_valid(rule["rule_id"].as_str().unwrap())
        };
        rules["room"]
            .as_array_mut()
            .unwrap()
            .retain(has_valid_id(|id| <&RoomId>::try_from(id).is_ok()));
        rules["sender"]
            .as_array_mut()
            .unwrap()
            .retain(has_valid_id(|id| <&UserId>::try_from(id).is_ok()));
        RuleDocument::from_text(RuleScope::Global, &stored_json.to_string()).unwrap()
    })
}

fn ruma_compatible_event() -> impl Strategy<Value = Value> {
    generate::any_event().prop_map(|mut event| {
        if let Some(body) = event["content"].get("body").and_then(Value::as_str) {
            // Between spaces, `@room` has the same word boundaries for ruma, although it does not
            // start with a word character.
            event["content"]["body"] = json!(body.replace("@room", " @room "));
        }
        if event.get("sender").is_some_and(|id| <&UserId>::try_from(id.as_str().unwrap()).is_err())
        {
            event["sender"] = json!("@zoe:x");
        }
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn ruma_matches_the_same_rule(
        user in select(&["@alice:x", "@al:x", "@bob:x"][..]),
        display_name in select(&["Al", "Al Bo", "alice"][..]),
        mut room in generate::any_room(),
        document in ruma_compatible_document(),
        events in prop::collection::vec(ruma_compatible_event(), 1..4),
    ) {
        room.member_count = room.member_count.or(Some(3));
        // ruma ignores creators if the power levels are unknown.
        if room.power_levels.is_none() {
            room.creators.clear();
        }
        let comparison = Comparison { user, display_name, room, document };
        for event in events {
            let (belfry_rule, ruma_rule) = comparison.matching_rules(&event);
            prop_assert_eq!(belfry_rule, ruma_rule, "{}", event);
        }
    }
}

/// Returns whether a rule matches according to Belfry, and according to ruma.
fn match_with_both(kind: &str, rule: &Value, event: &Value) -> (bool, bool) {
    let room = Room {
        member_count: Some(9),
        power_levels: serde_json::from_value(json!({"users_default": 50})).unwrap(),
        ..Room::default()
    };
    let document = document_in_scope("global", &[(kind, rule.clone())], &json!({}));
    let comparison = Comparison { user: "@alice:x", display_name: "A*", room, document };
    let (belfry_rule, ruma_rule) = comparison.matching_rules(event);
    let is_match = |rule: Option<String>| rule.as_deref() == Some(&format!("{kind}/x"));
    (is_match(belfry_rule), is_match(ruma_rule))
}

fn text_message(body: &str) -> Value {
    json!({"type": "m.room.message", "room_id": "!r:x", "sender": "@b:x", "content": {"body": body}})
}

#[test]
fn ruma_accepts_word_boundaries_inside_the_pattern() {
    for (pattern, body, belfry_matches) in [
        ("@room", "x@room", false),
        ("foo ", "foo bar", false),
        ("c++", "c++x", false),
        ("?ake", "x ake", false),
        ("test", "ütest", true),
        ("тест", "мойтест", true),
    ] {
        let condition = json!({"kind": "event_match", "key": "content.body", "pattern": pattern});
        let rule = json!({"rule_id": "x", "conditions": [condition]});
        assert_eq!(
            match_with_both("override", &rule, &text_message(body)),
            (belfry_matches, true),
            "{pattern:?} in {body:?}"
        );
    }
}

#[test]
fn belfry_and_ruma_differ_in_documented_cases() {
    let rule_with = |condition: Value| json!({"rule_id": "x", "conditions": [condition]});
    let event_with = |key: &str, value: Value| {
        let mut event = text_message("hi");
        event[key] = value;
        event
    };
    for (reason, condition, event, belfry_matches, ruma_matches) in [
        (
            "a wildcard matches no line break",
            json!({"kind": "event_match", "key": "topic", "pattern": "foo*"}),
            event_with("topic", json!("foo\nbar")),
            false,
            true,
        ),
        (
            "a display name is not a pattern",
            json!({"kind": "contains_display_name"}),
            text_message("abc"),
            false,
            true,
        ),
        (
            "every notification key has a required level, 50 by default",
            json!({"kind": "sender_notification_permission", "key": "moon"}),
            text_message("hi"),
            true,
            false,
        ),
        (
            "a redundant escape does not change the path",
            json!({"kind": "event_match", "key": r"a\b", "pattern": "c"}),
            event_with(r"a\b", json!("c")),
            true,
            false,
        ),
        (
            "the room of an event is the one that it names",
            json!({"kind": "event_match", "key": "room_id", "pattern": "*"}),
            event_with("room_id", json!(null)),
            false,
            true,
        ),
        (
            "the lower case of a letter does not depend on its neighbours",
            json!({"kind": "event_match", "key": "topic", "pattern": "ΟΔΥΣ*"}),
            event_with("topic", json!("Οδυσσεύς")),
            true,
            false,
        ),
        (
            "in the oldest event format, the sender is in user_id",
            json!({"kind": "event_match", "key": "sender", "pattern": "@c:x"}),
            json!({"type": "m", "room_id": "!r:x", "user_id": "@c:x"}),
            true,
            false,
        ),
    ] {
        assert_eq!(
            match_with_both("override", &rule_with(condition), &event),
            (belfry_matches, ruma_matches),
            "{reason}"
        );
    }
}

#[test]
fn ruma_ignores_creators_if_the_power_levels_are_unknown() {
    let condition = json!({"kind": "sender_notification_permission", "key": "room"});
    let rule = json!({"rule_id": "x", "conditions": [condition]});
    for (levels, ruma_matches) in [(json!({"users_default": -1}), true), (json!(null), false)] {
        let room =
            parse_room(&json!({"member_count": 9, "power_levels": levels, "creators": ["@b:x"]}));
        let document = document_in_scope("global", &[("override", rule.clone())], &json!({}));
        let comparison = Comparison { user: "@alice:x", display_name: "Al", room, document };
        let is_match = |rule: Option<String>| rule.as_deref() == Some("override/x");
        let (belfry_rule, ruma_rule) = comparison.matching_rules(&text_message("hi"));
        assert_eq!((is_match(belfry_rule), is_match(ruma_rule)), (true, ruma_matches), "{levels}");
    }
}
