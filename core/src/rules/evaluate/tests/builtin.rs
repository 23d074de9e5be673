//! Tests of built-in rule evaluation, with and without changes by the user.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ALICE, BUILTIN_RULES, CompiledCondition, CompiledRule, ConditionContext, Event, MASTER_INDEX,
    Member, Scenario, UserNames, document_in_scope, effective_conditions, matching_rule_id,
    message, parse_room,
};
use crate::rules::User;
use crate::rules::work::UserWorkBudget;

#[test]
fn builtin_rules_match_their_events() {
    let room_with = |member_count: u64| json!({"member_count": member_count});
    let state_event = |kind: &str, key: &str, content: Value| json!({"type": kind, "state_key": key, "sender": "@bob:example.org", "content": content});
    let message_with =
        |content: Value| json!({"type": "m.room.message", "sender": "@b:x", "content": content});
    let room_mention = message_with(json!({"m.mentions": {"room": true}}));
    let room_with_moderator = json!({"member_count": 9, "power_levels": {"users": {"@b:x": 50}}});
    let sound = |name| json!(["notify", {"set_tweak": "sound", "value": name}]);
    for (rule, room, event, actions) in [
        ("message", room_with(3), message("hi"), json!(["notify"])),
        ("room_one_to_one", room_with(2), message("hi"), sound("default")),
        ("encrypted", room_with(3), json!({"type": "m.room.encrypted"}), json!(["notify"])),
        (
            "encrypted_room_one_to_one",
            room_with(2),
            json!({"type": "m.room.encrypted"}),
            sound("default"),
        ),
        ("call", room_with(2), json!({"type": "m.call.invite"}), sound("ring")),
        ("reaction", room_with(2), json!({"type": "m.reaction"}), json!([])),
        (
            "suppress_notices",
            room_with(2),
            message_with(json!({"msgtype": "m.notice", "body": "alice"})),
            json!([]),
        ),
        (
            "suppress_edits",
            room_with(2),
            message_with(json!({"m.relates_to": {"rel_type": "m.replace"}})),
            json!([]),
        ),
        (
            "invite_for_me",
            room_with(2),
            state_event("m.room.member", ALICE, json!({"membership": "invite"})),
            sound("default"),
        ),
        (
            "member_event",
            room_with(2),
            state_event("m.room.member", "@c:x", json!({"membership": "invite"})),
            json!([]),
        ),
        (
            "member_event",
            room_with(2),
            state_event("m.room.member", ALICE, json!({"membership": "join"})),
            json!([]),
        ),
        (
            "tombstone",
            room_with(2),
            state_event("m.room.tombstone", "", json!({})),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        (
            "room.server_acl",
            room_with(2),
            state_event("m.room.server_acl", "", json!({})),
            json!([]),
        ),
        (
            "is_user_mention",
            room_with(2),
            message_with(json!({"m.mentions": {"user_ids": ["@c:x", ALICE]}})),
            json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]),
        ),
        (
            "is_room_mention",
            room_with_moderator.clone(),
            room_mention.clone(),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        (
            "roomnotif",
            room_with_moderator.clone(),
            message_with(json!({"body": "@room!"})),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        ("message", room_with(9), room_mention.clone(), json!(["notify"])),
        (
            "contains_user_name",
            room_with(9),
            message("hey ALICE!"),
            json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]),
        ),
    ] {
        let explanation = Scenario::new([]).with_room(&room).explain(&event);
        assert_eq!(explanation["rule"]["rule_id"], format!(".m.rule.{rule}"), "{event}");
        assert_eq!(explanation["actions"], actions, "{event}");
        assert_eq!(explanation["notify"], actions.as_array().unwrap().contains(&json!("notify")));
    }
    assert_eq!(matching_rule_id(&[], &json!({"type": "m.room.topic", "sender": "@b:x"})), None);
}

#[test]
fn a_builtin_rule_uses_the_actions_that_the_user_set() {
    let changes = json!({".m.rule.message": {"actions": [{"set_tweak": "sound"}, "coalesce"]}});
    let explanation =
        Scenario::new([document_in_scope("global", &[], &changes)]).explain(&message("hi"));
    assert_eq!(explanation["rule"]["rule_id"], ".m.rule.message");
    assert_eq!(explanation["notify"], false);
    assert_eq!(explanation["actions"], json!([{"set_tweak": "sound"}]));
    assert_eq!(explanation["tweaks"], json!({"sound": "default"}));
}

fn first_unmet_condition(rule: &CompiledRule, context: &ConditionContext<'_>) -> Option<usize> {
    rule.conditions.iter().position(|condition| !condition.is_met(context))
}

#[test]
fn shared_builtin_rules_match_like_copies_made_for_the_user() {
    let user = User::new(ALICE);
    let names = UserNames::new(user);
    let room = parse_room(&json!({"member_count": 2, "power_levels": {"users_default": 50}}));
    let member = Member { display_name: Some("Al"), profile_tag: None };
    let events = [
        message("alice"),
        message("<localpart> <user id>"),
        message("Al @room"),
        json!({"type": "m.room.member", "state_key": ALICE, "content": {"membership": "invite"}}),
        json!({"type": "m.room.member", "state_key": "<user id>", "content": {"membership": "invite"}}),
        json!({"content": {"m.mentions": {"user_ids": [ALICE], "room": true}}, "sender": "@b:x"}),
        json!({"content": {"m.mentions": {"user_ids": ["<user id>"]}}}),
    ]
    .map(|event| Event::from_value(event).unwrap());
    assert_eq!(*BUILTIN_RULES[MASTER_INDEX].compiled_rule.rule_id, *crate::rules::builtin::MASTER);
    let rules = crate::rules::builtin::all().iter().zip(BUILTIN_RULES.iter());
    for ((kind, rule), shared_rule) in rules {
        let personal_copy = crate::rules::builtin::replace_placeholders(rule, user);
        let conditions = effective_conditions(kind, &personal_copy);
        let personal_rule =
            CompiledRule::new(kind, &personal_copy, &conditions, CompiledCondition::new);
        for event in &events {
            let now = Timestamp::UNIX_EPOCH;
            let work = &UserWorkBudget::unlimited();
            let context = ConditionContext { event, room: &room, user: &names, member, now, work };
            assert_eq!(
                first_unmet_condition(&shared_rule.compiled_rule, &context),
                first_unmet_condition(&personal_rule, &context),
                "{}",
                rule.rule_id
            );
        }
    }
}
