//! The walk through the rules, told.

use serde::Serialize;
use serde_json::Value;

use super::{
    Answer, Asked, CompiledRules, Facts, MatchedRule, Member, PushEvaluation, Room, conditions,
};
use crate::rules::event::Event;
use crate::rules::{Condition, User, builtin};

/// A verdict with all rules that were asked for it, in their order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation<'a> {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: PushEvaluation<'a>,
    /// The rules up to the one that won. Empty for what the user sent, which no rule judges.
    pub walk: Vec<Step<'a>>,
}

/// A rule that was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step<'a> {
    /// The rule.
    #[serde(flatten)]
    pub rule: MatchedRule<'a>,
    /// What it answered.
    pub outcome: Outcome,
    /// The first condition that did not hold. A rule that failed without one is one of those that
    /// guess whom a message mentions, and the event says that itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// What that condition looked at, if it is there; of something long, its beginning. A user has
    /// a thousand rules, and a message that all of them look at must not be told a thousand times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

/// What a rule answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was not asked.
    Disabled,
    /// It does not match.
    Failed,
    /// It decides.
    Won,
}

impl CompiledRules {
    /// What the rules say of an event, and how they come to it.
    #[must_use]
    pub fn explain(&self, event: &Event, room: &Room, member: Member<'_>) -> Explanation<'_> {
        let facts = Facts { event, room, user: &self.user, member };
        let mut walk = Vec::new();
        let verdict = self.walk(&facts, |asked, answer| {
            let outcome = match answer {
                Answer::Disabled => Outcome::Disabled,
                Answer::Superseded | Answer::Failed(_) => Outcome::Failed,
                Answer::Won => Outcome::Won,
            };
            let (condition, found) = match answer {
                Answer::Failed(index) => (
                    match asked {
                        Asked::Own(_, own) => own.conditions.get(*index).cloned(),
                        Asked::Builtin(_) => self.builtin_condition(asked.name(), *index),
                    },
                    asked.ready().checks[*index].found(&facts).map(beginning),
                ),
                _ => (None, None),
            };
            walk.push(Step { rule: asked.name(), outcome, condition, found });
        });
        Explanation { verdict, walk }
    }

    fn builtin_condition(&self, name: MatchedRule<'_>, index: usize) -> Option<Condition> {
        let rule = builtin::all()[name.kind].iter().find(|rule| rule.rule_id == name.rule_id)?;
        let rule = builtin::for_user(rule, User::new(&self.user.id));
        conditions(name.kind, &rule).into_iter().nth(index)
    }
}

/// How many characters of a text, and items of a list, are told.
const TOLD: usize = 100;

fn beginning(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(TOLD) {
            Some((end, _)) => Value::String(format!("{}…", &text[..end])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().take(TOLD).map(beginning).collect(),
        other => other,
    }
}
