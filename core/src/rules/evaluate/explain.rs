//! Evaluation with the result of every rule.

use serde::Serialize;
use serde_json::Value;

use super::{
    CompiledRules, Context, MatchedRule, Member, PushEvaluation, RankedRule, Room, RuleResult,
    effective_conditions,
};
use crate::rules::event::Event;
use crate::rules::{Condition, User, builtin};

/// An evaluation with the rules that were evaluated for it, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation<'a> {
    /// The result.
    #[serde(flatten)]
    pub evaluation: PushEvaluation<'a>,
    /// The rules up to the one that matched. Empty for the user's own events, for which no rule is
    /// evaluated.
    pub walk: Vec<Step<'a>>,
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step<'a> {
    /// The rule.
    #[serde(flatten)]
    pub rule: MatchedRule<'a>,
    /// Its result.
    pub outcome: Outcome,
    /// The first condition that is not met. Absent for a failed legacy mention rule, which is
    /// skipped because the event has `m.mentions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The value that this condition tested. Truncated, because a thousand rules may test the same
    /// long message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

/// The result of a rule in an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The rule is disabled.
    Disabled,
    /// The rule does not match.
    Failed,
    /// The rule matches.
    Won,
}

impl CompiledRules {
    /// Evaluates the rules against an event and explains the result.
    #[must_use]
    pub fn explain(&self, event: &Event, room: &Room, member: Member<'_>) -> Explanation<'_> {
        let context = Context { event, room, user: &self.user, member };
        let mut walk = Vec::new();
        let evaluation = self.evaluate_with(&context, |rule, result| {
            let outcome = match result {
                RuleResult::Disabled => Outcome::Disabled,
                RuleResult::Superseded | RuleResult::Failed(_) => Outcome::Failed,
                RuleResult::Matched => Outcome::Won,
            };
            let (condition, found) = match result {
                RuleResult::Failed(index) => (
                    self.condition(rule, *index),
                    rule.compiled().conditions[*index].tested_value(&context).map(truncate),
                ),
                _ => (None, None),
            };
            walk.push(Step { rule: rule.identify(), outcome, condition, found });
        });
        Explanation { evaluation, walk }
    }

    fn condition(&self, rule: RankedRule<'_>, index: usize) -> Option<Condition> {
        if let RankedRule::User(_, rule) = rule {
            return rule.conditions.get(index).cloned();
        }
        let MatchedRule { kind, rule_id, .. } = rule.identify();
        let rule = builtin::all()[kind].iter().find(|rule| rule.rule_id == rule_id)?;
        let rule = builtin::for_user(rule, User::new(&self.user.id));
        effective_conditions(kind, &rule).into_iter().nth(index)
    }
}

/// The maximum number of characters of a string, and of items of an array, in `found`.
const MAX_FOUND: usize = 100;

fn truncate(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_FOUND) {
            Some((end, _)) => Value::String(format!("{}…", &text[..end])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().take(MAX_FOUND).map(truncate).collect(),
        other => other,
    }
}
