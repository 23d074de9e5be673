//! Tests of condition evaluation, by kind.

use serde_json::{Value, json};

use super::super::Member;
use super::{Scenario, global_document, matching_rule_id, message};

/// Returns whether an override rule with this condition matches.
fn is_met(condition: &Value, scenario: Scenario<'_>, event: &Value) -> bool {
    let rule = json!({"rule_id": "x", "conditions": [condition]});
    let scenario = Scenario { documents: vec![global_document(&[("override", rule)])], ..scenario };
    scenario.matching_rule_id(event).as_deref() == Some("x")
}

#[test]
fn a_rule_matches_if_all_its_conditions_are_met() {
    let body = json!({"kind": "event_match", "key": "content.body", "pattern": "hi"});
    let other_type = json!({"kind": "event_match", "key": "type", "pattern": "m.room.topic"});
    for (conditions, is_match) in [
        (json!([]), true),
        (json!([body]), true),
        (json!([body, body]), true),
        (json!([body, other_type]), false),
        (json!([other_type, body]), false),
        (json!([body, {"kind": "org.x.unknown"}]), false),
        (json!([{"kind": "device", "profile_tag": "x"}]), false),
    ] {
        let rules = [("override", json!({"rule_id": "x", "conditions": conditions}))];
        assert_eq!(
            matching_rule_id(&rules, &message("hi")).as_deref() == Some("x"),
            is_match,
            "{conditions}"
        );
    }
}

#[test]
fn event_match_needs_a_string() {
    let event =
        json!({"a": "Str", "n": 1, "b": true, "null": null, "list": ["Str"], "o": {"x.y": "deep"}});
    for (key, pattern, is_match) in [
        ("a", "str", true),
        ("a", "s*", true),
        ("a", "*", true),
        ("a", "st", false),
        ("n", "1", false),
        ("n", "*", false),
        ("b", "*", false),
        ("null", "*", false),
        ("list", "*", false),
        ("o", "*", false),
        ("absent", "*", false),
        ("absent", "", false),
        (r"o.x\.y", "DEEP", true),
        ("o.x.y", "DEEP", false),
    ] {
        let condition = json!({"kind": "event_match", "key": key, "pattern": pattern});
        assert_eq!(is_met(&condition, Scenario::new([]), &event), is_match, "{key} {pattern}");
    }
}

#[test]
fn a_property_is_compared_with_its_type_and_case() {
    let event = json!({
        "s": "Str", "one": 1, "true": true, "null": null, "f": 1.0, "o": {}, "empty": [],
        "list": ["Str", 1, true, null, 1.5, ["in"]],
    });
    let values =
        [json!("Str"), json!("str"), json!(1), json!("1"), json!(true), json!(null), json!("in")];
    for (kind, key, matches) in [
        ("event_property_is", "s", [true, false, false, false, false, false, false]),
        ("event_property_is", "one", [false, false, true, false, false, false, false]),
        ("event_property_is", "true", [false, false, false, false, true, false, false]),
        ("event_property_is", "null", [false, false, false, false, false, true, false]),
        ("event_property_is", "absent", [false; 7]),
        ("event_property_is", "f", [false; 7]),
        ("event_property_is", "o", [false; 7]),
        ("event_property_is", "list", [false; 7]),
        ("event_property_contains", "list", [true, false, true, false, true, true, false]),
        ("event_property_contains", "empty", [false; 7]),
        ("event_property_contains", "s", [false; 7]),
        ("event_property_contains", "absent", [false; 7]),
    ] {
        for (value, is_match) in values.iter().zip(matches) {
            let condition = json!({"kind": kind, "key": key, "value": value});
            assert_eq!(is_met(&condition, Scenario::new([]), &event), is_match, "{condition}");
        }
    }
}

#[test]
fn the_display_name_is_searched_literally() {
    let condition = json!({"kind": "contains_display_name"});
    for (name, body, is_match) in [
        (Some("Al"), "hey al!", true),
        (Some("Al"), "also", false),
        (Some("Al B."), "is al b. here", true),
        (Some("A*"), "abc", false),
        (Some("A*"), "a* is born", true),
        (Some("(.+)?"), "anything", false),
        (Some("(.+)?"), "(.+)?", true),
        (Some("Łukasz"), "cześć łukasz", true),
        (Some(""), "", false),
        (Some(""), "text", false),
        (None, "text", false),
    ] {
        let scenario = Scenario {
            member: Member { display_name: name, ..Member::default() },
            ..Scenario::new([])
        };
        assert_eq!(is_met(&condition, scenario, &message(body)), is_match, "{name:?} in {body:?}");
    }
    for content in [json!({}), json!({"body": 1}), json!({"body": ["Al"]})] {
        assert!(!is_met(
            &condition,
            Scenario::new([]).with_display_name("Al"),
            &json!({"content": content})
        ));
    }
}

