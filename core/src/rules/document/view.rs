//! What a user sees of a document: built-in rules with the user's changes, and the user's own.

use std::borrow::Cow;

use super::{Document, no_such_rule};
use crate::rules::{Rule, RuleError, RuleKind, RuleScope, Ruleset, User, builtin};

impl Document {
    /// A rule as the user sees it, built-in ones included.
    ///
    /// # Errors
    /// When there is no such rule.
    pub fn rule(
        &self,
        kind: RuleKind,
        id: &str,
        user: User<'_>,
    ) -> Result<Cow<'_, Rule>, RuleError> {
        if let Some(at) = self.position(kind, id) {
            return Ok(Cow::Borrowed(&self.user_rules()[kind][at]));
        }
        self.builtin(kind)
            .find(|rule| rule.rule_id == id)
            .map(|rule| self.changed(rule, user))
            .ok_or_else(|| no_such_rule(kind, id))
    }

    /// The rules of a kind as the user sees them, in the order of evaluation: the user's own above
    /// the built-in ones, except for the one that silences everything.
    #[must_use]
    pub fn rules(&self, kind: RuleKind, user: User<'_>) -> Vec<Cow<'_, Rule>> {
        let own = self.user_rules()[kind].iter().map(Cow::Borrowed);
        let mut builtin = self.builtin(kind).map(|rule| self.changed(rule, user)).peekable();
        let master = builtin.next_if(|rule| rule.rule_id == builtin::MASTER);
        master.into_iter().chain(own).chain(builtin).collect()
    }

    /// All rules of this scope as the user sees them.
    #[must_use]
    pub fn ruleset(&self, user: User<'_>) -> Ruleset<Cow<'_, Rule>> {
        Ruleset::of(|kind| self.rules(kind, user))
    }

    /// The built-in rules of a kind that are not as they are built in, because the user changed
    /// them; what they say of the user is left open.
    pub fn patched_builtins(&self, kind: RuleKind) -> impl Iterator<Item = Rule> {
        self.builtin(kind).filter_map(|builtin| {
            let mut rule = builtin.clone();
            self.patch(&rule.rule_id)?.apply(&mut rule);
            (rule != *builtin).then_some(rule)
        })
    }

    pub(super) fn builtin(&self, kind: RuleKind) -> impl Iterator<Item = &'static Rule> + use<> {
        let rules = match self.scope {
            RuleScope::Global => builtin::all()[kind].as_slice(),
            RuleScope::Device(_) => &[],
        };
        rules.iter()
    }

    fn changed(&self, rule: &'static Rule, user: User<'_>) -> Cow<'static, Rule> {
        let mut rule = builtin::for_user(rule, user);
        if let Some(change) = self.patch(&rule.rule_id) {
            change.apply(rule.to_mut());
        }
        rule
    }
}
