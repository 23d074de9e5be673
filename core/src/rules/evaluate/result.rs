//! The result of evaluating rules against an event.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::json;
use crate::rules::{Action, Effect, RuleKind, RuleRef, RuleScope, TweakValue};

/// The rule that matched an event, if any, and its actions.
#[derive(Debug, Clone, Copy)]
pub struct PushEvaluation<'a> {
    pub rule: Option<RuleName<'a>>,
    all_actions: &'a [Action],
}

/// The scope, kind and id of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuleName<'a> {
    /// `global`, or a device.
    pub scope: &'a RuleScope,
    /// The kind, which determines the evaluation order.
    pub kind: RuleKind,
    /// The id, unique within scope and kind.
    pub rule_id: &'a str,
}

impl RuleName<'_> {
    pub(crate) fn to_ref(self) -> RuleRef {
        RuleRef { scope: self.scope.clone(), kind: self.kind, id: self.rule_id.to_owned() }
    }
}

impl<'a> PushEvaluation<'a> {
    /// The result when no rule matches, and for the user's own events.
    pub(crate) const NO_RULE: Self = Self { rule: None, all_actions: &[] };

    pub(crate) fn new(rule: RuleName<'a>, actions: &'a [Action]) -> Self {
        Self { rule: Some(rule), all_actions: actions }
    }

    pub(crate) fn effect(&self) -> Effect {
        Effect::from_actions(self.all_actions)
    }

    /// Returns whether the user is notified.
    pub fn notifies(&self) -> bool {
        self.all_actions.contains(&Action::Notify)
    }

    /// Returns the rule's actions, without those that have no effect.
    pub fn actions(&self) -> impl Iterator<Item = &'a Action> {
        let has_effect = |action: &&Action| match action {
            Action::Notify | Action::SetTweak { .. } => true,
            Action::DontNotify | Action::Coalesce | Action::BareSetTweak => false,
        };
        self.all_actions.iter().filter(has_effect)
    }

    /// Returns the tweaks of the notification. Of several tweaks with the same name, the last one
    /// applies; a tweak without a value has its default value.
    pub fn tweaks(&self) -> BTreeMap<&'a str, TweakValue> {
        collect_tweaks(self.actions())
    }

    /// Returns the actions to report in a response for many users: those that fit into
    /// [`MAX_ACTION_BYTES`], and always the first `notify`. Without a limit, 100,000 members with
    /// rules of the maximum size would make a response too large for memory.
    pub(crate) fn limited_actions(&self) -> Vec<&'a Action> {
        let mut remaining_bytes = MAX_ACTION_BYTES;
        let mut has_notify = false;
        let fits = |action: &&Action| {
            let is_first_notify = **action == Action::Notify && !has_notify;
            has_notify |= is_first_notify;
            let bytes_after = remaining_bytes.checked_sub(json::to_bytes(action).len());
            remaining_bytes = bytes_after.unwrap_or(remaining_bytes);
            is_first_notify || bytes_after.is_some()
        };
        self.actions().filter(fits).collect()
    }
}

/// Maximum size in bytes of a rule's actions in a response for many users, apart from the first
/// `notify`.
const MAX_ACTION_BYTES: usize = 1024;

impl PartialEq for PushEvaluation<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.actions().eq(other.actions())
    }
}

impl Serialize for PushEvaluation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("PushEvaluation", 4)?;
        object.serialize_field("notify", &self.notifies())?;
        object.serialize_field("rule", &self.rule)?;
        object.serialize_field("actions", &self.actions().collect::<Vec<_>>())?;
        object.serialize_field("tweaks", &self.tweaks())?;
        object.end()
    }
}

pub(crate) fn collect_tweaks<'a>(
    actions: impl Iterator<Item = &'a Action>,
) -> BTreeMap<&'a str, TweakValue> {
    let read_tweak = |action: &'a Action| match action {
        Action::SetTweak { name, value, .. } => {
            Some((name.as_str(), value.clone().unwrap_or_else(|| default_tweak_value(name))))
        }
        _ => None,
    };
    actions.filter_map(read_tweak).collect()
}

/// Returns the value of a tweak that is set without one.
fn default_tweak_value(name: &str) -> TweakValue {
    match name {
        "sound" => TweakValue::String("default".to_owned()),
        _ => TweakValue::Boolean(true),
    }
}
