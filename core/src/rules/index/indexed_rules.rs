//! One user's compiled rules, with their index keys.

use std::sync::LazyLock;

use super::key::{EventKeys, IndexKey};
use crate::rules::evaluate::{
    BuiltinOverrides, CompiledRule, ConditionContext, effective_conditions, split_scopes,
};
use crate::rules::{ConditionKind, RuleDocument, RuleScope};

/// One user's rules, compiled for any number of events.
#[derive(Debug, Default)]
pub struct IndexedRules {
    pub(super) overrides: BuiltinOverrides,
    /// The key of each rule. Stored separately, because most rules are skipped by their key.
    keys: Box<[IndexKey]>,
    /// The enabled user rules in evaluation order: the rules of devices, then the global rules.
    /// Rules with a condition of an unknown kind are omitted, because they never match.
    pub(super) rules: Box<[IndexedRule]>,
}

#[derive(Debug)]
pub(super) struct IndexedRule {
    pub(super) scope: RuleScope,
    pub(super) compiled_rule: CompiledRule,
}

/// The index of a user without user rules and without overrides of built-in rules.
pub(super) static NO_RULES: LazyLock<IndexedRules> = LazyLock::new(IndexedRules::default);

impl IndexedRules {
    /// Compiles a user's documents in all scopes.
    pub fn new<'d>(documents: impl IntoIterator<Item = &'d RuleDocument>) -> Self {
        let (global, devices) = split_scopes(documents);
        let mut keys = Vec::new();
        let mut rules = Vec::new();
        for document in devices.into_iter().chain(global) {
            for (kind, rule) in document.user_rules().iter().filter(|(_, rule)| rule.enabled) {
                let conditions = effective_conditions(kind, rule);
                if conditions
                    .iter()
                    .any(|condition| matches!(condition.kind, ConditionKind::Unknown { .. }))
                {
                    continue;
                }
                keys.push(IndexKey::for_rule(&conditions).unwrap_or(IndexKey::ALWAYS));
                let compiled_rule = CompiledRule::new(kind, rule, &conditions);
                rules.push(IndexedRule { scope: document.scope().clone(), compiled_rule });
            }
        }
        let overrides = global.map(BuiltinOverrides::new).unwrap_or_default();
        Self { overrides, keys: keys.into(), rules: rules.into() }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let rule_bytes =
            self.rules.iter().map(|rule| size_of_val(rule) + rule.compiled_rule.heap_bytes());
        let override_bytes = self.overrides.heap_bytes();
        size_of_val(self) + size_of_val(&*self.keys) + override_bytes + rule_bytes.sum::<usize>()
    }

    pub(super) fn first_matching_rule(
        &self,
        keys: &EventKeys,
        context: &ConditionContext<'_>,
    ) -> Option<usize> {
        self.keys.iter().zip(&self.rules).position(|(key, rule)| {
            keys.contains(*key)
                && rule.scope.applies_to(context.member.profile_tag)
                && rule.compiled_rule.matches(context)
        })
    }
}
