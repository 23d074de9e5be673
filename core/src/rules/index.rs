//! Evaluation of an event for all members of a room.
//!
//! Each user's rules are compiled once, with an index key for each rule: a value or a word that an
//! event must have for the rule to match. A rule whose key the event lacks is skipped. The built-in
//! rules are evaluated for all members together.

pub(super) mod key;
#[cfg(test)]
mod tests;

use std::cell::{LazyCell, OnceCell};
use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use self::key::{EventKeys, IndexKey};
use super::evaluate::{
    BUILTIN_RULES, BuiltinOverrides, CompiledCondition, CompiledRule, ConditionContext,
    MASTER_INDEX, Member, NO_USER, PushEvaluation, Room, TextPattern, UserNames,
    effective_conditions, split_scopes,
};
use super::event::Event;
use super::work::{RequestWorkBudget, UserWorkBudget};
use super::{ConditionKind, RuleDocument, RuleScope, User};
use crate::json;

/// One user's rules, compiled for any number of events.
#[derive(Debug, Default)]
pub struct IndexedRules {
    overrides: BuiltinOverrides,
    /// The key of each rule. Stored separately, because most rules are skipped by their key.
    keys: Box<[IndexKey]>,
    /// The enabled user rules in evaluation order: the rules of devices, then the global rules.
    /// Rules with a condition of an unknown kind are omitted, because they never match.
    rules: Box<[IndexedRule]>,
}

#[derive(Debug)]
struct IndexedRule {
    scope: RuleScope,
    compiled_rule: CompiledRule,
}

impl IndexedRule {
    /// Returns the result of the rule if it matches.
    fn evaluation(&self) -> PushEvaluation<'_> {
        let Self { scope, compiled_rule } = self;
        PushEvaluation::new(compiled_rule.name_in(scope), &compiled_rule.actions)
    }
}

/// The index of a user without user rules and without overrides of built-in rules.
static NO_RULES: LazyLock<IndexedRules> = LazyLock::new(IndexedRules::default);

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
                let compile = CompiledCondition::new;
                let compiled_rule = CompiledRule::new(kind, rule, &conditions, compile);
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

    /// Returns the position of the first of `count` rules that matches.
    fn first_matching_rule(
        &self,
        count: usize,
        keys: &EventKeys,
        context: &ConditionContext<'_>,
    ) -> Option<usize> {
        self.keys.iter().zip(&self.rules).take(count).position(|(key, rule)| {
            keys.contains(*key)
                && rule.scope.applies_to(context.member.profile_tag)
                && rule.compiled_rule.matches(context)
        })
    }

    /// Returns the number of rules of devices, which precede the global rules.
    fn device_rule_count(&self) -> usize {
        self.rules.partition_point(|rule| rule.scope != RuleScope::Global)
    }
}

/// The members of a room, prepared to evaluate any number of events.
#[derive(Debug)]
pub struct Members<'a> {
    slots: Vec<MemberSlot<'a>>,
    id_index: OnceCell<PositionIndex>,
    localpart_index: OnceCell<PositionIndex>,
    display_name_index: OnceCell<PositionIndex>,
}

/// One item of the member list: a user as a member of the room, and the user's rules.
#[derive(Debug)]
struct MemberSlot<'a> {
    user_id: &'a str,
    member: Member<'a>,
    rules: &'a IndexedRules,
}

