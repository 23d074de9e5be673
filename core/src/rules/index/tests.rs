use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::rules::evaluate::generate::{self, NAMES, TAGS, USERS};
use crate::rules::evaluate::{CompiledRules, PushEvaluation, Room};
use crate::rules::event::Event;
use crate::rules::event::tests::any_json;
use crate::rules::{RuleKind, RuleScope};

/// Changes that are applied in order: a user with documents is inserted or replaced, a user without
/// documents is removed.
type Changes = Vec<(&'static str, Option<Vec<Document>>)>;

fn changes() -> impl Strategy<Value = Changes> {
    let documents = prop::option::weighted(0.85, generate::documents());
    prop::collection::vec((select(&USERS[..]), documents), 0..12)
}

fn member() -> impl Strategy<Value = (&'static str, Member<'static>)> {
    let name = prop::option::weighted(0.7, select(&NAMES[..]));
    let tag = prop::option::weighted(0.3, select(&TAGS[..]));
    (select(&USERS[..]), name, tag)
        .prop_map(|(user, display_name, profile_tag)| (user, Member { display_name, profile_tag }))
}

/// A document with arbitrary text in every field.
fn strange_document() -> impl Strategy<Value = Document> {
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

fn apply(changes: &Changes) -> (RuleIndex, BTreeMap<&str, &[Document]>) {
    let (mut index, mut left) = (RuleIndex::new(), BTreeMap::new());
    for (user, documents) in changes {
        if let Some(documents) = documents {
            index.insert(user, documents);
            left.insert(*user, documents.as_slice());
        } else {
            index.remove(user);
            left.remove(user);
        }
    }
    (index, left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_index_agrees_with_the_evaluation_of_each_user(
        changes in changes(),
        members in prop::collection::vec(member(), 0..9),
        events in prop::collection::vec(generate::event(), 1..4),
        room in generate::room(),
    ) {
        let (index, left) = apply(&changes);
        prop_assert_eq!(index.len(), left.len());
        let compiled: Vec<CompiledRules> = members
            .iter()
            .map(|(user, _)| CompiledRules::new(user, left.get(user).copied().unwrap_or_default()))
            .collect();
        let room_members = index.members(members.iter().copied());
        for value in events {
            let event = Event::from_value(value).unwrap();
            let alone: Vec<PushEvaluation<'_>> = compiled
                .iter()
                .zip(&members)
                .map(|(compiled, (_, member))| compiled.evaluate(&event, &room, *member))
                .collect();
            let evaluation = room_members.evaluate(&event, &room);
            for (position, alone) in alone.iter().enumerate() {
                let found = evaluation.get(position);
                prop_assert_eq!(found.as_ref(), Some(alone));
            }
            let groups = evaluation.groups();
            let grouped: usize = groups.iter().map(|group| group.members.len()).sum();
            prop_assert_eq!(grouped, members.len());
            for (at, group) in groups.iter().enumerate() {
                prop_assert!(groups[..at].iter().all(|other| other.evaluation != group.evaluation));
                for position in &group.members {
                    prop_assert_eq!(&group.evaluation, &alone[*position]);
                }
            }
        }
    }

    #[test]
    fn the_index_agrees_for_arbitrary_rules_and_events(
        document in strange_document(),
        event in any_json(),
        (user, name, tag) in (".{0,4}", ".{0,3}", ".{0,2}"),
        room in generate::room(),
    ) {
        let event = json!({"content": event, "type": name, "sender": user, "state_key": tag});
        let event = Event::from_value(event).unwrap();
        let mut index = RuleIndex::new();
        index.insert(&user, [&document]);
        let member = Member { display_name: Some(&name), profile_tag: Some(&tag) };
        let (me, other) = (CompiledRules::new(&user, [&document]), CompiledRules::new(&name, []));
        let members = index.members([(user.as_str(), member), (name.as_str(), member)]);
        let evaluation = members.evaluate(&event, &room);
        prop_assert_eq!(evaluation.get(0), Some(me.explain(&event, &room, member).evaluation));
        if user != name {
            prop_assert_eq!(evaluation.get(1), Some(other.evaluate(&event, &room, member)));
        }
    }

    #[test]
    fn an_index_from_which_all_users_were_removed_is_empty(changes in changes()) {
        let (mut index, _) = apply(&changes);
        for user in USERS {
            index.remove(user);
        }
        prop_assert!(index.is_empty());
        prop_assert!(index.rules.is_empty());
    }
}

#[test]
fn an_evaluation_without_members_is_empty() {
    let index = RuleIndex::new();
    let members = index.members([]);
    let evaluation = members.evaluate(&Event::from_value(json!({})).unwrap(), &Room::default());
    assert!(members.is_empty());
    assert!(evaluation.groups().is_empty());
    assert_eq!(evaluation.get(0), None);
}

#[test]
fn members_that_are_not_indexed_have_the_built_in_rules() {
    let index = RuleIndex::new();
    let member = |name| Member { display_name: Some(name), ..Member::default() };
    let members = index.members([
        ("@a:x", member("Al")),
        ("@b:x", member("Bo")),
        ("@c:x", member("Cy")),
        ("@sender:x", member("Di")),
    ]);
    let event = Event::from_value(json!({
        "type": "m.room.message", "sender": "@sender:x", "content": {"body": "Bo and c and di"},
    }))
    .unwrap();
    let groups = members.evaluate(&event, &Room::default()).groups();
    let found: Vec<_> = groups
        .iter()
        .map(|group| (group.evaluation.rule.map(|rule| rule.rule_id), &group.members[..]))
        .collect();
    assert_eq!(
        found,
        [
            (Some(".m.rule.message"), &[0][..]),
            (Some(".m.rule.contains_display_name"), &[1]),
            (Some(".m.rule.contains_user_name"), &[2]),
            (None, &[3]),
        ]
    );
}

#[test]
fn a_user_id_with_wildcards_matches_other_ids() {
    let index = RuleIndex::new();
    let members = index.members(["@c*:x", "@d:x"].map(|id| (id, Member::default())));
    let content = json!({"membership": "invite", "m.mentions": {}});
    let event = json!({"type": "m.room.member", "state_key": "@cat:x", "content": content});
    let event = Event::from_value(event).unwrap();
    let evaluation = members.evaluate(&event, &Room::default());
    let rule = |position| evaluation.get(position).unwrap().rule.unwrap().rule_id;
    assert_eq!((rule(0), rule(1)), (".m.rule.invite_for_me", ".m.rule.member_event"));
}

#[test]
fn replacing_a_user_does_not_grow_the_index() {
    let mut index = RuleIndex::new();
    let rules =
        json!({"override": [{"rule_id": "x", "enabled": true, "actions": [], "conditions": []}]});
    let stored = json!({"rules": rules, "changes": {".m.rule.master": {"enabled": true}}});
    let document = Document::from_text(RuleScope::Global, &stored.to_string()).unwrap();
    for _ in 0..10 {
        index.insert("@a:x", [&document]);
    }
    assert_eq!((index.len(), index.users.len()), (1, 1));
    assert_eq!(index.rules.get(index.users[0].rules[0].number).subscribers, 1);
}

#[test]
fn a_document_may_contain_a_rule_twice() {
    let mut index = RuleIndex::new();
    let rule = json!({"rule_id": "x", "enabled": true, "actions": [], "conditions": []});
    let stored = json!({"rules": {"override": [rule, rule, rule]}, "changes": {}});
    let document = Document::from_text(RuleScope::Global, &stored.to_string()).unwrap();
    for user in ["@a:x", "@b:x", "@a:x"] {
        index.insert(user, [&document]);
    }
    index.remove("@b:x");
    index.remove("@a:x");
    assert!(index.rules.is_empty());
}
