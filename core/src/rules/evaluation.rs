//! The answer to a request for the verdicts of many users: those with the same verdict together.

use std::collections::HashMap;

use super::audience::Verdicts;
use crate::json;

/// Users by their verdicts, gathered from one part of the members after the other.
#[derive(Debug, Default)]
pub struct Evaluation<'a> {
    all: bool,
    groups: Vec<Group<'a>>,
    /// The groups by their verdicts: what looks the same is the same.
    by_verdict: HashMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct Group<'a> {
    /// The verdict as it is shown.
    verdict: Vec<u8>,
    users: Vec<&'a str>,
}

impl<'a> Evaluation<'a> {
    /// Of nobody yet. Whether all are wanted, or only those who are notified.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { all, ..Self::default() }
    }

    /// Adds the verdicts of some members, whose user ids these are, in the same order.
    pub fn add(&mut self, verdicts: &Verdicts<'_>, users: &[&'a str]) {
        for group in verdicts.groups() {
            if !self.all && !group.verdict.notify() {
                continue;
            }
            let verdict = json::write(&group.verdict);
            let same = *self.by_verdict.entry(verdict).or_insert_with_key(|verdict| {
                self.groups.push(Group { verdict: verdict.clone(), users: Vec::new() });
                self.groups.len() - 1
            });
            self.groups[same].users.extend(group.members.iter().map(|member| users[*member]));
        }
    }

    /// The bytes of the answer.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        let mut answer = br#"{"groups":["#.to_vec();
        for (number, Group { verdict, users }) in self.groups.iter().enumerate() {
            if number > 0 {
                answer.push(b',');
            }
            // A verdict is an object; the users become its last member.
            answer.extend_from_slice(verdict.strip_suffix(b"}").unwrap_or(verdict));
            answer.extend_from_slice(br#","users":"#);
            answer.extend(json::write(users));
            answer.push(b'}');
        }
        answer.extend_from_slice(b"]}");
        answer
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::audience::Audience;
    use crate::rules::event::Event;
    use crate::rules::matching::{Member, Room};
    use crate::rules::{Document, Kind, NewRule, Place, Scope};

    fn evaluated(all: bool) -> Value {
        let mut document = Document::new(Scope::Global);
        let rule = NewRule::read(Kind::Content, br#"{"pattern":"cake","actions":[]}"#).unwrap();
        document.put(Kind::Content, "cake".parse().unwrap(), rule, Place::default()).unwrap();
        let mut audience = Audience::new();
        audience.put("@quiet:x", [&document]);
        audience.put("@still:x", [&document]);
        let event = json!({
            "type": "m.room.message", "sender": "@ben:x", "content": {"body": "cake"},
        });
        let event = Event::from_value(event).unwrap();
        let mut evaluation = Evaluation::new(all);
        for part in [&["@ann:x", "@quiet:x"][..], &["@ben:x", "@cat:x", "@still:x"]] {
            let members = audience.members(part.iter().map(|id| (*id, Member::default())));
            evaluation.add(&members.verdicts(&event, &Room::default()), part);
        }
        serde_json::from_slice(&evaluation.answer()).unwrap()
    }

    #[test]
    fn those_with_one_verdict_are_together_whichever_part_they_were_in() {
        let message = json!({
            "notify": true, "actions": ["notify"], "tweaks": {}, "users": ["@ann:x", "@cat:x"],
            "rule": {"scope": "global", "kind": "underride", "rule_id": ".m.rule.message"},
        });
        let silent = json!({
            "notify": false, "actions": [], "tweaks": {}, "users": ["@quiet:x", "@still:x"],
            "rule": {"scope": "global", "kind": "content", "rule_id": "cake"},
        });
        let own = json!({"notify": false, "rule": null, "actions": [], "tweaks": {}, "users": ["@ben:x"]});
        assert_eq!(evaluated(false), json!({"groups": [message]}));
        assert_eq!(evaluated(true), json!({"groups": [message, silent, own]}));
    }
}
