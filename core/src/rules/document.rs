//! A user's own rules of one scope, and what the user changed of the built-in ones.
//!
//! Built-in rules are not in it: they are laid under it when it is shown, so that a new one
//! reaches old users at once, and a million users hold no copies of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Action, NewRule, Rule, RuleError, RuleId, RuleKind, RulePatch, RuleScope, Ruleset};

mod view;

/// The rules of one scope as they are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    scope: RuleScope,
    stored: Stored,
}

/// The stored form, which later versions must go on reading:
///
/// ```json
/// {"rules":{"override":[],"content":[],"room":[],"sender":[],"underride":[]},
///  "changes":{".m.rule.master":{"enabled":true,"actions":[]}}}
/// ```
///
/// The rules are those of the user, each as it is shown. Changes go by the id alone, so that they
/// follow a built-in rule that moves to another kind; `enabled` and `actions` are there if the
/// user set them. An unknown member is refused, because the next write would lose it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    rules: Ruleset,
    changes: BTreeMap<String, RulePatch>,
}

/// Why a stored document is not read.
#[derive(Debug, Error)]
#[error("the stored rules cannot be read: {0}")]
pub struct Unreadable(#[from] serde_json::Error);

/// Where a rule shall stand among the user's rules of its kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// Directly above this rule.
    pub before: Option<&'a str>,
    /// Directly below this rule. If `before` is given too, this one need only exist.
    pub after: Option<&'a str>,
}

impl<'a> Position<'a> {
    /// Reads the place from the pairs of a query.
    ///
    /// # Errors
    /// When `before` or `after` is there twice.
    pub fn read(query: &'a [(String, String)]) -> Result<Self, RuleError> {
        let once = |named: &str| {
            let mut found = query.iter().filter(|(name, _)| name == named);
            let first = found.next().map(|(_, id)| id.as_str());
            if found.next().is_some() { Err(RuleError::RepeatedNeighbour) } else { Ok(first) }
        };
        Ok(Self { before: once("before")?, after: once("after")? })
    }
}

impl Document {
    /// The document of a user who has not said anything yet.
    #[must_use]
    pub fn new(scope: RuleScope) -> Self {
        Self { scope, stored: Stored::default() }
    }

    /// Reads what [`Document::to_text`] wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn from_text(scope: RuleScope, text: &str) -> Result<Self, Unreadable> {
        Ok(Self { scope, stored: serde_json::from_str(text)? })
    }

    /// The document as it is stored.
    ///
    /// # Panics
    /// Never: its keys are strings.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.stored).expect("a document has strings for keys")
    }

    /// The scope whose rules these are.
    #[must_use]
    pub fn scope(&self) -> &RuleScope {
        &self.scope
    }

    /// The user's own rules.
    #[must_use]
    pub fn user_rules(&self) -> &Ruleset {
        &self.stored.rules
    }

    /// What the user changed of a built-in rule.
    #[must_use]
    pub fn patch(&self, id: &str) -> Option<&RulePatch> {
        self.stored.changes.get(id)
    }

    /// How many rules of their own the user has here.
    #[must_use]
    pub fn len(&self) -> usize {
        self.user_rules().iter().count()
    }

    /// Whether nothing is here that would have to be stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.stored.changes.is_empty()
    }

    /// Whether the user has a rule of this kind and id of their own.
    #[must_use]
    pub fn has_own(&self, kind: RuleKind, id: &str) -> bool {
        self.position(kind, id).is_some()
    }

    /// Adds a rule, or replaces the one of the same kind and id.
    ///
    /// Without a place a new rule goes on top of the user's rules of its kind, and a replaced one
    /// stays where it is. A new rule is enabled, a replaced one is as it was.
    ///
    /// # Errors
    /// When the place names a rule that is not among the user's rules of this scope and kind.
    pub fn put(
        &mut self,
        kind: RuleKind,
        id: RuleId,
        new: NewRule,
        place: Position<'_>,
    ) -> Result<(), RuleError> {
        let before = self.neighbour(kind, &id, place.before)?;
        let after = self.neighbour(kind, &id, place.after)?.map(|at| at + 1);
        let old = self.position(kind, id.as_str());
        let rules = &mut self.stored.rules[kind];
        let rule = new.named(id, old.is_none_or(|at| rules[at].enabled));
        match (old, before.or(after)) {
            (None, spot) => rules.insert(spot.unwrap_or(0), rule),
            (Some(old), None) => rules[old] = rule,
            (Some(old), Some(spot)) => {
                rules.remove(old);
                rules.insert(if old < spot { spot - 1 } else { spot }, rule);
            }
        }
        Ok(())
    }

    /// Removes a rule of the user.
    ///
    /// # Errors
    /// When the user has no such rule; built-in rules cannot be removed.
    pub fn remove(&mut self, kind: RuleKind, id: &str) -> Result<(), RuleError> {
        let at = self.position(kind, id).ok_or_else(|| no_such_rule(kind, id))?;
        self.stored.rules[kind].remove(at);
        Ok(())
    }

    /// Enables or disables a rule, built-in ones included.
    ///
    /// # Errors
    /// When there is no such rule.
    pub fn set_enabled(
        &mut self,
        kind: RuleKind,
        id: &str,
        enabled: bool,
    ) -> Result<(), RuleError> {
        match self.target(kind, id)? {
            Target::Own(rule) => rule.enabled = enabled,
            Target::Builtin(patch) => patch.enabled = Some(enabled),
        }
        Ok(())
    }

    /// Changes what a rule does, built-in ones included.
    ///
    /// # Errors
    /// When there is no such rule.
    pub fn set_actions(
        &mut self,
        kind: RuleKind,
        id: &str,
        actions: Vec<Action>,
    ) -> Result<(), RuleError> {
        match self.target(kind, id)? {
            Target::Own(rule) => rule.actions = actions,
            Target::Builtin(patch) => patch.actions = Some(actions),
        }
        Ok(())
    }

    fn position(&self, kind: RuleKind, id: &str) -> Option<usize> {
        self.user_rules()[kind].iter().position(|rule| rule.rule_id == id)
    }

    fn neighbour(
        &self,
        kind: RuleKind,
        id: &RuleId,
        named: Option<&str>,
    ) -> Result<Option<usize>, RuleError> {
        let Some(named) = named else { return Ok(None) };
        if named == id.as_str() {
            return Err(RuleError::OwnNeighbour);
        }
        if RuleId::is_reserved(named) {
            return Err(RuleError::BuiltinNeighbour(named.to_owned()));
        }
        let at = self.position(kind, named);
        at.map(Some).ok_or_else(|| RuleError::UnknownNeighbour { kind, id: named.to_owned() })
    }

    fn target(&mut self, kind: RuleKind, id: &str) -> Result<Target<'_>, RuleError> {
        if let Some(at) = self.position(kind, id) {
            return Ok(Target::Own(&mut self.stored.rules[kind][at]));
        }
        if self.builtin(kind).any(|rule| rule.rule_id == id) {
            return Ok(Target::Builtin(self.stored.changes.entry(id.to_owned()).or_default()));
        }
        Err(no_such_rule(kind, id))
    }
}

/// What a change of a rule is written to.
enum Target<'a> {
    Own(&'a mut Rule),
    Builtin(&'a mut RulePatch),
}

fn no_such_rule(kind: RuleKind, id: &str) -> RuleError {
    RuleError::NoSuchRule { kind, id: id.to_owned() }
}

#[cfg(test)]
mod tests;
