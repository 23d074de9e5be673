//! What the rules say of an event.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::rules::{Action, Kind, Scope, TweakValue};

/// The rule that won, if one did, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// The rule.
    pub rule: Option<RuleName<'a>>,
    /// All its actions, also those without effect.
    done: &'a [Action],
}

/// Which rule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleName<'a> {
    /// Where it holds.
    pub scope: &'a Scope,
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub rule_id: &'a str,
}

impl Serialize for RuleName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("RuleName", 3)?;
        object.serialize_field("scope", &format_args!("{}", self.scope))?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("rule_id", self.rule_id)?;
        object.end()
    }
}

impl<'a> Verdict<'a> {
    /// The verdict when no rule matches, and on what the user sent.
    pub(crate) const NONE: Self = Self { rule: None, done: &[] };

    pub(crate) fn of(rule: RuleName<'a>, actions: &'a [Action]) -> Self {
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
        let tweak = |action: &'a Action| match action {
            Action::SetTweak { name, value, .. } => {
                Some((name.as_str(), value.clone().unwrap_or_else(|| by_default(name))))
            }
            _ => None,
        };
        self.actions().filter_map(tweak).collect()
    }
}

impl PartialEq for Verdict<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.actions().eq(other.actions())
    }
}

impl Serialize for Verdict<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Verdict", 4)?;
        object.serialize_field("notify", &self.notify())?;
        object.serialize_field("rule", &self.rule)?;
        object.serialize_field("actions", &self.actions().collect::<Vec<_>>())?;
        object.serialize_field("tweaks", &self.tweaks())?;
        object.end()
    }
}

/// What a tweak without a value means.
fn by_default(tweak: &str) -> TweakValue {
    match tweak {
        "sound" => TweakValue::String("default".to_owned()),
        _ => TweakValue::Boolean(true),
    }
}
