//! The stored rules of one user and scope.
//!
//! Built-in rules are not part of the document. They are merged when rules are read, so a new
//! built-in rule applies to existing users and no copies are stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Action, EnabledChange, NewRule, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleId, RuleKind,
    RuleScope, Ruleset, User, builtin,
};

/// The user rules of one scope, and the overrides of built-in rules.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleDocument {
    scope: RuleScope,
    content: DocumentContent,
}

/// The stored format of a document, which later versions must be able to read:
///
/// ```json
/// {"version":"1",
///  "rules":{"override":[],"content":[],"room":[],"sender":[],"underride":[]},
///  "changes":{".m.rule.master":{"enabled":true,"actions":[],"until":1800000000000}}}
/// ```
///
/// Changes are keyed by rule id alone, so that they still apply if a built-in rule moves to a
/// different kind. Unknown members are rejected, because the next write would lose them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentContent {
    #[serde(default)]
    version: FormatVersion,
    rules: Ruleset,
    #[serde(rename = "changes")]
    patches: BTreeMap<String, RulePatch>,
}

/// Version of the stored format. Documents of other versions are rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
enum FormatVersion {
    /// Also applies to documents without a version.
    #[default]
    #[serde(rename = "1")]
    V1,
}

/// The attributes of a built-in rule that a user has changed. The others follow the rule's
/// definition, even when a later version changes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RulePatch {
    /// True if the rule is evaluated; `None` for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Actions of the rule; `None` for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
    /// Time at which `enabled` returns to its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<RuleExpiry>,
}

/// The `before` and `after` parameters of a `PUT` request for a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RulePosition<'a> {
    /// The id of the rule directly above which the rule is placed.
    pub before: Option<&'a str>,
    /// The id of the rule directly below which the rule is placed. If `before` is given as well, it
    /// determines the position, and the rule named by `after` only has to exist.
    pub after: Option<&'a str>,
}

impl RuleDocument {
    /// Creates the document of a user without rules.
    pub fn new(scope: RuleScope) -> Self {
        Self { scope, content: DocumentContent::default() }
    }

    /// Creates a document with the given rules, whose ids must be unique within each kind.
    pub(super) fn from_rules(scope: RuleScope, rules: Ruleset) -> Self {
        Self { scope, content: DocumentContent { rules, ..DocumentContent::default() } }
    }

