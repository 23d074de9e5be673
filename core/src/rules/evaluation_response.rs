//! The response to an evaluation request for many users: users grouped by their results.

use std::collections::HashMap;

use super::builtin;
use super::evaluate::RuleName;
use super::index::RoomEvaluation;
use crate::json;

/// The response to an evaluation request. The results are added in batches of members.
#[derive(Debug, Default)]
pub struct EvaluationResponse {
    /// The groups by the JSON of their result. As values, the results of 100,000 members with
    /// different rules would take several times the memory.
    groups: HashMap<Vec<u8>, Group>,
    includes_silent: bool,
}

#[derive(Debug)]
struct Group {
    /// Number of groups that were added before.
    index: usize,
    /// True if a rule of the user or the master rule silences the event.
    is_silenced_by_user: bool,
    positions: Vec<usize>,
}

impl EvaluationResponse {
    /// Creates an empty response. If `includes_silent` is true, users that are not notified are
    /// listed as well.
    pub fn new(includes_silent: bool) -> Self {
        Self { includes_silent, ..Self::default() }
    }

    /// Adds the results of a batch of members. `positions` are their positions among all members of
    /// the request, in the same order.
    pub fn add_batch(&mut self, evaluation: &RoomEvaluation<'_>, positions: &[usize]) {
        for group in evaluation.groups() {
            if !self.includes_silent && !group.evaluation.notifies() {
                continue;
            }
            let evaluation = &group.evaluation;
            let result = json::to_bytes(&evaluation.to_wire(evaluation.limited_actions()));
            let is_by_user = |rule: RuleName<'_>| {
                !rule.rule_id.starts_with('.') || rule.rule_id == builtin::MASTER
            };
            let index = self.groups.len();
            let members = self.groups.entry(result).or_insert_with(|| Group {
                index,
                is_silenced_by_user: !evaluation.notifies()
                    && evaluation.rule.is_some_and(is_by_user),
                positions: Vec::new(),
            });
            members.positions.extend(group.members.iter().map(|member| positions[*member]));
        }
    }

    /// Returns whether a rule of the user or the master rule silences the event for one of the
    /// members. The other built-in rules are about one kind of event: a user who has turned off
    /// mentions in a Matrix client has not silenced everything. The response must include silent
    /// members.
    pub fn is_silenced_by_user(&self) -> bool {
        self.groups.values().any(|group| group.is_silenced_by_user)
    }

    /// Serializes the response. `user_id` returns the user id of the member at a position. Groups
    /// are in the order in which they were first added.
    pub fn to_json<'a>(&'a self, user_id: impl Fn(usize) -> &'a str) -> Vec<u8> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_unstable_by_key(|(_, group)| group.index);
        let mut json = br#"{"groups":["#.to_vec();
        for (result, Group { index, positions, .. }) in groups {
            let separator: &[u8] = if *index == 0 { b"" } else { b"," };
            let users: Vec<&str> = positions.iter().map(|position| user_id(*position)).collect();
            // The members of the result's object, and the users after them.
            let result_without_brace = &result[..result.len() - 1];
            let users = json::to_bytes(&users);
            json.extend([separator, result_without_brace, br#","users":"#, &users, b"}"].concat());
        }
        json.extend(b"]}");
        json
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::evaluate::{Member, Room};
    use crate::rules::event::Event;
    use crate::rules::index::{IndexedRules, Members};
    use crate::rules::work::RequestWorkBudget;
    use crate::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};

    /// Returns the group of a user that has a rule with these actions, which matches every event.
    fn evaluate_actions(actions: &Value) -> Value {
        let body = json!({"actions": actions}).to_string();
        let rule = NewRule::parse(
            RuleKind::Override,
            body.as_bytes(),
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        let mut document = RuleDocument::new(RuleScope::Global);
        document
            .put(RuleKind::Override, "x".parse().unwrap(), rule, RulePosition::default())
            .unwrap();
        let rules = IndexedRules::new([&document]);
        let members = Members::new([("@ann:x", Member::default(), Some(&rules))]);
        let mut response = EvaluationResponse::new(true);
        let event = Event::from_value(json!({})).unwrap();
        response.add_batch(
            &members.evaluate(
                &event,
                &Room::default(),
                Timestamp::UNIX_EPOCH,
                &mut RequestWorkBudget::default(),
            ),
            &[0],
        );
        let response: Value = serde_json::from_slice(&response.to_json(|_| "@ann:x")).unwrap();
        response["groups"][0].clone()
    }

    #[test]
    fn actions_beyond_the_size_limit_are_omitted_except_notify() {
        let tweak = |name: usize| json!({"set_tweak": name.to_string(), "value": "x".repeat(100)});
        let few_tweaks: Value = (0..5).map(tweak).collect();
        assert_eq!(evaluate_actions(&few_tweaks)["actions"], few_tweaks);

        let long_tweak = json!({"set_tweak": "sound", "value": "x".repeat(1024)});
        let notify_last = json!([long_tweak, "coalesce", {"set_tweak": "highlight"}, "notify"]);
        let group = evaluate_actions(&notify_last);
        assert_eq!(group["actions"], json!([{"set_tweak": "highlight"}, "notify"]));
        assert_eq!(group["tweaks"], json!({"highlight": true}));

        let mut many_tweaks: Vec<Value> = (0..400).map(tweak).collect();
        many_tweaks.extend(vec![json!("notify"); 5]);
        let group = evaluate_actions(&json!(many_tweaks));
        assert_eq!(
            (&group["notify"], group["rule"]["rule_id"].as_str()),
            (&json!(true), Some("x"))
        );
        let actions = group["actions"].as_array().unwrap();
        assert!(
            actions.starts_with(few_tweaks.as_array().unwrap())
                && actions.contains(&json!("notify"))
        );
        assert!(group.to_string().len() < 3000, "{group}");
    }

    const USERS: [&str; 5] = ["@ann:x", "@quiet:x", "@ben:x", "@cat:x", "@still:x"];

    fn evaluate_in_batches(includes_silent: bool) -> EvaluationResponse {
        let mut document = RuleDocument::new(RuleScope::Global);
        let rule = NewRule::parse(
            RuleKind::Content,
            br#"{"pattern":"cake","actions":[]}"#,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        let id = "cake".parse().unwrap();
        document.put(RuleKind::Content, id, rule, RulePosition::default()).unwrap();
        let rules = IndexedRules::new([&document]);
        let event = Event::from_value(json!({
            "type": "m.room.message", "sender": "@ben:x", "content": {"body": "cake"},
        }))
        .unwrap();
        let mut response = EvaluationResponse::new(includes_silent);
        for batch in [&[0, 1][..], &[2, 3, 4]] {
            let rules_for = |id: &str| ["@quiet:x", "@still:x"].contains(&id).then_some(&rules);
            let users = batch.iter().map(|position| USERS[*position]);
            let members = Members::new(users.map(|id| (id, Member::default(), rules_for(id))));
            response.add_batch(
                &members.evaluate(
                    &event,
                    &Room::default(),
                    Timestamp::UNIX_EPOCH,
                    &mut RequestWorkBudget::default(),
                ),
                batch,
            );
        }
        response
    }

    #[test]
    fn users_with_the_same_result_are_grouped_across_batches() {
        let message_group = r#"{"notify":true,"rule":{"scope":"global","kind":"underride","rule_id":".m.rule.message"},"actions":["notify"],"tweaks":{},"users":["@ann:x","@cat:x"]}"#;
        let silent_group = r#"{"notify":false,"rule":{"scope":"global","kind":"content","rule_id":"cake"},"actions":[],"tweaks":{},"users":["@quiet:x","@still:x"]}"#;
        let sender_group =
            r#"{"notify":false,"rule":null,"actions":[],"tweaks":{},"users":["@ben:x"]}"#;
        let response_json = |includes_silent: bool| {
            let json = evaluate_in_batches(includes_silent).to_json(|position| USERS[position]);
            String::from_utf8(json).unwrap()
        };
        assert_eq!(response_json(false), format!(r#"{{"groups":[{message_group}]}}"#));
        assert_eq!(
            response_json(true),
            format!(r#"{{"groups":[{message_group},{silent_group},{sender_group}]}}"#)
        );
    }
}
