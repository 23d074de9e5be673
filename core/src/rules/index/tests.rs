use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy as _;
use serde_json::json;

use super::evaluate::Strategy;
use super::*;
use crate::rules::evaluate::generate::{self, NAMES, TAGS, USERS};
use crate::rules::evaluate::{CompiledRules, PushEvaluation, Room};
use crate::rules::event::Event;
use crate::rules::event::tests::any_json;
use crate::rules::{RuleKind, RuleScope};

/// The users who are put into an audience one after the other, in place of their older selves; a
/// user without documents is removed.
type Puts = Vec<(&'static str, Option<Vec<Document>>)>;

fn puts() -> impl proptest::strategy::Strategy<Value = Puts> {
    let documents = prop::option::weighted(0.85, generate::documents());
    prop::collection::vec((select(&USERS[..]), documents), 0..12)
}

fn member() -> impl proptest::strategy::Strategy<Value = (&'static str, Member<'static>)> {
    let name = prop::option::weighted(0.7, select(&NAMES[..]));
    let tag = prop::option::weighted(0.3, select(&TAGS[..]));
    (select(&USERS[..]), name, tag)
        .prop_map(|(user, display_name, profile_tag)| (user, Member { display_name, profile_tag }))
}

/// Rules in which every text is any text.
fn strange_document() -> impl proptest::strategy::Strategy<Value = Document> {
    let text = || prop_oneof![4 => "[ab .*?\\\\]{0,4}", 1 => "content\\.[ab]{0,2}", 1 => ".{0,4}"];
    let condition =
        (text(), text(), any_json(), 0..6usize).prop_map(|(key, pattern, value, kind)| {
            let kind = [
                "event_match",
                "event_property_is",
                "event_property_contains",
                "room_member_count",
                "sender_notification_permission",
                "contains_display_name",
            ][kind];
            json!({"kind": kind, "key": key, "pattern": pattern, "value": value, "is": pattern})
        });
    let rule = (text(), text(), prop::collection::vec(condition, 0..3)).prop_map(
        |(id, pattern, conditions)| {
            json!({
                "rule_id": id, "enabled": true, "pattern": pattern, "conditions": conditions,
                "actions": ["notify", {"set_tweak": pattern}],
            })
        },
    );
    prop::collection::vec((select(&RuleKind::ALL[..]), rule), 0..8).prop_map(|rules| {
        let rules = RuleKind::ALL.map(|kind| {
            let of_kind = rules.iter().filter(|(other, _)| *other == kind);
            (kind.as_str(), of_kind.map(|(_, rule)| rule).collect::<Vec<_>>())
        });
        let stored = json!({"rules": BTreeMap::from(rules), "changes": {}});
        Document::from_text(RuleScope::Global, &stored.to_string()).unwrap()
    })
}

fn after(puts: &Puts) -> (RuleIndex, BTreeMap<&str, &[Document]>) {
    let (mut audience, mut left) = (RuleIndex::new(), BTreeMap::new());
    for (user, documents) in puts {
        if let Some(documents) = documents {
            audience.put(user, documents);
            left.insert(*user, documents.as_slice());
        } else {
            audience.remove(user);
            left.remove(user);
        }
    }
    (audience, left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_member_has_the_verdict_of_their_own_rules(
        puts in puts(),
        members in prop::collection::vec(member(), 0..9),
        events in prop::collection::vec(generate::event(), 1..4),
        room in generate::room(),
    ) {
        let (audience, left) = after(&puts);
        prop_assert_eq!(audience.len(), left.len());
        let compiled: Vec<CompiledRules> = members
            .iter()
            .map(|(user, _)| CompiledRules::new(user, left.get(user).copied().unwrap_or_default()))
            .collect();
        let asked = audience.members(members.iter().copied());
        for value in events {
            let event = Event::from_value(value).unwrap();
            let alone: Vec<PushEvaluation<'_>> = compiled
                .iter()
                .zip(&members)
                .map(|(compiled, (_, member))| compiled.verdict(&event, &room, *member))
                .collect();
            for way in [Strategy::ByMember, Strategy::ByRule] {
                let verdicts = asked.hear(&event, &room, way);
                for (position, alone) in alone.iter().enumerate() {
                    let found = verdicts.of(position);
                    prop_assert_eq!(found.as_ref(), Some(alone), "{:?}", way);
                }
                let groups = verdicts.groups();
                let grouped: usize = groups.iter().map(|group| group.members.len()).sum();
                prop_assert_eq!(grouped, members.len());
                for (at, group) in groups.iter().enumerate() {
                    prop_assert!(groups[..at].iter().all(|other| other.verdict != group.verdict));
                    for position in &group.members {
                        prop_assert_eq!(&group.verdict, &alone[*position]);
                    }
                }
            }
        }
    }

    #[test]
    fn whatever_rules_and_events_say_all_ways_agree(
        document in strange_document(),
        event in any_json(),
        (user, name, tag) in (".{0,4}", ".{0,3}", ".{0,2}"),
        room in generate::room(),
    ) {
        let event = json!({"content": event, "type": name, "sender": user, "state_key": tag});
        let event = Event::from_value(event).unwrap();
        let mut audience = RuleIndex::new();
        audience.put(&user, [&document]);
        let member = Member { display_name: Some(&name), profile_tag: Some(&tag) };
        let (me, other) = (CompiledRules::new(&user, [&document]), CompiledRules::new(&name, []));
        let members = audience.members([(user.as_str(), member), (name.as_str(), member)]);
        for way in [Strategy::ByMember, Strategy::ByRule] {
            let verdicts = members.hear(&event, &room, way);
            prop_assert_eq!(verdicts.of(0), Some(me.explain(&event, &room, member).verdict));
            if user != name {
                prop_assert_eq!(verdicts.of(1), Some(other.verdict(&event, &room, member)));
            }
        }
    }

    #[test]
    fn an_audience_that_everybody_left_is_empty(puts in puts()) {
        let (mut audience, _) = after(&puts);
        for user in USERS {
            audience.remove(user);
        }
        prop_assert!(audience.is_empty());
        prop_assert_eq!(audience.shelf.len() + audience.standings.len(), 0);
    }
}

#[test]
fn nobody_is_told_of_an_event_without_members() {
    let audience = RuleIndex::new();
    let members = audience.members([]);
    let verdicts = members.verdicts(&Event::from_value(json!({})).unwrap(), &Room::default());
    assert!(members.is_empty());
    assert!(verdicts.groups().is_empty());
    assert_eq!(verdicts.of(0), None);
}

#[test]
fn members_whom_nobody_knows_have_the_built_in_rules() {
    let audience = RuleIndex::new();
    let member = |name| Member { display_name: Some(name), ..Member::default() };
    let members = audience.members([
        ("@a:x", member("Al")),
        ("@b:x", member("Bo")),
        ("@c:x", member("Cy")),
        ("@sender:x", member("Di")),
    ]);
    let event = Event::from_value(json!({
        "type": "m.room.message", "sender": "@sender:x", "content": {"body": "Bo and c and di"},
    }))
    .unwrap();
    let groups = members.verdicts(&event, &Room::default()).groups();
    let told: Vec<_> = groups
        .iter()
        .map(|group| (group.verdict.rule.map(|rule| rule.rule_id), &group.members[..]))
        .collect();
    assert_eq!(
        told,
        [
            (Some(".m.rule.message"), &[0][..]),
            (Some(".m.rule.contains_display_name"), &[1]),
            (Some(".m.rule.contains_user_name"), &[2]),
            (None, &[3]),
        ]
    );
}

#[test]
fn a_user_whose_id_has_wildcards_is_meant_by_more_than_it() {
    let audience = RuleIndex::new();
    let members = audience.members(["@c*:x", "@d:x"].map(|id| (id, Member::default())));
    let content = json!({"membership": "invite", "m.mentions": {}});
    let event = json!({"type": "m.room.member", "state_key": "@cat:x", "content": content});
    let event = Event::from_value(event).unwrap();
    let verdicts = members.verdicts(&event, &Room::default());
    let rule = |position| verdicts.of(position).unwrap().rule.unwrap().rule_id;
    assert_eq!((rule(0), rule(1)), (".m.rule.invite_for_me", ".m.rule.member_event"));
}

#[test]
fn a_user_who_is_replaced_takes_no_more_room() {
    let mut audience = RuleIndex::new();
    let rules =
        json!({"override": [{"rule_id": "x", "enabled": true, "actions": [], "conditions": []}]});
    let stored = json!({"rules": rules, "changes": {".m.rule.master": {"enabled": true}}});
    let document = Document::from_text(RuleScope::Global, &stored.to_string()).unwrap();
    for _ in 0..10 {
        audience.put("@a:x", [&document]);
    }
    assert_eq!((audience.len(), audience.users.len()), (1, 1));
    assert_eq!(audience.shelf.get(audience.users[0].own[0].rule).unwrap().holders.len(), 1);
}

#[test]
fn a_rule_that_stands_twice_in_a_broken_document_does_no_harm() {
    let mut audience = RuleIndex::new();
    let rule = json!({"rule_id": "x", "enabled": true, "actions": [], "conditions": []});
    let stored = json!({"rules": {"override": [rule, rule, rule]}, "changes": {}});
    let document = Document::from_text(RuleScope::Global, &stored.to_string()).unwrap();
    for user in ["@a:x", "@b:x", "@a:x"] {
        audience.put(user, [&document]);
    }
    audience.remove("@b:x");
    audience.remove("@a:x");
    assert_eq!(audience.shelf.len(), 0);
}
