//! What the rules say of an event.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::json;
use crate::rules::{Action, RuleKind, RuleScope, TweakValue};

/// The rule that won, if one did, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub struct PushEvaluation<'a> {
    /// The rule.
    pub rule: Option<MatchedRule<'a>>,
    /// All its actions, also those without effect.
    done: &'a [Action],
}

/// Which rule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchedRule<'a> {
    /// Where it holds.
    pub scope: &'a RuleScope,
    /// Its kind.
    pub kind: RuleKind,
    /// Its id.
    pub rule_id: &'a str,
}

impl Serialize for MatchedRule<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("MatchedRule", 3)?;
        object.serialize_field("scope", &format_args!("{}", self.scope))?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("rule_id", self.rule_id)?;
        object.end()
    }
}

impl<'a> PushEvaluation<'a> {
    /// The verdict when no rule matches, and on what the user sent.
    pub(crate) const NONE: Self = Self { rule: None, done: &[] };

    pub(crate) fn of(rule: MatchedRule<'a>, actions: &'a [Action]) -> Self {
        Self { rule: Some(rule), done: actions }
    }

    /// Whether the user is notified.
    #[must_use]
    pub fn notify(&self) -> bool {
        self.done.contains(&Action::Notify)
    }

    /// The rule's actions, without those that have no effect.
    pub fn actions(&self) -> impl Iterator<Item = &'a Action> {
        let has_effect = |action: &&Action| match action {
            Action::Notify | Action::SetTweak { .. } => true,
            Action::DontNotify | Action::Coalesce | Action::BareSetTweak => false,
        };
        self.done.iter().filter(has_effect)
    }

    /// How the notification is given. Where a tweak is set twice the last holds; one without a
    /// value has its default. A `highlight` that is not here is off.
    #[must_use]
    pub fn tweaks(&self) -> BTreeMap<&'a str, TweakValue> {
        tweaks(self.actions())
    }

    /// The verdict as it is told among those of many users: a hundred thousand of them, each with
    /// a rule as large as a rule may be, would make an answer that no memory holds. Of actions
    /// with more bytes than a client has use for, those are told that fit; `notify` always does.
    pub(crate) fn in_brief(self) -> SerializedEvaluation<'a> {
        let mut left = MOST_ACTIONS_TOLD;
        let mut notifies = false;
        let fits = |action: &&'a Action| {
            let is_first = **action == Action::Notify && !notifies;
            notifies |= is_first;
            let rest = left.checked_sub(json::write(action).len());
            left = rest.unwrap_or(left);
            is_first || rest.is_some()
        };
        SerializedEvaluation { verdict: self, actions: self.actions().filter(fits).collect() }
    }
}

/// How many bytes of a rule's actions are told where the verdicts of many are.
const MOST_ACTIONS_TOLD: usize = 1024;

/// A verdict, and those of its actions that are told.
pub(crate) struct SerializedEvaluation<'a> {
    verdict: PushEvaluation<'a>,
    actions: Vec<&'a Action>,
}

impl PartialEq for PushEvaluation<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.actions().eq(other.actions())
    }
}

impl Serialize for PushEvaluation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SerializedEvaluation { verdict: *self, actions: self.actions().collect() }
            .serialize(serializer)
    }
}

impl Serialize for SerializedEvaluation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("PushEvaluation", 4)?;
        object.serialize_field("notify", &self.verdict.notify())?;
        object.serialize_field("rule", &self.verdict.rule)?;
        object.serialize_field("actions", &self.actions)?;
        object.serialize_field("tweaks", &tweaks(self.actions.iter().copied()))?;
        object.end()
    }
}

/// How a notification is given that these actions ask for.
pub(crate) fn tweaks<'a>(
    actions: impl Iterator<Item = &'a Action>,
) -> BTreeMap<&'a str, TweakValue> {
    let tweak = |action: &'a Action| match action {
        Action::SetTweak { name, value, .. } => {
            Some((name.as_str(), value.clone().unwrap_or_else(|| by_default(name))))
        }
        _ => None,
    };
    actions.filter_map(tweak).collect()
}

/// What a tweak without a value means.
fn by_default(tweak: &str) -> TweakValue {
    match tweak {
        "sound" => TweakValue::String("default".to_owned()),
        _ => TweakValue::Boolean(true),
    }
}
