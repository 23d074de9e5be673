//! The rules of all users, each once, with those who hold it.

use std::collections::HashMap;
use std::sync::Arc;

use super::interner::{Digest, Interner};
use super::key::IndexKey;
use super::{Slot, number};
use crate::rules::evaluate::{Check, Member, Ready, conditions};
use crate::rules::{Action, Condition, ConditionKind, Rule, RuleKind, RuleScope};

#[derive(Debug, Default)]
pub(super) struct RuleTable {
    rules: Interner<IndexedRule>,
    /// The rules that only an event with this mark can match.
    marked: HashMap<IndexKey, Vec<u32>>,
    /// The rules that any event could match.
    unmarked: Vec<u32>,
    actions: Interner<Arc<[Action]>>,
}

/// A rule, and who has it.
#[derive(Debug)]
pub(super) struct IndexedRule {
    pub(super) scope: RuleScope,
    pub(super) ready: Ready,
    pub(super) holders: Vec<Subscriber>,
    actions: u32,
    mark: Option<IndexKey>,
    /// Where in the list of its mark it is.
    at: u32,
}

/// A user who has a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subscriber {
    pub(super) user: u32,
    /// Which of the user's rules it is.
    pub(super) slot: u32,
}

impl RuleTable {
    /// Gives a rule to a user. A rule that never matches is not kept.
    pub(super) fn take(
        &mut self,
        scope: &RuleScope,
        kind: RuleKind,
        rule: &Rule,
        holder: Subscriber,
    ) -> Option<Slot> {
        if never_matches(kind, rule) {
            return None;
        }
        let digest = Digest::of(&(scope.to_string(), kind, rule));
        let Self { rules, actions, .. } = self;
        let mut mark = None;
        let mut is_new = false;
        let place = rules.take(digest, || {
            is_new = true;
            let conditions = conditions(kind, rule);
            mark = IndexKey::of_rule(&conditions);
            let mut ready = Ready::new(kind, rule, &conditions);
            let actions_at = actions.take(Digest::of(&rule.actions), || Arc::clone(&ready.actions));
            if let Some(shared) = actions.get(actions_at) {
                ready.actions = Arc::clone(shared);
            }
            let (scope, holders) = (scope.clone(), Vec::new());
            IndexedRule { scope, ready, holders, actions: actions_at, mark, at: 0 }
        });
        if is_new {
            let list = self.list(mark);
            let at = number(list.len());
            list.push(place);
            if let Some(shelved) = self.rules.get_mut(place) {
                shelved.at = at;
            }
        }
        let holders = &mut self.rules.get_mut(place)?.holders;
        holders.push(holder);
        Some(Slot { rule: place, at: number(holders.len() - 1) })
    }

    /// Takes a rule from a user. The holder that was last in its list takes the place.
    pub(super) fn release(&mut self, slot: Slot) -> Option<(Subscriber, u32)> {
        let holders = &mut self.rules.get_mut(slot.rule)?.holders;
        holders.swap_remove(slot.at as usize);
        let moved = holders.get(slot.at as usize).copied();
        if holders.len() < holders.capacity() / 4 {
            holders.shrink_to(holders.len() * 2);
        }
        if let Some(last) = self.rules.release(slot.rule) {
            self.take_down(&last);
        }
        moved.map(|holder| (holder, slot.at))
    }

    fn take_down(&mut self, shelved: &IndexedRule) {
        self.actions.release(shelved.actions);
        let list = self.list(shelved.mark);
        list.swap_remove(shelved.at as usize);
        let moved = list.get(shelved.at as usize).copied();
        let is_empty = list.is_empty();
        if let Some(mark) = shelved.mark.filter(|_| is_empty) {
            self.marked.remove(&mark);
        }
        if let Some(moved) = moved.and_then(|number| self.rules.get_mut(number)) {
            moved.at = shelved.at;
        }
    }

    fn list(&mut self, mark: Option<IndexKey>) -> &mut Vec<u32> {
        match mark {
            Some(mark) => self.marked.entry(mark).or_default(),
            None => &mut self.unmarked,
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&IndexedRule> {
        self.rules.get(number)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rules.len() + self.actions.len() + self.marked.len() + self.unmarked.len()
    }

    /// How many rules an event has to be tried on whatever it is.
    pub(super) fn unmarked(&self) -> usize {
        self.unmarked.len()
    }

    /// The rules that an event with these marks could match.
    pub(super) fn candidates(
        &self,
        marks: &[IndexKey],
    ) -> impl Iterator<Item = (u32, &IndexedRule)> {
        let marked = marks.iter().filter_map(|mark| self.marked.get(mark)).flatten();
        let numbers = marked.chain(&self.unmarked).copied();
        numbers.filter_map(|number| Some((number, self.get(number)?)))
    }
}

fn never_matches(kind: RuleKind, rule: &Rule) -> bool {
    let is_unknown =
        |condition: &Condition| matches!(condition.kind, ConditionKind::Unknown { .. });
    match kind {
        RuleKind::Override | RuleKind::Underride => {
            rule.conditions.iter().flatten().any(is_unknown)
        }
        RuleKind::Content => rule.pattern.is_none(),
        RuleKind::Room | RuleKind::Sender => false,
    }
}

impl IndexedRule {
    /// Whether the rule is asked about events for this member.
    pub(super) fn is_for(&self, member: Member<'_>) -> bool {
        match &self.scope {
            RuleScope::Global => true,
            RuleScope::Device(tag) => Some(tag.as_str()) == member.profile_tag,
        }
    }

    /// Whether it makes no difference which member it is.
    pub(super) fn is_for_all(&self) -> bool {
        self.scope == RuleScope::Global && !self.ready.checks.iter().any(Check::is_personal)
    }
}
