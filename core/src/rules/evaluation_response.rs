//! The response to an evaluation request for many users: users grouped by their results.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::evaluate::{PushEvaluation, RuleName, collect_tweaks};
use super::index::RoomEvaluation;
use super::{Action, RuleRef, TweakValue, builtin};
use crate::json;

/// The response to an evaluation request. The results are added in batches of members.
#[derive(Debug, Default)]
pub struct EvaluationResponse {
    /// The results, each with the positions of the members that have it.
    groups: Vec<(GroupResult, Vec<usize>)>,
    /// The index of each group in `groups`, by the JSON of its result.
    group_indexes: HashMap<Vec<u8>, usize>,
    includes_silent: bool,
}

#[derive(Debug, Serialize)]
struct ResponseBody<'a> {
    groups: Vec<ResponseGroup<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<usize>,
}

#[derive(Debug, Serialize)]
struct ResponseGroup<'a> {
    #[serde(flatten)]
    result: &'a GroupResult,
    users: Vec<&'a str>,
}

/// The result that the users of a group share. Owned, because the rules may change between two
/// batches.
#[derive(Debug, Serialize)]
struct GroupResult {
    notify: bool,
    rule: Option<RuleRef>,
    actions: Vec<Action>,
    tweaks: BTreeMap<String, TweakValue>,
}

impl GroupResult {
    fn new(evaluation: &PushEvaluation<'_>) -> Self {
        let actions = evaluation.limited_actions();
        let tweaks = collect_tweaks(actions.iter().copied());
        Self {
            notify: evaluation.notifies(),
            rule: evaluation.rule.map(RuleName::to_ref),
            tweaks: tweaks.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            actions: actions.into_iter().cloned().collect(),
        }
    }
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
            let result = GroupResult::new(&group.evaluation);
            let group_index =
                *self.group_indexes.entry(json::to_bytes(&result)).or_insert_with(|| {
                    self.groups.push((result, Vec::new()));
                    self.groups.len() - 1
                });
            let members = group.members.iter().map(|member| positions[*member]);
            self.groups[group_index].1.extend(members);
        }
    }

    /// Returns whether a rule of the user or the master rule silences the event for one of the
    /// members. The other built-in rules are about one kind of event: a user who has turned off
    /// mentions in a Matrix client has not silenced everything. The response must include silent
    /// members.
    pub fn is_silenced_by_user(&self) -> bool {
        let is_by_user = |rule: &RuleRef| !rule.id.starts_with('.') || rule.id == builtin::MASTER;
        self.groups
            .iter()
            .any(|(result, _)| !result.notify && result.rule.as_ref().is_some_and(is_by_user))
    }

    /// Serializes the response. `user_id` returns the user id of the member at a position. Groups
    /// are in the order in which they were first added. `accepted` is the number of messages that
    /// will be delivered, in the response of `notify`.
    pub fn to_json<'a>(
        &'a self,
        user_id: impl Fn(usize) -> &'a str,
        accepted: Option<usize>,
    ) -> Vec<u8> {
        let groups = self.groups.iter().map(|(result, positions)| {
            let users = positions.iter().map(|position| user_id(*position)).collect();
            ResponseGroup { result, users }
        });
        json::to_bytes(&ResponseBody { groups: groups.collect(), accepted })
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
        let response: Value =
            serde_json::from_slice(&response.to_json(|_| "@ann:x", None)).unwrap();
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
            let json =
                evaluate_in_batches(includes_silent).to_json(|position| USERS[position], None);
            String::from_utf8(json).unwrap()
        };
        assert_eq!(response_json(false), format!(r#"{{"groups":[{message_group}]}}"#));
        assert_eq!(
            response_json(true),
            format!(r#"{{"groups":[{message_group},{silent_group},{sender_group}]}}"#)
        );
    }
}
