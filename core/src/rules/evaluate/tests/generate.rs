//! Generators of rules and events that match each other often.

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::parse_document;
use crate::rules::evaluate::Room;
use crate::rules::{RuleDocument, builtin};

pub(crate) const USERS: [&str; 7] =
    ["@alice:x", "@Bob:x", "@al:x", "@c*:x", "@тест:x", "@a b:x", "nobody"];
pub(crate) const DISPLAY_NAMES: [&str; 7] = ["", "Al", "Al Bo", "*", "Тест", "a*", "alice"];
pub(crate) const PROFILE_TAGS: [&str; 2] = ["phone", "desk"];

const WORDS: [&str; 14] = [
    "alice",
    "Al",
    "bo",
    "cake",
    "c",
    "тест",
    "мойтест",
    "@room",
    "*",
    "c++",
    "🎂",
    "\n",
    "!",
    "_",
];
const PATTERNS: [&str; 20] = [
    "cake", "Al", "al bo", "c*", "*ake", "?ake", "*", "тест", "тес*", "c++", "🎂", "", "@room",
    "!r:x", "!R*", "@bob:x", "m.room.*", "m.text", "invite", "alice",
];
const PROPERTY_PATHS: [&str; 10] = [
    "content.body",
    "type",
    "room_id",
    "sender",
    "state_key",
    "content.msgtype",
    "content.n",
    r"content.m\.mentions.user_ids",
    "content.list",
    "absent",
];

const REL_TYPES: [&str; 2] = ["m.in_reply_to", "m.thread"];

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(&PATTERNS[..]).prop_map(Value::from),
        select(&USERS[..]).prop_map(Value::from),
        (0..3).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

pub(crate) fn any_condition() -> impl Strategy<Value = Value> {
    let key = || select(&PROPERTY_PATHS[..]);
    prop_oneof![
        4 => (key(), select(&PATTERNS[..]))
            .prop_map(|(key, pattern)| json!({"kind": "event_match", "key": key, "pattern": pattern})),
        1 => Just(json!({"kind": "contains_display_name"})),
        1 => select(&["2", ">2", "<=3", "==1"][..])
            .prop_map(|is| json!({"kind": "room_member_count", "is": is})),
        1 => select(&["room", "moon"][..])
            .prop_map(|key| json!({"kind": "sender_notification_permission", "key": key})),
        1 => (key(), any_scalar())
            .prop_map(|(key, value)| json!({"kind": "event_property_is", "key": key, "value": value})),
        1 => (key(), any_scalar()).prop_map(
            |(key, value)| json!({"kind": "event_property_contains", "key": key, "value": value})
        ),
        1 => any_time_condition(),
        1 => any_relation_condition(),
        1 => Just(json!({"kind": "org.x.unknown"})),
    ]
}

fn any_relation_condition() -> impl Strategy<Value = Value> {
    let property = (select(&PROPERTY_PATHS[..]), select(&PATTERNS[..]));
    (select(&REL_TYPES[..]), any::<bool>(), prop::option::of(property)).prop_map(
        |(rel_type, include_fallbacks, property)| {
            let mut condition = json!({
                "kind": "related_event_match", "rel_type": rel_type,
                "include_fallbacks": include_fallbacks,
            });
            if let Some((key, pattern)) = property {
                condition["key"] = key.into();
                condition["pattern"] = pattern.into();
            }
            condition
        },
    )
}

/// Generates conditions that are met at about half of the times of [`any_time`].
pub(crate) fn any_time_condition() -> impl Strategy<Value = Value> {
    let zones = vec!["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati"];
    let days = prop::option::of(prop::collection::vec(0..=7u8, 1..6));
    let times = prop::option::of((0..24u8, 0..24u8));
    let interval = (days, times).prop_map(|(days, times)| {
        let mut interval = json!({});
        if let Some(days) = days {
            interval["day_of_week"] = days.into();
        }
        if let Some((a, b)) = times {
            interval["time_of_day"] =
                json!([format!("{:02}:00", a.min(b)), format!("{:02}:59", a.max(b))]);
        }
        interval
    });
    (select(zones), prop::collection::vec(interval, 1..4)).prop_map(|(zone, intervals)| {
        json!({"kind": "time_and_day", "timezone": zone, "intervals": intervals})
    })
}