#[test]
fn the_sender_needs_a_sufficient_power_level() {
    let condition = |key: &str| json!({"kind": "sender_notification_permission", "key": key});
    let bob = "@bob:example.org";
    for (levels, key, is_match) in [
        (json!({}), "room", false),
        (json!({"users": {bob: 50}}), "room", true),
        (json!({"users": {bob: 49}}), "room", false),
        (json!({"users_default": 50}), "room", true),
        (json!({"users_default": 50, "users": {bob: 0}}), "room", false),
        (json!({"notifications": {"room": 0}}), "room", true),
        (json!({"notifications": {"room": -1}, "users": {bob: -1}}), "room", true),
        (json!({"notifications": {"room": 0}}), "moon", false),
        (json!({"users": {bob: 50}}), "moon", true),
    ] {
        let scenario = Scenario::new([]).with_room(&json!({"power_levels": levels}));
        assert_eq!(is_met(&condition(key), scenario, &message("hi")), is_match, "{levels} {key}");
    }
    assert!(!is_met(&condition("room"), Scenario::new([]), &message("hi")));
    let scenario = Scenario::new([]).with_room(&json!({"power_levels": {"users_default": 100}}));
    assert!(!is_met(&condition("room"), scenario, &json!({"type": "x"})));
}

#[test]
fn creators_may_notify_regardless_of_power_levels() {
    let bob = "@bob:example.org";
    let carol = "@carol:example.org";
    let levels = json!({"users": {bob: -5}, "notifications": {"room": 1000}});
    for (room, is_match) in [
        (json!({"power_levels": levels, "creators": [carol, bob]}), true),
        (json!({"power_levels": levels, "creators": [carol]}), false),
        (json!({"power_levels": levels, "creators": ["@BOB:example.org"]}), false),
        (json!({"power_levels": levels, "creators": []}), false),
        (json!({"creators": [bob]}), true),
    ] {
        for key in ["room", "moon"] {
            let condition = json!({"kind": "sender_notification_permission", "key": key});
            let scenario = Scenario::new([]).with_room(&room);
            assert_eq!(is_met(&condition, scenario, &message("hi")), is_match, "{room} {key}");
        }
    }
}

#[test]
fn a_member_count_condition_is_not_met_if_the_count_is_unknown() {
    for (is, count, is_match) in
        [("2", json!(2), true), (">2", json!(2), false), ("<9", json!(null), false)]
    {
        let condition = json!({"kind": "room_member_count", "is": is});
        let scenario = Scenario::new([]).with_room(&json!({"member_count": count}));
        assert_eq!(is_met(&condition, scenario, &message("hi")), is_match, "{is}");
    }
}

#[test]
fn room_sender_and_content_rules_ignore_their_conditions() {
    let unmet_conditions = json!([{"kind": "org.x.never"}]);
    for (rule, event, is_match) in [
        (
            ("room", json!({"rule_id": "!r:x", "conditions": unmet_conditions})),
            json!({"room_id": "!r:x"}),
            true,
        ),
        (("room", json!({"rule_id": "!r:x", "pattern": "no"})), json!({"room_id": "!R:x"}), true),
        (("room", json!({"rule_id": "!r:x"})), json!({"room_id": "!r:xx"}), false),
        (("sender", json!({"rule_id": "@b:x"})), json!({"sender": "@b:x"}), true),
        (("sender", json!({"rule_id": "@b:x"})), json!({"user_id": "@b:x"}), true),
        (
            ("sender", json!({"rule_id": "@b:x"})),
            json!({"sender": "@c:x", "user_id": "@b:x"}),
            false,
        ),
        (
            ("content", json!({"rule_id": "k", "pattern": "k", "conditions": unmet_conditions})),
            message("K!"),
            true,
        ),
        (("content", json!({"rule_id": "k"})), message("k"), false),
    ] {
        let id = rule.1["rule_id"].as_str().unwrap().to_owned();
        assert_eq!(matching_rule_id(&[rule], &event) == Some(id.clone()), is_match, "{id} {event}");
    }
}

