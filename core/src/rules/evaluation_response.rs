//! The answer to a request for the verdicts of many users: those with the same verdict together.

use std::collections::HashMap;

use super::index::RoomEvaluation;
use crate::json;

/// Users by their verdicts, gathered from one part of the members after the other.
#[derive(Debug, Default)]
pub struct EvaluationResponse<'a> {
    all: bool,
    /// Where the users of each verdict are, by the verdict as it is shown: what looks the same is
    /// the same.
    groups: HashMap<Vec<u8>, usize>,
    users: Vec<Vec<&'a str>>,
}

impl<'a> EvaluationResponse<'a> {
    /// Of nobody yet. Whether all are wanted, or only those who are notified.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { all, ..Self::default() }
    }

    /// Adds the verdicts of some members, whose user ids these are, in the same order.
    pub fn add(&mut self, verdicts: &RoomEvaluation<'_>, users: &[&'a str]) {
        for group in verdicts.groups() {
            if !self.all && !group.verdict.notify() {
                continue;
            }
            let verdict = json::write(&group.verdict.in_brief());
            let same = *self.groups.entry(verdict).or_insert_with(|| {
                self.users.push(Vec::new());
                self.users.len() - 1
            });
            self.users[same].extend(group.members.iter().map(|member| users[*member]));
        }
    }

    /// The bytes of the answer: groups in the order of the first of each. For each member it has
    /// the id, and at worst a verdict: the name of a rule and as many actions as are told.
    #[must_use]
    pub fn answer(self) -> Vec<u8> {
        let mut groups: Vec<(usize, Vec<u8>)> =
            self.groups.into_iter().map(|(verdict, number)| (number, verdict)).collect();
        groups.sort_unstable();
        let mut answer = br#"{"groups":["#.to_vec();
        for ((number, verdict), users) in groups.into_iter().zip(self.users) {
            if number > 0 {
                answer.push(b',');
            }
            // A verdict is an object; the users become its last member.
            answer.extend_from_slice(verdict.strip_suffix(b"}").unwrap_or(&verdict));
            answer.extend_from_slice(br#","users":"#);
            answer.extend(json::write(&users));
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
    use crate::rules::evaluate::{Member, Room};
    use crate::rules::event::Event;
    use crate::rules::index::RuleIndex;
    use crate::rules::{Document, NewRule, Position, RuleKind, RuleScope};

    /// What is told of a rule with these actions.
    fn told(actions: &Value) -> Value {
        let rule = json!({"actions": actions}).to_string();
        let rule = NewRule::read(RuleKind::Override, rule.as_bytes()).unwrap();
        let mut document = Document::new(RuleScope::Global);
        document.put(RuleKind::Override, "x".parse().unwrap(), rule, Position::default()).unwrap();
        let mut audience = RuleIndex::new();
        audience.put("@ann:x", [&document]);
        let members = audience.members([("@ann:x", Member::default())]);
        let mut evaluation = EvaluationResponse::new(true);
        let event = Event::from_value(json!({})).unwrap();
        evaluation.add(&members.verdicts(&event, &Room::default()), &["@ann:x"]);
        let answer: Value = serde_json::from_slice(&evaluation.answer()).unwrap();
        answer["groups"][0].clone()
    }

    #[test]
    fn of_many_actions_those_are_told_that_fit() {
        let tweak = |name: usize| json!({"set_tweak": name.to_string(), "value": "x".repeat(100)});
        let few: Value = (0..5).map(tweak).collect();
        assert_eq!(told(&few)["actions"], few);

        let long = json!({"set_tweak": "sound", "value": "x".repeat(1024)});
        let after = json!([long, "coalesce", {"set_tweak": "highlight"}, "notify"]);
        let found = told(&after);
        assert_eq!(found["actions"], json!([{"set_tweak": "highlight"}, "notify"]));
        assert_eq!(found["tweaks"], json!({"highlight": true}));

        let mut many: Vec<Value> = (0..400).map(tweak).collect();
        many.extend(vec![json!("notify"); 5]);
        let found = told(&json!(many));
        assert_eq!(
            (&found["notify"], found["rule"]["rule_id"].as_str()),
            (&json!(true), Some("x"))
        );
        let kept = found["actions"].as_array().unwrap();
        assert!(kept.starts_with(few.as_array().unwrap()) && kept.contains(&json!("notify")));
        assert!(found.to_string().len() < 3000, "{found}");
    }

    fn evaluated(all: bool) -> Value {
        let mut document = Document::new(RuleScope::Global);
        let rule = NewRule::read(RuleKind::Content, br#"{"pattern":"cake","actions":[]}"#).unwrap();
        document
            .put(RuleKind::Content, "cake".parse().unwrap(), rule, Position::default())
            .unwrap();
        let mut audience = RuleIndex::new();
        audience.put("@quiet:x", [&document]);
        audience.put("@still:x", [&document]);
        let event = json!({
            "type": "m.room.message", "sender": "@ben:x", "content": {"body": "cake"},
        });
        let event = Event::from_value(event).unwrap();
        let mut evaluation = EvaluationResponse::new(all);
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
