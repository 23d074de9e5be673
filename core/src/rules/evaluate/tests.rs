//! Tests of evaluation through the functions that the server calls, and helpers for these tests.

mod builtin;
mod conditions;
mod explanation;
pub(crate) mod generate;
mod order;
mod room;
mod ruma;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::rules::event::Event;
use crate::rules::explain::EffectiveRules;
use crate::rules::index::{IndexedRules, Members};
use crate::rules::work::RequestWorkBudget;

const ALICE: &str = "@alice:example.org";

fn parse_document(scope: &str, stored_json: &Value) -> RuleDocument {
    RuleDocument::from_text(scope.parse().unwrap(), &stored_json.to_string()).unwrap()
}

/// Returns the global document with the given rules: `[(kind, rule)]`, in order within a kind.
fn global_document(rules: &[(&str, Value)]) -> RuleDocument {
    document_in_scope("global", rules, &json!({}))
}

fn document_in_scope(scope: &str, rules: &[(&str, Value)], changes: &Value) -> RuleDocument {
    let mut kinds = json!({});
    for &kind in RuleKind::ALL {
        kinds[kind.as_str()] = json!([]);
    }
    for (kind, rule) in rules {
        let mut rule_json = json!({"enabled": true, "actions": ["notify"]});
        rule_json.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        kinds[kind].as_array_mut().unwrap().push(rule_json);
    }
    parse_document(scope, &json!({"rules": kinds, "changes": changes}))
}

/// Parses a room; null is the same as absent.
fn parse_room(room: &Value) -> Room {
    let creators: Option<_> = serde_json::from_value(room["creators"].clone()).unwrap();
    Room {
        member_count: room["member_count"].as_u64(),
        power_levels: serde_json::from_value(room["power_levels"].clone()).unwrap(),
        creators: creators.unwrap_or_default(),
    }
}

fn message(body: &str) -> Value {
    json!({
        "type": "m.room.message", "room_id": "!r:example.org", "sender": "@bob:example.org",
        "content": {"msgtype": "m.text", "body": body},
    })
}

/// A user with rules, in a room.
struct Scenario<'a> {
    documents: Vec<RuleDocument>,
    related_events: Value,
    room: Room,
    member: Member<'a>,
    now: Timestamp,
}

impl<'a> Scenario<'a> {
    fn new(documents: impl Into<Vec<RuleDocument>>) -> Self {
        let room = Room { member_count: Some(10), ..Room::default() };
        let member = Member::default();
        let now = Timestamp::UNIX_EPOCH;
        let related_events = json!({});
        Self { documents: documents.into(), related_events, room, member, now }
    }

    fn with_profile_tag(mut self, tag: &'a str) -> Self {
        self.member.profile_tag = Some(tag);
        self
    }

    fn with_display_name(mut self, name: &'a str) -> Self {
        self.member.display_name = Some(name);
        self
    }

    fn with_room(mut self, room: &Value) -> Self {
        self.room = parse_room(room);
        self
    }

    fn with_related_events(mut self, related_events: Value) -> Self {
        self.related_events = related_events;
        self
    }

    fn at(mut self, time: &str) -> Self {
        self.now = time.parse().unwrap();
        self
    }

    /// Returns the explanation as JSON, after checking that the index gives the same result.
    fn explain(&self, event: &Value) -> Value {
        let rules = EffectiveRules::new(ALICE, &self.documents);
        let event = Event::from_value(event.clone()).unwrap();
        let event = event.with_related_events(self.related_events.clone()).unwrap();
        let explanation = rules.explain(&event, &self.room, self.member, self.now);
        let indexed = IndexedRules::new(&self.documents);
        let members = Members::new([(ALICE, self.member, Some(&indexed))]);
        let evaluation = members
            .evaluate(&event, &self.room, self.now, &mut RequestWorkBudget::default())
            .get(0);
        assert_eq!(evaluation, Some(explanation.evaluation));
        json!(explanation)
    }

    fn matching_rule_id(&self, event: &Value) -> Option<String> {
        Some(self.explain(event)["rule"]["rule_id"].as_str()?.to_owned())
    }
}

fn matching_rule_id(rules: &[(&str, Value)], event: &Value) -> Option<String> {
    Scenario::new([global_document(rules)]).matching_rule_id(event)
}