    /// Returns the global document of users without rules.
    pub(super) fn without_rules() -> &'static Self {
        static WITHOUT_RULES: LazyLock<RuleDocument> =
            LazyLock::new(|| RuleDocument::new(RuleScope::Global));
        &WITHOUT_RULES
    }

    /// Parses the output of [`RuleDocument::to_text`] of this or an earlier version.
    pub fn from_text(scope: RuleScope, text: &str) -> serde_json::Result<Self> {
        Ok(Self { scope, content: serde_json::from_str(text)? })
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.content).expect("map keys are strings")
    }

    pub fn scope(&self) -> &RuleScope {
        &self.scope
    }

    pub fn user_rules(&self) -> &Ruleset {
        &self.content.rules
    }

    /// Returns the user's changes to a built-in rule.
    pub fn patch(&self, id: &str) -> Option<&RulePatch> {
        self.content.patches.get(id)
    }

    /// Returns the overrides of built-in rules, each with the rule id.
    pub fn patches(&self) -> impl Iterator<Item = (&str, &RulePatch)> {
        self.content.patches.iter().map(|(id, patch)| (id.as_str(), patch))
    }

    /// Returns the number of user rules.
    pub fn rule_count(&self) -> usize {
        self.user_rules().iter().count()
    }

    /// Returns whether there are neither user rules nor overrides of built-in rules.
    pub fn is_empty(&self) -> bool {
        self.rule_count() == 0 && self.content.patches.is_empty()
    }

    /// Adds a rule, or replaces the rule of the same kind and id.
    ///
    /// Without a position, a new rule is placed above the user's other rules of its kind, and a
    /// replaced rule keeps its position. A new rule is enabled, a replaced rule keeps `enabled`.
    pub fn put(
        &mut self,
        kind: RuleKind,
        id: RuleId,
        new_rule: NewRule,
        position: RulePosition<'_>,
    ) -> Result<(), RuleError> {
        let before_index = self.find_neighbour(kind, &id, position.before)?;
        let after_index = self.find_neighbour(kind, &id, position.after)?.map(|index| index + 1);
        let old_index = self.index_of(kind, id.as_str());
        let rules = &mut self.content.rules[kind];
        let rule = new_rule.into_rule(id, old_index.is_none_or(|index| rules[index].enabled));
        match (old_index, before_index.or(after_index)) {
            (None, new_index) => rules.insert(new_index.unwrap_or(0), rule),
            (Some(old_index), None) => rules[old_index] = rule,
            (Some(old_index), Some(new_index)) => {
                rules.remove(old_index);
                rules.insert(if old_index < new_index { new_index - 1 } else { new_index }, rule);
            }
        }
        Ok(())
    }

    /// Removes a user rule. Built-in rules cannot be removed.
    pub fn remove(&mut self, kind: RuleKind, id: &str) -> Result<(), RuleError> {
        let Some(index) = self.index_of(kind, id) else {
            let is_builtin = self.builtin_rules(kind).any(|rule| rule.rule_id == id);
            return Err(if is_builtin {
                RuleError::BuiltinDeletion(id.to_owned())
            } else {
                no_such_rule(kind, id)
            });
        };
        self.content.rules[kind].remove(index);
        Ok(())
    }

    /// Enables or disables a user rule or a built-in rule. A change to a built-in rule may expire,
    /// and `enabled` then returns to its default. A timed user rule keeps its `until`, and a change
    /// with `until` is rejected for user rules.
    pub fn set_enabled(
        &mut self,
        kind: RuleKind,
        id: &str,
        change: impl Into<EnabledChange>,
    ) -> Result<(), RuleError> {
        let change = change.into();
        match self.rule_mut(kind, id)? {
            RuleMut::User(_) if change.until.is_some() => {
                return Err(RuleError::ExpiryOfUserRule(id.to_owned()));
            }
            RuleMut::User(rule) => rule.enabled = change.enabled,
            RuleMut::Builtin(patch) => {
                (patch.enabled, patch.until) = (Some(change.enabled), change.until);
            }
        }
        Ok(())
    }

    /// Replaces the actions of a user rule or a built-in rule. A user rule must not grow above the
    /// maximum size.
    pub fn set_actions(
        &mut self,
        kind: RuleKind,
        id: &str,
        actions: Vec<Action>,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        match self.rule_mut(kind, id)? {
            RuleMut::User(rule) => {
                let new_rule = Rule { actions, ..rule.clone() };
                limits.check_growth(rule, &new_rule)?;
                *rule = new_rule;
            }
            RuleMut::Builtin(patch) => patch.actions = Some(actions),
        }
        Ok(())
    }

    /// Merges a change to a built-in rule into the stored changes. The rule need not exist in this
    /// version. `until` is ignored without `enabled`.
    pub(super) fn merge_patch(&mut self, id: String, change: RulePatch) {
        if change.enabled.is_none() && change.actions.is_none() {
            return;
        }
        let patch = self.content.patches.entry(id).or_default();
        if change.enabled.is_some() {
            (patch.enabled, patch.until) = (change.enabled, change.until);
        }
        if change.actions.is_some() {
            patch.actions = change.actions;
        }
    }

    /// Removes expired rules, and resets `enabled` of built-in rules whose change has expired.
    /// Returns whether anything had expired. All other operations treat expired rules as present,
    /// so this must be called before a document is changed or evaluated.
    pub fn remove_expired(&mut self, now: Timestamp) -> bool {
        let has_expired =
            |until: Option<RuleExpiry>| until.is_some_and(|until| until.is_reached(now));
        if !has_expired(self.next_expiry()) {
            return false;
        }
        for &kind in RuleKind::ALL {
            self.content.rules[kind].retain(|rule| !has_expired(rule.until));
        }
        self.content.patches.retain(|_, patch| {
            if !has_expired(patch.until) {
                return true;
            }
            (patch.enabled, patch.until) = (None, None);
            patch.actions.is_some()
        });
        true
    }

    /// Returns the earliest time at which a rule, or a change to a built-in rule, expires.
    pub fn next_expiry(&self) -> Option<RuleExpiry> {
        let rules = self.user_rules().iter().filter_map(|(_, rule)| rule.until);
        rules.chain(self.content.patches.values().filter_map(|patch| patch.until)).min()
    }

    fn index_of(&self, kind: RuleKind, id: &str) -> Option<usize> {
        self.user_rules()[kind].iter().position(|rule| rule.rule_id == id)
    }

    /// Returns the index of the rule named by `before` or `after`, or `None` if the parameter is
    /// absent. The rule must be another user rule of the same kind.
    fn find_neighbour(
        &self,
        kind: RuleKind,
        id: &RuleId,
        neighbour: Option<&str>,
    ) -> Result<Option<usize>, RuleError> {
        let Some(neighbour) = neighbour else { return Ok(None) };
        if neighbour == id.as_str() {
            return Err(RuleError::OwnNeighbour);
        }
        if RuleId::is_reserved(neighbour) {
            return Err(RuleError::BuiltinNeighbour(neighbour.to_owned()));
        }
        let index = self.index_of(kind, neighbour);
        index
            .map(Some)
            .ok_or_else(|| RuleError::UnknownNeighbour { kind, id: neighbour.to_owned() })
    }

    fn rule_mut(&mut self, kind: RuleKind, id: &str) -> Result<RuleMut<'_>, RuleError> {
        if let Some(index) = self.index_of(kind, id) {
            return Ok(RuleMut::User(&mut self.content.rules[kind][index]));
        }
        if self.builtin_rules(kind).any(|rule| rule.rule_id == id) {
            return Ok(RuleMut::Builtin(self.content.patches.entry(id.to_owned()).or_default()));
        }
        Err(no_such_rule(kind, id))
    }
}