/// Generates times in the year 2026.
pub(crate) fn any_time() -> impl Strategy<Value = Timestamp> {
    (1_767_225_600..1_798_761_600_i64).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn any_actions() -> impl Strategy<Value = Value> {
    select(vec![
        json!(["notify"]),
        json!([]),
        json!(["dont_notify"]),
        json!(["notify", {"set_tweak": "highlight"}]),
        json!([{"set_tweak": "sound", "value": "ring"}, "notify", {"set_tweak": "sound"}]),
    ])
}

fn any_rule() -> impl Strategy<Value = (&'static str, Value)> {
    let enabled = || prop::bool::weighted(0.8);
    let conditions = prop::collection::vec(any_condition(), 0..3);
    let rule_with_conditions = (conditions, any_actions(), enabled(), 0..3).prop_map(
        |(conditions, actions, enabled, id)| {
            json!({"rule_id": format!("r{id}"), "conditions": conditions, "actions": actions, "enabled": enabled})
        },
    );
    let rule_with_id = |ids: Vec<&'static str>| {
        (select(ids), any_actions(), enabled()).prop_map(|(id, actions, enabled)| {
            json!({"rule_id": id, "pattern": id, "actions": actions, "enabled": enabled})
        })
    };
    prop_oneof![
        3 => (select(vec!["override", "underride"]), rule_with_conditions),
        2 => (Just("content"), rule_with_id(PATTERNS.to_vec())),
        1 => (Just("room"), rule_with_id(vec!["!r:x", "!R:X", "!other:x", "!other2:x", "!*"])),
        2 => (Just("sender"), rule_with_id(USERS.to_vec())),
    ]
}

/// Generates rules by kind, without duplicate ids within a kind.
fn any_rules() -> impl Strategy<Value = Value> {
    prop::collection::vec(any_rule(), 0..7).prop_map(|rules| {
        let mut kinds =
            json!({"override": [], "content": [], "room": [], "sender": [], "underride": []});
        for (kind, rule) in rules {
            let rules_of_kind = kinds[kind].as_array_mut().unwrap();
            if rules_of_kind.iter().all(|other| other["rule_id"] != rule["rule_id"]) {
                rules_of_kind.push(rule);
            }
        }
        kinds
    })
}

fn any_changes() -> impl Strategy<Value = Value> {
    let ids: Vec<String> = builtin::all().iter().map(|(_, rule)| rule.rule_id.clone()).collect();
    let change = prop_oneof![
        any::<bool>().prop_map(|enabled| json!({"enabled": enabled})),
        any_actions().prop_map(|actions| json!({"actions": actions})),
    ];
    prop::collection::btree_map(select(ids), change, 0..4).prop_map(|changes| json!(changes))
}

pub(crate) fn any_global_document() -> impl Strategy<Value = RuleDocument> {
    (any_rules(), prop_oneof![2 => Just(json!({})), 1 => any_changes()]).prop_map(
        |(rules, changes)| parse_document("global", &json!({"rules": rules, "changes": changes})),
    )
}

/// Generates one user's documents: a global one, and sometimes one of a device.
pub(crate) fn any_documents() -> impl Strategy<Value = Vec<RuleDocument>> {
    let device =
        prop::option::weighted(0.2, (select(&PROFILE_TAGS[..]), any_rules())).prop_map(|device| {
            device.map(|(tag, rules)| {
                parse_document(&format!("device/{tag}"), &json!({"rules": rules, "changes": {}}))
            })
        });
    (any_global_document(), device)
        .prop_map(|(global, device)| device.into_iter().chain([global]).collect())
}

