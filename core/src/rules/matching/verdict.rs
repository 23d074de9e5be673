//! What the rules say of an event.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::rules::{Action, Kind, Scope, TweakValue};

/// The rule that won, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict<'a> {
    /// Whether the user is notified.
    pub notify: bool,
    /// The rule that won, if one did.
    pub rule: Option<RuleName<'a>>,
    /// Its actions, without those that have no effect.
    pub actions: Vec<&'a Action>,
    /// How the notification is given. Where one is set twice the last holds; one without a value
    /// has its default. A `highlight` that is not here is off.
    pub tweaks: BTreeMap<&'a str, TweakValue>,
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
    pub(crate) const NONE: Self =
        Self { notify: false, rule: None, actions: Vec::new(), tweaks: BTreeMap::new() };

    pub(crate) fn of(rule: RuleName<'a>, actions: &'a [Action]) -> Self {
        let mut verdict = Self { rule: Some(rule), ..Self::NONE };
        for action in actions {
            match action {
                Action::Notify => verdict.notify = true,
                Action::DontNotify | Action::Coalesce | Action::BareSetTweak => continue,
                Action::SetTweak { name, value, .. } => {
                    let value = value.clone().unwrap_or_else(|| by_default(name));
                    verdict.tweaks.insert(name, value);
                }
            }
            verdict.actions.push(action);
        }
        verdict
    }
}

/// What a tweak without a value means.
fn by_default(tweak: &str) -> TweakValue {
    match tweak {
        "sound" => TweakValue::String("default".to_owned()),
        _ => TweakValue::Boolean(true),
    }
}
