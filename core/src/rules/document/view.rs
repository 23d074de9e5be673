//! Rules of a document as the user sees them: user rules merged with built-in rules.

use std::borrow::Cow;

use super::{RuleDocument, no_such_rule};
use crate::rules::{Rule, RuleError, RuleKind, RuleScope, Ruleset, User, builtin};

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
    pub(in crate::rules) fn builtin_rules(
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