fn any_body() -> impl Strategy<Value = Value> {
    let words = prop::collection::vec((select(&WORDS[..]), select(&[" ", "", ", "][..])), 0..7);
    let text = words.prop_map(|words| {
        words.into_iter().flat_map(|(word, gap)| [word, gap]).collect::<String>().into()
    });
    prop_oneof![8 => text, 1 => any_scalar()]
}

fn any_mentions() -> impl Strategy<Value = Value> {
    let user = prop_oneof![3 => select(&USERS[..]).prop_map(Value::from), 1 => any_scalar()];
    let users = prop::collection::vec(user, 0..3);
    (prop::option::of(users), prop::option::of(any::<bool>())).prop_map(|(users, room)| {
        let mut mentions = json!({});
        if let Some(users) = users {
            mentions["user_ids"] = users.into();
        }
        if let Some(room) = room {
            mentions["room"] = room.into();
        }
        mentions
    })
}

fn any_relation() -> impl Strategy<Value = Value> {
    any::<bool>().prop_map(|is_falling_back| {
        json!({
            "rel_type": "m.thread", "event_id": "$1", "is_falling_back": is_falling_back,
            "m.in_reply_to": {"event_id": "$2"},
        })
    })
}

/// Generates events of random types, rooms and senders.
pub(crate) fn any_event() -> impl Strategy<Value = Value> {
    let types =
        ["m.room.message", "m.room.member", "m.room.tombstone", "m.reaction", "M.Room.Encrypted"];
    let senders = USERS.into_iter().chain(["@zoe:x", "@ALICE:x"]).collect::<Vec<_>>();
    let state_keys = USERS.into_iter().chain(["", "@BOB:X", "@cat:x"]).collect::<Vec<_>>();
    let content = (
        prop::option::weighted(0.9, any_body()),
        prop::option::weighted(0.3, any_mentions()),
        prop::option::weighted(0.3, select(&["m.text", "m.emote", "m.notice"][..])),
        prop::option::of(select(&["invite", "invite", "join"][..])),
        prop::option::of(any_scalar()),
        prop::option::of(prop::collection::vec(any_scalar(), 0..3)),
        prop::option::weighted(0.2, any_relation()),
    )
        .prop_map(|(body, mentions, msgtype, membership, n, list, relation)| {
            let members = [
                ("body", body),
                ("m.mentions", mentions),
                ("msgtype", msgtype.map(Value::from)),
                ("membership", membership.map(Value::from)),
                ("n", n),
                ("list", list.map(Value::from)),
                ("m.relates_to", relation),
            ];
            Value::Object(
                members.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?))).collect(),
            )
        });
    (
        prop_oneof![3 => Just(types[0]), 2 => select(types.to_vec())],
        prop::option::weighted(0.9, select(senders)),
        select(vec!["!r:x", "!R:x", "!q:x"]),
        prop::option::weighted(0.4, select(state_keys)),
        content,
    )
        .prop_map(|(kind, sender, room, state_key, content)| {
            let mut event = json!({"type": kind, "room_id": room, "content": content});
            if let Some(sender) = sender {
                event["sender"] = sender.into();
            }
            if let Some(state_key) = state_key {
                event["state_key"] = state_key.into();
            }
            event
        })
}

/// Generates the events that an event is related to, by relation type.
pub(crate) fn any_related_events() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(select(&REL_TYPES[..]), any_event(), 0..2)
        .prop_map(|events| json!(events))
}

pub(crate) fn any_room() -> impl Strategy<Value = Room> {
    let levels = select(vec![
        json!({}),
        json!({"users_default": 50}),
        json!({"users": {"@alice:x": 100}, "notifications": {"room": 60, "moon": 0}}),
    ]);
    let count = prop::option::weighted(0.9, 1..4u64);
    let creators = prop::collection::btree_set(select(&USERS[..]).prop_map_into(), 0..2);
    (count, prop::option::weighted(0.7, levels), creators).prop_map(
        |(member_count, levels, creators)| Room {
            member_count,
            power_levels: levels.map(|levels| serde_json::from_value(levels).unwrap()),
            creators,
        },
    )
}
