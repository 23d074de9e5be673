//! Tests of the rule index.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::rules::RuleDocument;
use crate::rules::evaluate::generate::{self, DISPLAY_NAMES, PROFILE_TAGS, USERS};
use crate::rules::evaluate::{Member, PushEvaluation, Room};
use crate::rules::event::Event;
use crate::rules::event::tests::any_json;
use crate::rules::explain::EffectiveRules;
use crate::rules::work::RequestWorkBudget;
use crate::rules::{RuleKind, RuleScope};

type UserDocuments = BTreeMap<&'static str, Vec<RuleDocument>>;

fn any_user_documents() -> impl Strategy<Value = UserDocuments> {
    prop::collection::btree_map(select(&USERS[..]), generate::any_documents(), 0..12)
}

fn any_member() -> impl Strategy<Value = (&'static str, Member<'static>)> {
    let name = prop::option::weighted(0.7, select(&DISPLAY_NAMES[..]));
    let tag = prop::option::weighted(0.3, select(&PROFILE_TAGS[..]));
    (select(&USERS[..]), name, tag)
        .prop_map(|(user, display_name, profile_tag)| (user, Member { display_name, profile_tag }))
}

/// Generates documents with arbitrary text in rule ids, patterns and conditions.
fn any_document() -> impl Strategy<Value = RuleDocument> {
    let any_text =
        || prop_oneof![4 => "[ab .*?\\\\]{0,4}", 1 => "content\\.[ab]{0,2}", 1 => ".{0,4}"];
    let condition = (any_text(), any_text(), any_json(), 0..7usize).prop_map(
        |(key, pattern, value, kind_index)| {
            let kind = [
                "event_match",
                "event_property_is",
                "event_property_contains",
                "room_member_count",
                "sender_notification_permission",
                "contains_display_name",
                "time_and_day",
            ][kind_index];
            let intervals = json!([{"time_of_day": ["00:00", "11:59"]}]);
            json!({
                "kind": kind, "key": key, "pattern": pattern, "value": value, "is": pattern,
                "intervals": intervals,
            })
        },
    );
    let rule = (any_text(), any_text(), prop::collection::vec(condition, 0..3)).prop_map(
        |(id, pattern, conditions)| {
            json!({
                "rule_id": id, "enabled": true, "pattern": pattern, "conditions": conditions,
                "actions": ["notify", {"set_tweak": pattern}],
            })
        },
    );
    prop::collection::vec((select(RuleKind::ALL), rule), 0..8).prop_map(|rules| {
        let rules = RuleKind::ALL.iter().map(|kind| {
            let rules_of_kind = rules.iter().filter(|(other, _)| other == kind);
            (kind.as_str(), rules_of_kind.map(|(_, rule)| rule).collect::<Vec<_>>())
        });
        let stored_json = json!({"rules": rules.collect::<BTreeMap<_, _>>(), "changes": {}});
        RuleDocument::from_text(RuleScope::Global, &stored_json.to_string()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_index_agrees_with_single_user_evaluation(
        user_documents in any_user_documents(),
        members in prop::collection::vec(any_member(), 0..9),
        events in prop::collection::vec(
            (generate::any_event(), generate::any_related_events()),
            1..4,
        ),
        room in generate::any_room(),
        now in generate::any_time(),
    ) {
        let indexed_rules: BTreeMap<&str, IndexedRules> = user_documents
            .iter()
            .map(|(user, documents)| (*user, IndexedRules::new(documents)))
            .collect();
        let effective_rules: Vec<EffectiveRules<'_>> = members
            .iter()
            .map(|(user, _)| {
                EffectiveRules::new(user, user_documents.get(user).into_iter().flatten())
            })
            .collect();
        let room_members = Members::new(
            members.iter().map(|(user, member)| (*user, *member, indexed_rules.get(user))),
        );
        // The members without their tags, and their devices with the tags.
        let untagged_members = Members::new(members.iter().map(|(user, member)| {
            (*user, Member { profile_tag: None, ..*member }, indexed_rules.get(user))
        }));
        let tags = members.iter().enumerate();
        let devices: Vec<(usize, &str)> = tags
            .filter_map(|(position, (_, member))| Some((position, member.profile_tag?)))
            .collect();
        for (value, related_events) in events {
            let event = Event::from_value(value).unwrap();
            let event = event.with_related_events(related_events).unwrap();
            let expected: Vec<PushEvaluation<'_>> = effective_rules
                .iter()
                .zip(&members)
                .map(|(rules, (_, member))| rules.explain(&event, &room, *member, now).evaluation)
                .collect();
            let evaluation = room_members.evaluate(&event, &room, now, &mut RequestWorkBudget::default());
            let mut budget = RequestWorkBudget::default();
            let untagged_results = untagged_members.evaluate(&event, &room, now, &mut budget);
            let device_results = untagged_members.evaluate_devices(
                devices.clone(), &event, &room, now, &mut budget,
            );
            for (position, expected) in expected.iter().enumerate() {
                let actual = evaluation.get(position);
                prop_assert_eq!(actual.as_ref(), Some(expected));
                let tag = members[position].1.profile_tag;
                let device_result = tag.and_then(|tag| device_results.get(&(position, tag)));
                let result = device_result.copied().or_else(|| untagged_results.get(position));
                prop_assert_eq!(result.as_ref(), Some(expected), "{:?}", tag);
            }
            let groups = evaluation.groups();
            let grouped_members: usize = groups.iter().map(|group| group.members.len()).sum();
            prop_assert_eq!(grouped_members, members.len());
            for (index, group) in groups.iter().enumerate() {
                let mut earlier_groups = groups[..index].iter();
                prop_assert!(earlier_groups.all(|other| other.evaluation != group.evaluation));
                for position in &group.members {
                    prop_assert_eq!(&group.evaluation, &expected[*position]);
                }
            }
        }
    }

    #[test]
    fn the_index_agrees_with_single_user_evaluation_for_arbitrary_rules(
        document in any_document(),
        event in any_json(),
        (user, name, tag) in (".{0,4}", ".{0,3}", ".{0,2}"),
        room in generate::any_room(),
        now in generate::any_time(),
    ) {
        let event = Event::from_value(json!({"content": event, "type": name, "sender": user, "state_key": tag})).unwrap();
        let indexed_rules = IndexedRules::new([&document]);
        let member = Member { display_name: Some(&name), profile_tag: Some(&tag) };
        let user_rules = EffectiveRules::new(&user, [&document]);
        let other_rules = EffectiveRules::new(&name, []);
        let members = Members::new([
            (user.as_str(), member, Some(&indexed_rules)),
            (name.as_str(), member, None),
        ]);
        let evaluation = members.evaluate(&event, &room, now, &mut RequestWorkBudget::default());
        let user_explanation = user_rules.explain(&event, &room, member, now);
        prop_assert_eq!(evaluation.get(0), Some(user_explanation.evaluation));
        if user != name {
            let other_explanation = other_rules.explain(&event, &room, member, now);
            prop_assert_eq!(evaluation.get(1), Some(other_explanation.evaluation));
        }
    }
}

#[test]
fn an_evaluation_without_members_is_empty() {
    let members = Members::new([]);
    let evaluation = members.evaluate(
        &Event::from_value(json!({})).unwrap(),
        &Room::default(),
        Timestamp::UNIX_EPOCH,
        &mut RequestWorkBudget::default(),
    );
    assert!(members.is_empty());
    assert!(evaluation.groups().is_empty());
    assert_eq!(evaluation.get(0), None);
}

#[test]
fn members_without_rules_have_the_builtin_rules() {
    let member = |name| Member { display_name: Some(name), ..Member::default() };
    let members = Members::new([
        ("@a:x", member("Al"), None),
        ("@b:x", member("Bo"), None),
        ("@c:x", member("Cy"), None),
        ("@sender:x", member("Di"), None),
    ]);
    let event = Event::from_value(json!({
        "type": "m.room.message", "sender": "@sender:x", "content": {"body": "Bo and c and di"},
    }))
    .unwrap();
    let groups = members
        .evaluate(
            &event,
            &Room::default(),
            Timestamp::UNIX_EPOCH,
            &mut RequestWorkBudget::default(),
        )
        .groups();
    let actual: Vec<_> = groups
        .iter()
        .map(|group| (group.evaluation.rule.map(|rule| rule.rule_id), &group.members[..]))
        .collect();
    assert_eq!(
        actual,
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
    let members = Members::new(["@c*:x", "@d:x"].map(|id| (id, Member::default(), None)));
    let content = json!({"membership": "invite", "m.mentions": {}});
    let event = Event::from_value(
        json!({"type": "m.room.member", "state_key": "@cat:x", "content": content}),
    )
    .unwrap();
    let evaluation = members.evaluate(
        &event,
        &Room::default(),
        Timestamp::UNIX_EPOCH,
        &mut RequestWorkBudget::default(),
    );
    let rule_id = |position| evaluation.get(position).unwrap().rule.unwrap().rule_id;
    assert_eq!((rule_id(0), rule_id(1)), (".m.rule.invite_for_me", ".m.rule.member_event"));
}
