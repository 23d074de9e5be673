//! The distinct rules of all users, with their subscribers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest, Sha256};
use slab::Slab;

use super::key::IndexKey;
use crate::json;
use crate::rules::evaluate::{CompiledCondition, CompiledRule, Member, effective_conditions};
use crate::rules::{Condition, ConditionKind, Rule, RuleKind, RuleScope};

#[derive(Debug, Default)]
pub(super) struct RuleTable {
    rules: Slab<IndexedRule>,
    by_fingerprint: HashMap<Fingerprint, usize>,
    /// The rules that only an event with this key can match.
    by_key: BTreeSet<(IndexKey, usize)>,
    /// The rules that any event could match.
    unkeyed: BTreeSet<usize>,
    /// The subscribers of each rule: rule and user, with the rule's rank among the user's rules.
    subscriptions: BTreeMap<(usize, usize), usize>,
}

/// A rule that one or more users have.
#[derive(Debug)]
pub(super) struct IndexedRule {
    pub(super) scope: RuleScope,
    pub(super) compiled: CompiledRule,
    fingerprint: Fingerprint,
    key: Option<IndexKey>,
}

/// Identifies a rule by its content. A cryptographic hash, because users could search for
/// collisions with the rules of others.
type Fingerprint = [u8; 32];

impl RuleTable {
    /// Adds a user to the subscribers of a rule and returns the rule's number; `None` if the rule
    /// can never match.
    pub(super) fn subscribe(
        &mut self,
        scope: &RuleScope,
        kind: RuleKind,
        rule: &Rule,
        user: usize,
        rank: usize,
    ) -> Option<usize> {
        let conditions = effective_conditions(kind, rule);
        let is_unknown =
            |condition: &Condition| matches!(condition.kind, ConditionKind::Unknown { .. });
        if conditions.iter().any(is_unknown) {
            return None;
        }
        let fingerprint = Sha256::digest(json::write(&(scope.to_string(), kind, rule))).into();
        let existing = self.by_fingerprint.get(&fingerprint).copied();
        let number = existing.unwrap_or_else(|| {
            let key = IndexKey::for_rule(&conditions);
            let compiled = CompiledRule::new(kind, rule, &conditions);
            self.insert(IndexedRule { scope: scope.clone(), compiled, fingerprint, key })
        });
        // A corrupt document may contain a rule twice.
        self.subscriptions.entry((number, user)).or_insert(rank);
        Some(number)
    }

    fn insert(&mut self, rule: IndexedRule) -> usize {
        let (fingerprint, key) = (rule.fingerprint, rule.key);
        let number = self.rules.insert(rule);
        self.by_fingerprint.insert(fingerprint, number);
        match key {
            Some(key) => self.by_key.insert((key, number)),
            None => self.unkeyed.insert(number),
        };
        number
    }

    /// Removes a user from the subscribers of a rule, and the rule with its last subscriber.
    pub(super) fn unsubscribe(&mut self, number: usize, user: usize) {
        let was_subscribed = self.subscriptions.remove(&(number, user)).is_some();
        if !was_subscribed || self.subscribers(number).next().is_some() {
            return;
        }
        let rule = self.rules.remove(number);
        self.by_fingerprint.remove(&rule.fingerprint);
        match rule.key {
            Some(key) => self.by_key.remove(&(key, number)),
            None => self.unkeyed.remove(&number),
        };
    }

    pub(super) fn get(&self, number: usize) -> &IndexedRule {
        &self.rules[number]
    }

    /// The users that have a rule, each with the rule's rank among the user's rules.
    pub(super) fn subscribers(&self, number: usize) -> impl Iterator<Item = (usize, usize)> {
        let subscriptions = self.subscriptions.range((number, 0)..=(number, usize::MAX));
        subscriptions.map(|((_, user), rank)| (*user, *rank))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.by_fingerprint.is_empty()
            && self.by_key.is_empty()
            && self.unkeyed.is_empty()
            && self.subscriptions.is_empty()
    }

    /// The number of rules that have to be evaluated for every event.
    pub(super) fn unkeyed_len(&self) -> usize {
        self.unkeyed.len()
    }

    /// The rules that an event with these keys could match.
    pub(super) fn candidates(
        &self,
        keys: &[IndexKey],
    ) -> impl Iterator<Item = (usize, &IndexedRule)> {
        let keyed = keys.iter().flat_map(|key| self.by_key.range((*key, 0)..=(*key, usize::MAX)));
        let numbers = keyed.map(|(_, number)| number).chain(&self.unkeyed);
        numbers.map(|number| (*number, self.get(*number)))
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

    /// Whether the result is the same for all members.
    pub(super) fn is_same_for_all(&self) -> bool {
        self.scope == RuleScope::Global
            && !self.compiled.conditions.iter().any(CompiledCondition::depends_on_user)
    }
}
