//! The distinct rules of all users.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest, Sha256};
use slab::Slab;

use super::key::IndexKey;
use crate::json;
use crate::rules::evaluate::{CompiledCondition, CompiledRule, Member, effective_conditions};
use crate::rules::{ConditionKind, Rule, RuleKind, RuleScope};

#[derive(Debug, Default)]
pub(super) struct RuleTable {
    rules: Slab<IndexedRule>,
    by_fingerprint: HashMap<Fingerprint, usize>,
    /// The rules that only an event with this key can match.
    by_key: BTreeSet<(IndexKey, usize)>,
}

/// A rule that one or more users have.
#[derive(Debug)]
pub(super) struct IndexedRule {
    pub(super) scope: RuleScope,
    pub(super) compiled: CompiledRule,
    /// Whether the result can differ between members to which the rule applies.
    pub(super) depends_on_member: bool,
    /// The number of users that have the rule.
    pub(super) subscribers: usize,
    fingerprint: Fingerprint,
    key: Option<IndexKey>,
}

/// The number of a user's rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubscribedRule {
    pub(super) number: usize,
    /// Whether only events with the key of the rule can match it.
    pub(super) is_keyed: bool,
}

/// Identifies a rule by its content. A cryptographic hash, because users could search for
/// collisions with the rules of others.
type Fingerprint = [u8; 32];

impl RuleTable {
    /// Adds a subscriber to a rule. `None` if the rule can never match.
    pub(super) fn subscribe(
        &mut self,
        scope: &RuleScope,
        kind: RuleKind,
        rule: &Rule,
    ) -> Option<SubscribedRule> {
        let conditions = effective_conditions(kind, rule);
        if conditions.iter().any(|one| matches!(one.kind, ConditionKind::Unknown { .. })) {
            return None;
        }
        let fingerprint = Sha256::digest(json::to_bytes(&(scope.to_string(), kind, rule))).into();
        let number = *self.by_fingerprint.entry(fingerprint).or_insert_with(|| {
            let compiled = CompiledRule::new(kind, rule, &conditions);
            self.rules.insert(IndexedRule {
                scope: scope.clone(),
                depends_on_member: compiled
                    .conditions
                    .iter()
                    .any(CompiledCondition::depends_on_user),
                compiled,
                subscribers: 0,
                fingerprint,
                key: IndexKey::for_rule(&conditions),
            })
        });
        let rule = &mut self.rules[number];
        rule.subscribers += 1;
        self.by_key.extend(rule.key.map(|key| (key, number)));
        Some(SubscribedRule { number, is_keyed: rule.key.is_some() })
    }

    /// Removes a subscriber of a rule, and the rule with its last subscriber.
    pub(super) fn unsubscribe(&mut self, number: usize) {
        let rule = &mut self.rules[number];
        rule.subscribers -= 1;
        if rule.subscribers > 0 {
            return;
        }
        let rule = self.rules.remove(number);
        self.by_fingerprint.remove(&rule.fingerprint);
        if let Some(key) = rule.key {
            self.by_key.remove(&(key, number));
        }
    }

    pub(super) fn get(&self, number: usize) -> &IndexedRule {
        &self.rules[number]
    }

    /// A number that is higher than those of all rules.
    pub(super) fn capacity(&self) -> usize {
        self.rules.capacity()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.by_fingerprint.is_empty() && self.by_key.is_empty()
    }

    /// The numbers of the rules that have one of these keys.
    pub(super) fn with_keys(&self, keys: &[IndexKey]) -> impl Iterator<Item = usize> {
        let range = |key: &IndexKey| self.by_key.range((*key, 0)..=(*key, usize::MAX));
        keys.iter().flat_map(range).map(|(_, number)| *number)
    }
}

impl IndexedRule {
    /// Whether the rule belongs to the scope in which this member is evaluated.
    pub(super) fn applies_to(&self, member: Member<'_>) -> bool {
        match &self.scope {
            RuleScope::Global => true,
            RuleScope::Device(tag) => Some(tag.as_str()) == member.profile_tag,
        }
    }
}