#[test]
fn legacy_mention_rules_are_skipped_when_the_event_has_mentions() {
    let room = json!({"member_count": 3, "power_levels": {"users_default": 100}});
    for (text, rule) in
        [("alice", "contains_user_name"), ("Al", "contains_display_name"), ("@room", "roomnotif")]
    {
        let scenario = || Scenario::new([]).with_display_name("Al").with_room(&room);
        let mut event = message(text);
        assert_eq!(scenario().matching_rule_id(&event), Some(format!(".m.rule.{rule}")));
        event["content"]["m.mentions"] = json!({});
        assert_eq!(scenario().matching_rule_id(&event).as_deref(), Some(".m.rule.message"));
        let explanation = scenario().explain(&event);
        let steps = explanation["walk"].as_array().unwrap();
        let step = steps.iter().find(|step| step["rule_id"] == format!(".m.rule.{rule}")).unwrap();
        assert_eq!((&step["outcome"], step.get("condition")), (&json!("failed"), None));
    }
    // A user rule with the same condition is still evaluated.
    let user_rule = [(
        "override",
        json!({"rule_id": "own", "conditions": [{"kind": "contains_display_name"}]}),
    )];
    let mut event = message("Al");
    event["content"]["m.mentions"] = json!({});
    assert_eq!(
        Scenario::new([global_document(&user_rule)])
            .with_display_name("Al")
            .matching_rule_id(&event)
            .as_deref(),
        Some("own")
    );
}

#[test]
fn a_time_condition_is_tested_at_the_time_of_the_evaluation() {
    let condition = json!({
        "kind": "org.matrix.msc3767.time_and_day", "timezone": "Europe/Berlin",
        "intervals": [{"time_of_day": ["00:00", "08:00"], "day_of_week": [1, 2, 3]}],
    });
    // 18 November 2026 is a Wednesday, and Berlin is an hour ahead of UTC.
    for (now, is_match) in [
        ("2026-11-17T22:59:59Z", false),
        ("2026-11-17T23:00:00Z", true),
        ("2026-11-18T07:00:59Z", true),
        ("2026-11-18T07:01:00Z", false),
        ("2026-11-18T23:00:00Z", false),
    ] {
        let is_met = is_met(&condition, Scenario::new([]).at(now), &message("hi"));
        assert_eq!(is_met, is_match, "{now}");
    }
    let rule = json!({"rule_id": "x", "conditions": [condition]});
    let scenario = Scenario::new([global_document(&[("override", rule)])]);
    let explanation = scenario.at("2026-11-18T07:01:00Z").explain(&message("hi"));
    let steps = explanation["walk"].as_array().unwrap();
    let step = steps.iter().find(|step| step["rule_id"] == "x").unwrap();
    let found = json!({"day_of_week": 3, "time_of_day": "08:01"});
    assert_eq!((&step["condition"], &step["found"]), (&condition, &found));
}

/// Returns a condition on the sender of the event that is replied to.
fn reply_to_alice(include_fallbacks: Option<bool>) -> Value {
    let mut condition = json!({
        "kind": "related_event_match", "rel_type": "m.in_reply_to", "key": "sender",
        "pattern": "@ALICE:*",
    });
    if let Some(include_fallbacks) = include_fallbacks {
        condition["include_fallbacks"] = include_fallbacks.into();
    }
    condition
}

#[test]
fn a_related_event_is_matched_like_the_event() {
    let related = json!({
        "m.in_reply_to": {"sender": "@alice:x", "content": {"body": "Cake is here", "n": 1}},
        "m.thread": {"user_id": "@bob:x"},
    });
    for (rel_type, key, pattern, is_match) in [
        ("m.in_reply_to", "sender", "@alice:x", true),
        ("m.in_reply_to", "sender", "@A*:X", true),
        ("m.in_reply_to", "sender", "@alice", false),
        ("m.in_reply_to", "content.body", "cake", true),
        ("m.in_reply_to", "content.body", "cak", false),
        ("m.in_reply_to", "content.n", "1", false),
        ("m.in_reply_to", "absent", "*", false),
        ("m.thread", "sender", "@bob:x", true),
        ("m.thread", "sender", "@alice:x", false),
        ("m.replace", "sender", "*", false),
    ] {
        for kind in ["related_event_match", "im.nheko.msc3664.related_event_match"] {
            let condition =
                json!({"kind": kind, "rel_type": rel_type, "key": key, "pattern": pattern});
            let scenario = Scenario::new([]).with_related_events(related.clone());
            // The event itself does not match.
            assert_eq!(is_met(&condition, scenario, &message("hi")), is_match, "{condition}");
            assert!(!is_met(&condition, Scenario::new([]), &message("cake")), "{condition}");
        }
    }
}

