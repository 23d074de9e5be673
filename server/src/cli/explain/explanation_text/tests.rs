use belfry_core::rules::evaluate::{Member, Room};
use belfry_core::rules::event::Event;
use belfry_core::rules::explain::EffectiveRules;
use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition};
use jiff::Timestamp;

use super::*;

/// Returns a document with the given rules, in evaluation order.
fn document(scope: &str, rules: &[(RuleKind, &str, Value)]) -> RuleDocument {
    let mut document = RuleDocument::new(scope.parse().unwrap());
    for (kind, id, body) in rules.iter().rev() {
        let new_rule = NewRule::parse(
            *kind,
            body.to_string().as_bytes(),
            NewRuleLimits { conditions: usize::MAX, ..NewRuleLimits::default() },
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document.put(*kind, id.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
    }
    document
}

fn explain_lines(documents: &[RuleDocument], event: Value) -> Vec<String> {
    let rules = EffectiveRules::new("@alice:x", documents);
    let room = Room { member_count: Some(5), ..Room::default() };
    let related_events = json!({"m.in_reply_to": {"sender": "@carol:x"}});
    let event = Event::from_value(event).unwrap().with_related_events(related_events).unwrap();
    let member = Member::default();
    let explanation = rules.explain(&event, &room, member, Timestamp::UNIX_EPOCH);
    let text = ExplanationText { explanation: &explanation, state: EnabledState::Active };
    text.to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_rule_that_takes_too_much_work_is_marked() {
    let condition = json!({"kind": "event_match", "key": "content.a", "pattern": "*?a?a?a?b*"});
    let rule = json!({"actions": [], "conditions": vec![condition; 500]});
    let documents = [document("global", &[(RuleKind::Override, "slow", rule)])];
    let mut event = message("hi");
    event["content"]["a"] = json!("a".repeat(60_000) + "b");
    let lines = explain_lines(&documents, event);
    let line = lines.iter().find(|line| line.contains("global/override/slow")).unwrap();
    let reason = "is not fully evaluated: the rules take too much work for this event";
    assert!(line.starts_with("✗ ") && line.ends_with(reason), "{line}");
    assert!(lines.contains(&"notify, by global/underride/.m.rule.message".to_owned()));
}

fn message(body: &str) -> Value {
    json!({
        "type": "m.room.message", "sender": "@bob:x", "room_id": "!r:x",
        "content": {"msgtype": "m.text", "body": body},
    })
}

/// Returns a condition that is met in Tokyo from `start` to 17:00.
fn daytime(start: &str) -> Value {
    let interval = json!({"time_of_day": [start, "16:59"]});
    json!({"kind": "time_and_day", "timezone": "Asia/Tokyo", "intervals": [interval]})
}

/// Returns a condition on the sender of a related event.
fn related_event(rel_type: &str) -> Value {
    json!({
        "kind": "related_event_match", "rel_type": rel_type, "key": "sender",
        "pattern": "@alice:x",
    })
}

#[test]
fn a_rule_with_a_time_condition_shows_until_when_it_matches() {
    let rule = json!({"actions": [], "conditions": [daytime("09:00")]});
    let documents = [document("global", &[(RuleKind::Override, "quiet", rule)])];
    let lines = explain_lines(&documents, message("hi"));
    let line = lines.iter().find(|line| line.contains("global/override/quiet")).unwrap();
    let end = "  matches until Thursday, 1970-01-01, 17:00 in Asia/Tokyo";
    assert!(line.starts_with("✓ ") && line.ends_with(end), "{line}");
    assert!(lines.contains(&"do not notify, by global/override/quiet".to_owned()), "{lines:?}");
}

#[test]
fn each_rule_has_a_line_with_the_reason_for_its_failure() {
    let rule_with = |condition: Value| json!({"actions": [], "conditions": [condition]});
    let property_is = json!({"kind": "event_property_is", "key": "content.msgtype", "value": null});
    let property_contains =
        json!({"kind": "event_property_contains", "key": "content.to", "value": 7});
    let permission = json!({"kind": "sender_notification_permission", "key": "room"});
    let display_name = json!({"kind": "contains_display_name"});
    let global = document(
        "global",
        &[
            (RuleKind::Override, "is", rule_with(property_is)),
            (RuleKind::Override, "contains", rule_with(property_contains)),
            (
                RuleKind::Override,
                "few",
                rule_with(json!({"kind": "room_member_count", "is": "<3"})),
            ),
            (RuleKind::Override, "level", rule_with(permission)),
            (RuleKind::Override, "name", rule_with(display_name)),
            (RuleKind::Override, "day", rule_with(daytime("09:01"))),
            (RuleKind::Override, "reply", rule_with(related_event("m.in_reply_to"))),
            (RuleKind::Override, "thread", rule_with(related_event("m.thread"))),
            (
                RuleKind::Override,
                "edit",
                rule_with(json!({"kind": "related_event_match", "rel_type": "m.replace"})),
            ),
            (RuleKind::Override, "later", rule_with(json!({"kind": "org.later"}))),
            (RuleKind::Content, "pie", json!({"actions": [], "pattern": "pie"})),
        ],
    );
    let loud_actions =
        json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "highlight"}, "coalesce"]);
    let device = document("device/phone", &[]);
    let mut documents = vec![device, global];
    let output = explain_lines(&documents, message("cake"));
    let line_for = |rule: &str| {
        let line = output.iter().find(|line| line.contains(&format!("/{rule} ")));
        line.unwrap_or_else(|| panic!("{rule}: {output:#?}")).clone()
    };
    for (rule, mark, reason) in [
        (".m.rule.master", "–", "is disabled"),
        ("is", "✗", r#"content.msgtype is "m.text", expected null"#),
        ("contains", "✗", "there is no content.to, expected 7 in it"),
        ("few", "✗", "the room has 5 members, expected <3"),
        ("level", "✗", "the power levels are unknown; use --room"),
        ("name", "✗", "the display name is unknown; use --display-name"),
        (
            "day",
            "✗",
            "the time in Asia/Tokyo is {\"day_of_week\":4,\"time_of_day\":\"09:00\"}, \
             expected [{\"time_of_day\":[\"09:01\",\"16:59\"]}]",
        ),
        ("reply", "✗", r#"sender of the m.in_reply_to event is "@carol:x", expected "@alice:x""#),
        (
            "thread",
            "✗",
            "no m.thread event with sender is known, or it is a fallback; use --related-events",
        ),
        ("edit", "✗", "the event has no m.replace relation, or only a fallback"),
        ("later", "✗", r#"the condition kind "org.later" is unknown"#),
        ("pie", "✗", r#"content.body is "cake", expected "pie""#),
        (".m.rule.message", "✓", "matches"),
    ] {
        assert!(
            line_for(rule).starts_with(mark) && line_for(rule).ends_with(&format!("  {reason}")),
            "{rule}"
        );
    }
    assert_eq!(
        output[output.len() - 4..],
        [
            "",
            "notify, by global/underride/.m.rule.message",
            r#"actions  ["notify"]"#,
            "tweaks   {}"
        ]
    );

    documents[1] =
        document("global", &[(RuleKind::Room, "!r:x", json!({"actions": loud_actions}))]);
    let output = explain_lines(&documents, message("cake"));
    assert_eq!(
        output[output.len() - 4..],
        [
            "",
            "notify, by global/room/!r:x",
            r#"actions  ["notify",{"set_tweak":"sound"},{"set_tweak":"highlight"}]"#,
            r#"tweaks   {"highlight":true,"sound":"default"}"#,
        ]
    );
}

#[test]
fn a_legacy_mention_rule_is_skipped_if_the_event_has_mentions() {
    let mut event = message("hello alice");
    event["content"]["m.mentions"] = json!({});
    let output = explain_lines(&[], event);
    let line = output.iter().find(|line| line.contains(".m.rule.contains_user_name ")).unwrap();
    assert!(line.ends_with("is skipped: the event has m.mentions"), "{line}");
}

#[test]
fn no_rule_is_listed_for_the_users_own_event() {
    let output = explain_lines(&[], json!({"sender": "@alice:x"}));
    assert_eq!(
        output,
        [
            "no rule is evaluated for the user's own event",
            "do not notify",
            "actions  []",
            "tweaks   {}"
        ]
    );
}

#[test]
fn control_characters_in_untrusted_text_are_escaped() {
    let pattern = json!({"actions": [], "pattern": "\u{1b}]0;x\u{7}"});
    let global = document("global", &[(RuleKind::Content, "a\u{1b}[2J\u{9b}b", pattern)]);
    let output = explain_lines(&[global], message("\u{1b}[31m\u{9b}1mred")).join("\n");
    assert!(!output.contains(|c: char| c.is_control() && c != '\n'), "{output:?}");
    assert!(output.contains(r"global/content/a\u{1b}[2J\u{9b}b "), "{output}");
}