impl<'a> Members<'a> {
    /// Prepares members for evaluation. For a member without rules, only the unchanged built-in
    /// rules are evaluated. A user with several devices may be listed once for each.
    pub fn new(
        members: impl IntoIterator<Item = (&'a str, Member<'a>, Option<&'a IndexedRules>)>,
    ) -> Self {
        let slots = members.into_iter().map(|(user_id, member, rules)| {
            let rules = rules.unwrap_or(&NO_RULES);
            MemberSlot { user_id, member, rules }
        });
        Self {
            slots: slots.collect(),
            id_index: OnceCell::new(),
            localpart_index: OnceCell::new(),
            display_name_index: OnceCell::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the index of positions by user id. An id with wildcards can match other ids, so
    /// every lookup returns it.
    fn id_index(&self) -> &PositionIndex {
        self.id_index.get_or_init(|| {
            self.build_index(|slot| {
                let has_wildcards = slot.user_id.contains(['*', '?']);
                if has_wildcards {
                    IndexEntry::Always
                } else {
                    IndexEntry::Key(IndexKey::for_user_id(slot.user_id))
                }
            })
        })
    }

    /// Returns the index of positions by the localpart of the user id. A localpart without a key is
    /// returned by every lookup.
    fn localpart_index(&self) -> &PositionIndex {
        self.localpart_index.get_or_init(|| {
            self.build_index(|slot| {
                let localpart = User::new(slot.user_id).localpart;
                IndexKey::for_pattern(localpart).map_or(IndexEntry::Always, IndexEntry::Key)
            })
        })
    }

    /// Returns the index of positions by display name. A member without one is never returned.
    fn display_name_index(&self) -> &PositionIndex {
        self.display_name_index.get_or_init(|| {
            self.build_index(|slot| {
                let name = slot.member.display_name.unwrap_or_default();
                IndexKey::for_literal(name).map_or(IndexEntry::Never, IndexEntry::Key)
            })
        })
    }

    fn build_index(&self, entry: impl Fn(&MemberSlot<'_>) -> IndexEntry) -> PositionIndex {
        PositionIndex::new(self.slots.iter().map(entry))
    }
}

/// A map from index keys to positions in a list.
#[derive(Debug)]
struct PositionIndex {
    by_key: Vec<(IndexKey, usize)>,
    /// Positions that every lookup returns.
    always: Vec<usize>,
}

/// The lookups that return a position: lookups of its key, all lookups, or none.
enum IndexEntry {
    Key(IndexKey),
    Always,
    Never,
}

impl PositionIndex {
    fn new(entries: impl Iterator<Item = IndexEntry>) -> Self {
        let mut index = Self { by_key: Vec::new(), always: Vec::new() };
        for (position, entry) in entries.enumerate() {
            match entry {
                IndexEntry::Key(key) => index.by_key.push((key, position)),
                IndexEntry::Always => index.always.push(position),
                IndexEntry::Never => {}
            }
        }
        index.by_key.sort_unstable();
        index
    }

    /// Returns the positions with any of these keys, and the positions that every lookup returns. A
    /// position can occur more than once.
    fn find(&self, keys: &[IndexKey]) -> impl Iterator<Item = usize> {
        let entries = keys.iter().flat_map(|key| {
            let start = self.by_key.partition_point(|(entry_key, _)| entry_key < key);
            self.by_key[start..].iter().take_while(move |(entry_key, _)| entry_key == key)
        });
        entries.map(|(_, position)| position).chain(&self.always).copied()
    }
}

impl Members<'_> {
    /// Evaluates the rules of each member against an event at the time `now`. Rules that exceed the
    /// budget do not match. A built-in rule uses the budget only if its conditions depend on the
    /// member.
    ///
    /// ```
    /// # use belfry_core::rules::{RuleDocument, RuleScope, evaluate::{Member, Room}, event::Event};
    /// # use belfry_core::rules::{index::{IndexedRules, Members}, work::RequestWorkBudget};
    /// // Alice has muted all notifications, Bob has not.
    /// let muted = r#"{"rules": {}, "changes": {".m.rule.master": {"enabled": true}}}"#;
    /// let alice = IndexedRules::new([&RuleDocument::from_text(RuleScope::Global, muted)?]);
    /// let members = Members::new([
    ///     ("@alice:example.org", Member::default(), Some(&alice)),
    ///     ("@bob:example.org", Member::default(), None),
    /// ]);
    /// let event = Event::from_value(serde_json::json!({"type": "m.room.message"})).unwrap();
    /// let now = jiff::Timestamp::UNIX_EPOCH;
    /// let results = members.evaluate(&event, &Room::default(), now, &mut RequestWorkBudget::default());
    /// assert!(!results.get(0).unwrap().notifies());
    /// assert!(results.get(1).unwrap().notifies());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn evaluate(
        &self,
        event: &Event,
        room: &Room,
        now: Timestamp,
        budget: &mut RequestWorkBudget,
    ) -> RoomEvaluation<'_> {
        let work = &UserWorkBudget::unlimited();
        let context =
            ConditionContext { event, room, user: &NO_USER, member: Member::default(), now, work };
        let body_keys = IndexKey::all_in_body(event);
        let builtin_matches = self.match_builtin_rules(&context, &body_keys, budget);
        let keys = EventKeys::new(event, body_keys);
        let evaluate_member = |(slot, builtin_bits): (&MemberSlot<'_>, u64)| {
            if event.sender() == Some(slot.user_id) {
                return MemberMatch::NoRule;
            }
            let user_rule_index = budget.run_for_user(|work| {
                let context = ConditionContext { member: slot.member, work, ..context };
                slot.rules.first_matching_rule(slot.rules.rules.len(), &keys, &context)
            });
            choose_match(slot, builtin_bits, user_rule_index)
        };
        let matches = self.slots.iter().zip(builtin_matches).map(evaluate_member).collect();
        RoomEvaluation { members: self, matches }
    }

    /// Evaluates the rules of devices, each given by the position of its member and its profile tag.
    /// They rank above the member's other rules, except the master rule. A device for which none
    /// matches is absent from the result; it has the result of its member. Repeated devices are
    /// evaluated once, and those of a member share a budget.
    pub fn evaluate_devices<'d>(
        &self,
        mut devices: Vec<(usize, &'d str)>,
        event: &Event,
        room: &Room,
        now: Timestamp,
        budget: &mut RequestWorkBudget,
    ) -> HashMap<(usize, &'d str), PushEvaluation<'_>> {
        let keys = LazyCell::new(|| EventKeys::new(event, IndexKey::all_in_body(event)));
        let mut results = HashMap::new();
        devices.sort_unstable();
        devices.dedup();
        for devices in devices.chunk_by(|(left, _), (right, _)| left == right) {
            let slot = &self.slots[devices[0].0];
            let count = slot.rules.device_rule_count();
            let is_paused = slot.rules.overrides.first_enabled(1 << MASTER_INDEX).is_some();
            if count == 0 || is_paused || event.sender() == Some(slot.user_id) {
                continue;
            }
            budget.run_for_user(|work| {
                for device in devices {
                    let member = Member { profile_tag: Some(device.1), ..slot.member };
                    let context =
                        ConditionContext { event, room, user: &NO_USER, member, now, work };
                    // Each rule costs a step, because there may be many devices.
                    if work.spend(count).is_some()
                        && let Some(rule) = slot.rules.first_matching_rule(count, &keys, &context)
                    {
                        results.insert(*device, slot.rules.rules[rule].evaluation());
                    }
                }
            });
        }
        results
    }

    /// Returns the built-in rules that match for each member, as bit sets.
    fn match_builtin_rules(
        &self,
        context: &ConditionContext<'_>,
        body_keys: &[IndexKey],
        budget: &mut RequestWorkBudget,
    ) -> Vec<u64> {
        let mut common_matches = 0;
        let mut matches = vec![0; self.len()];
        for (index, rule) in BUILTIN_RULES.iter().enumerate() {
            if rule.is_superseded(context.event) || !rule.compiled_rule.can_match(context) {
                continue;
            }
            let mut conditions = rule.compiled_rule.conditions.iter();
            let Some(condition) = conditions.find(|condition| condition.depends_on_user()) else {
                common_matches |= 1 << index;
                continue;
            };
            for position in self.find_candidates(condition, context.event, body_keys) {
                let slot = &self.slots[position];
                let user = UserNames::new(User::new(slot.user_id));
                let is_match = budget.run_for_user(|work| {
                    let context =
                        ConditionContext { user: &user, member: slot.member, work, ..*context };
                    rule.compiled_rule.matches(&context)
                });
                matches[position] |= u64::from(is_match) << index;
            }
        }
        for member_matches in &mut matches {
            *member_matches |= common_matches;
        }
        matches
    }

    /// Returns the positions of the members for whom a condition that depends on the user can be
    /// met.
    fn find_candidates(
        &self,
        condition: &CompiledCondition,
        event: &Event,
        body_keys: &[IndexKey],
    ) -> Vec<usize> {
        match condition {
            CompiledCondition::DisplayName => self.display_name_index().find(body_keys).collect(),
            CompiledCondition::BodyWord(TextPattern::Localpart) => {
                self.localpart_index().find(body_keys).collect()
            }
            CompiledCondition::PropertyContainsUserId { path } => {
                let ids = event.items(path).iter().filter_map(Value::as_str);
                self.id_index().find(&ids.map(IndexKey::for_user_id).collect::<Vec<_>>()).collect()
            }
            CompiledCondition::WholeValue { path, pattern: TextPattern::UserId } => {
                let id = event.get(path).and_then(Value::as_str).map(IndexKey::for_user_id);
                self.id_index().find(id.as_slice()).collect()
            }
            _ => (0..self.len()).collect(),
        }
    }
}

/// Chooses the rule that is evaluated first among the matching built-in rules and the first
/// matching user rule. Disabled built-in rules are ignored.
fn choose_match(
    slot: &MemberSlot<'_>,
    builtin_bits: u64,
    user_rule_index: Option<usize>,
) -> MemberMatch {
    let outranks = |builtin_index: usize, rule_index: usize| {
        let rule = &slot.rules.rules[rule_index];
        let is_higher_kind =
            BUILTIN_RULES[builtin_index].compiled_rule.kind < rule.compiled_rule.kind;
        builtin_index == MASTER_INDEX || is_higher_kind && rule.scope == RuleScope::Global
    };
    let overrides = &slot.rules.overrides;
    match (overrides.first_enabled(builtin_bits), user_rule_index) {
        (Some(index), rule_index)
            if rule_index.is_none_or(|rule_index| outranks(index, rule_index)) =>
        {
            let has_changed_actions = overrides.changed_actions(index).is_some();
            MemberMatch::Builtin { index, has_changed_actions }
        }
        (_, Some(rule_index)) => MemberMatch::UserRule(rule_index),
        (_, None) => MemberMatch::NoRule,
    }
}

#[derive(Debug)]
pub struct RoomEvaluation<'a> {
    members: &'a Members<'a>,
    /// The match of each member, by the member's position.
    matches: Vec<MemberMatch>,
}

#[derive(Debug)]
pub struct MemberGroup<'a> {
    pub evaluation: PushEvaluation<'a>,
    /// The members' positions in the list, ascending.
    pub members: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum MemberMatch {
    NoRule,
    /// A user rule, by its position in the member's [`IndexedRules`].
    UserRule(usize),
    Builtin {
        index: usize,
        /// True if the member has changed the actions of the rule.
        has_changed_actions: bool,
    },
}

impl<'a> RoomEvaluation<'a> {
    pub fn get(&self, position: usize) -> Option<PushEvaluation<'a>> {
        let rules = self.members.slots.get(position)?.rules;
        Some(match self.matches[position] {
            MemberMatch::NoRule => PushEvaluation::NO_RULE,
            MemberMatch::UserRule(index) => rules.rules[index].evaluation(),
            MemberMatch::Builtin { index, .. } => {
                let rule = BUILTIN_RULES[index].compiled_rule.name_in(&RuleScope::Global);
                PushEvaluation::new(rule, rules.overrides.actions(index))
            }
        })
    }

    /// Returns all members grouped by result, in the order of the first member of each group.
    pub fn groups(&self) -> Vec<MemberGroup<'a>> {
        let mut groups: Vec<MemberGroup<'a>> = Vec::new();
        let mut group_by_match = HashMap::new();
        let mut group_by_json = HashMap::new();
        for (position, member_match) in self.matches.iter().enumerate() {
            let mut find_group = || {
                let evaluation = self.get(position).unwrap_or(PushEvaluation::NO_RULE);
                *group_by_json.entry(json::to_bytes(&evaluation)).or_insert_with(|| {
                    groups.push(MemberGroup { evaluation, members: Vec::new() });
                    groups.len() - 1
                })
            };
            // The result of an unchanged built-in rule is the same for all members.
            let group_index = match member_match {
                MemberMatch::UserRule(_)
                | MemberMatch::Builtin { has_changed_actions: true, .. } => find_group(),
                shared_match => *group_by_match.entry(shared_match).or_insert_with(find_group),
            };
            groups[group_index].members.push(position);
        }
        groups
    }
}