#[test]
fn a_relation_of_an_unknown_event_meets_only_a_condition_without_a_pattern() {
    let thread = json!({"rel_type": "m.thread", "event_id": "$1"});
    let reply = json!({"m.in_reply_to": {"event_id": "$2"}});
    let fallback = json!({
        "rel_type": "m.thread", "event_id": "$1", "is_falling_back": true,
        "m.in_reply_to": {"event_id": "$2"},
    });
    for (relates_to, rel_type, is_match, is_match_with_fallbacks) in [
        (&thread, "m.thread", true, true),
        (&thread, "m.in_reply_to", false, false),
        (&thread, "m.replace", false, false),
        (&reply, "m.in_reply_to", true, true),
        (&reply, "m.thread", false, false),
        (&fallback, "m.thread", true, true),
        (&fallback, "m.in_reply_to", false, true),
        (&json!({"rel_type": "m.in_reply_to", "event_id": "$2"}), "m.in_reply_to", true, true),
        (&json!({"rel_type": "m.thread"}), "m.thread", false, false),
        (&json!({"m.in_reply_to": "$2"}), "m.in_reply_to", false, false),
        (&json!({"m.in_reply_to": {"event_id": 2}}), "m.in_reply_to", false, false),
        (&json!("m.thread"), "m.thread", false, false),
    ] {
        let mut event = message("hi");
        event["content"]["m.relates_to"] = relates_to.clone();
        for (include_fallbacks, is_match) in [(false, is_match), (true, is_match_with_fallbacks)] {
            let mut condition = json!({
                "kind": "related_event_match", "rel_type": rel_type,
                "include_fallbacks": include_fallbacks,
            });
            assert_eq!(is_met(&condition, Scenario::new([]), &event), is_match, "{condition}");
            condition["key"] = json!("sender");
            condition["pattern"] = json!("*");
            assert!(!is_met(&condition, Scenario::new([]), &event), "{condition}");
        }
    }
}

#[test]
fn a_known_fallback_counts_only_if_fallbacks_are_included() {
    let fallback = json!({
        "rel_type": "m.thread", "event_id": "$1", "is_falling_back": true,
        "m.in_reply_to": {"event_id": "$2"},
    });
    let reply = json!({"rel_type": "m.thread", "event_id": "$1", "is_falling_back": false});
    for (relates_to, include_fallbacks, is_match) in [
        (None, None, true),
        (None, Some(true), true),
        (Some(&reply), None, true),
        (Some(&fallback), None, false),
        (Some(&fallback), Some(false), false),
        (Some(&fallback), Some(true), true),
    ] {
        let mut event = message("hi");
        if let Some(relates_to) = relates_to {
            event["content"]["m.relates_to"] = relates_to.clone();
        }
        let scenario =
            Scenario::new([]).with_related_events(json!({"m.in_reply_to": {"sender": "@alice:x"}}));
        let condition = reply_to_alice(include_fallbacks);
        assert_eq!(is_met(&condition, scenario, &event), is_match, "{condition} {relates_to:?}");
    }
}

#[test]
fn an_explanation_contains_the_tested_value_of_the_related_event() {
    let rule = json!({"rule_id": "x", "conditions": [reply_to_alice(None)]});
    let document = global_document(&[("override", rule)]);
    let fallback = json!({"is_falling_back": true});
    for (related, relates_to, found) in [
        (json!({"m.in_reply_to": {"sender": "@bob:x"}}), None, json!("@bob:x")),
        (json!({"m.in_reply_to": {"sender": "@alice:x"}}), Some(fallback), json!(null)),
        (json!({"m.in_reply_to": {}}), None, json!(null)),
        (json!({}), None, json!(null)),
    ] {
        let mut event = message("hi");
        event["content"]["m.relates_to"] = relates_to.into();
        let scenario = Scenario::new([document.clone()]).with_related_events(related);
        let explanation = scenario.explain(&event);
        let step = &explanation["walk"][1];
        assert_eq!(
            (&step["condition"], &step["found"]),
            (&reply_to_alice(None), &found),
            "{explanation}"
        );
    }
}