/// The rules as the user sees them: user rules merged with built-in rules.
impl RuleDocument {
    pub fn rule(
        &self,
        kind: RuleKind,
        id: &str,
        user: User<'_>,
    ) -> Result<Cow<'_, Rule>, RuleError> {
        if let Some(index) = self.index_of(kind, id) {
            return Ok(Cow::Borrowed(&self.user_rules()[kind][index]));
        }
        self.builtin_rules(kind)
            .find(|rule| rule.rule_id == id)
            .map(|rule| self.effective_builtin(rule, user))
            .ok_or_else(|| no_such_rule(kind, id))
    }

    /// Returns the rules of a kind in evaluation order: `.m.rule.master` (an override rule), the
    /// user rules, then the other built-in rules.
    pub fn rules(&self, kind: RuleKind, user: User<'_>) -> Vec<Cow<'_, Rule>> {
        let user_rules = self.user_rules()[kind].iter().map(Cow::Borrowed);
        let mut builtin_rules =
            self.builtin_rules(kind).map(|rule| self.effective_builtin(rule, user)).peekable();
        let master = builtin_rules.next_if(|rule| rule.rule_id == builtin::MASTER);
        master.into_iter().chain(user_rules).chain(builtin_rules).collect()
    }

    pub fn ruleset(&self, user: User<'_>) -> Ruleset<Cow<'_, Rule>> {
        Ruleset::from_fn(|kind| self.rules(kind, user))
    }

    /// Returns the definitions of the built-in rules of a kind. A device has none.
    pub(super) fn builtin_rules(
        &self,
        kind: RuleKind,
    ) -> impl Iterator<Item = &'static Rule> + use<> {
        let rules = match self.scope {
            RuleScope::Global => builtin::all()[kind].as_slice(),
            RuleScope::Device(_) => &[],
        };
        rules.iter()
    }

    /// Returns a built-in rule with placeholders replaced and the user's changes applied.
    fn effective_builtin(&self, rule: &'static Rule, user: User<'_>) -> Cow<'static, Rule> {
        let mut rule = builtin::replace_placeholders(rule, user);
        let Some(patch) = self.patch(&rule.rule_id) else { return rule };
        if let Some(enabled) = patch.enabled {
            let rule = rule.to_mut();
            rule.enabled = enabled;
            rule.until = patch.until;
        }
        if let Some(actions) = &patch.actions {
            rule.to_mut().actions.clone_from(actions);
        }
        rule
    }
}

/// A rule to be changed: a user rule, or the stored changes to a built-in rule.
enum RuleMut<'d> {
    User(&'d mut Rule),
    Builtin(&'d mut RulePatch),
}

fn no_such_rule(kind: RuleKind, id: &str) -> RuleError {
    RuleError::NoSuchRule { kind, id: id.to_owned() }
}

#[cfg(test)]
mod tests;
