//! Evaluation of an event for all members of a room.

use std::sync::LazyLock;

use super::key::IndexKey;
use super::members::{MemberSlot, Members};
use super::result::{MemberMatch, RoomEvaluation};
use super::rule_table::{RuleTable, SubscribedRule};
use crate::rules::evaluate::{
    BUILTIN_RULES, CompiledCondition, Context, MASTER, Member, Room, TextPattern, UserNames,
};
use crate::rules::event::{Event, Property};
use crate::rules::{RuleScope, Scalar, User};

/// Placeholder in a context whose conditions do not test the id or the localpart of the user.
static NO_USER: LazyLock<UserNames> = LazyLock::new(|| UserNames::new(User::new("")));

impl Members<'_> {
    /// Evaluates the rules of each member against an event.
    #[must_use]
    pub fn evaluate(&self, event: &Event, room: &Room) -> RoomEvaluation<'_> {
        let context = Context { event, room, user: &NO_USER, member: Member::default() };
        let body_keys = IndexKey::all_of_body(event);
        let builtin = self.match_builtin_rules(&context, &body_keys);
        let keys = IndexKey::all_of_event(event, body_keys);
        let mut results = RuleResults::new(&self.index.rules, &keys);
        let evaluate_member = |(slot, builtin): (&MemberSlot<'_>, u64)| {
            if event.sender() == Some(slot.user_id) {
                return MemberMatch::NoRule;
            }
            let context = Context { member: slot.member, ..context };
            let user_rules = slot.user.map_or(&[][..], |user| &self.index.users[user].rules);
            let user_rule = user_rules.iter().find(|rule| results.is_match(**rule, &context));
            self.choose(slot, builtin, user_rule.map(|rule| rule.number))
        };
        let matches = self.slots.iter().zip(builtin).map(evaluate_member).collect();
        RoomEvaluation { members: self, matches }
    }

    /// The built-in rules that match for each member, as bit sets.
    fn match_builtin_rules(&self, context: &Context<'_>, body_keys: &[IndexKey]) -> Vec<u64> {
        let mut common = 0;
        let mut matches = vec![0; self.len()];
        for (index, rule) in BUILTIN_RULES.iter().enumerate() {
            if rule.is_superseded(context.event) || !rule.compiled.can_match(context) {
                continue;
            }
            let personal = rule.compiled.conditions.iter().find(|one| one.depends_on_user());
            let Some(condition) = personal else {
                common |= 1 << index;
                continue;
            };
            for position in self.find_candidates(condition, context.event, body_keys) {
                let slot = &self.slots[position];
                let user = UserNames::new(User::new(slot.user_id));
                let context = Context { user: &user, member: slot.member, ..*context };
                if rule.compiled.matches(&context) {
                    matches[position] |= 1 << index;
                }
            }
        }
        matches.iter_mut().for_each(|builtin| *builtin |= common);
        matches
    }

    /// The positions of the members for whom a condition that depends on the user can be met.
    fn find_candidates(
        &self,
        condition: &CompiledCondition,
        event: &Event,
        body_keys: &[IndexKey],
    ) -> Vec<usize> {
        match condition {
            CompiledCondition::DisplayName => self.display_names().find(body_keys).collect(),
            CompiledCondition::BodyWord(TextPattern::Localpart) => {
                self.localparts().find(body_keys).collect()
            }
            CompiledCondition::PropertyContainsUserId { path } => {
                let ids = event.list(path).iter().filter_map(|item| match item {
                    Scalar::String(id) => Some(IndexKey::for_id(id)),
                    _ => None,
                });
                self.ids().find(&ids.collect::<Vec<_>>()).collect()
            }
            CompiledCondition::WholeValue { path, pattern: TextPattern::UserId } => {
                let id = event.get(path).and_then(Property::as_str).map(IndexKey::for_id);
                self.ids().find(id.as_slice()).collect()
            }
            _ => (0..self.len()).collect(),
        }
    }

    /// Chooses between the built-in rules and the first user rule that match.
    fn choose(&self, slot: &MemberSlot<'_>, builtin: u64, user_rule: Option<usize>) -> MemberMatch {
        let wins = |index: &usize| user_rule.is_none_or(|rule| self.outranks(*index, rule));
        match (slot.overrides.first_enabled(builtin).filter(wins), user_rule) {
            (Some(index), _) => {
                let is_changed = slot.overrides.changed_actions(index).is_some();
                MemberMatch::Builtin { index, changed_by: slot.user.filter(|_| is_changed) }
            }
            (None, Some(rule)) => MemberMatch::UserRule(rule),
            (None, None) => MemberMatch::NoRule,
        }
    }

    /// Whether a built-in rule ranks above a user rule.
    fn outranks(&self, builtin: usize, rule: usize) -> bool {
        let rule = self.index.rules.get(rule);
        let is_higher_kind = BUILTIN_RULES[builtin].compiled.kind < rule.compiled.kind;
        builtin == MASTER || is_higher_kind && rule.scope == RuleScope::Global
    }
}

/// The results of user rules for one event, by their numbers. Each rule is evaluated when the first
/// member needs it.
struct RuleResults<'a> {
    rules: &'a RuleTable,
    results: Vec<RuleResult>,
}

#[derive(Clone, Copy, PartialEq)]
enum RuleResult {
    /// The event does not have the key of the rule, if the rule has one.
    NoKey,
    Candidate,
    Matched,
    Failed,
}

impl<'a> RuleResults<'a> {
    fn new(rules: &'a RuleTable, keys: &[IndexKey]) -> Self {
        let mut results = vec![RuleResult::NoKey; rules.capacity()];
        for number in rules.with_keys(keys) {
            results[number] = RuleResult::Candidate;
        }
        Self { rules, results }
    }

    fn is_match(&mut self, rule: SubscribedRule, context: &Context<'_>) -> bool {
        let SubscribedRule { number, is_keyed } = rule;
        let result = self.results[number];
        if result == RuleResult::Failed || result == RuleResult::NoKey && is_keyed {
            return false;
        }
        let rule = self.rules.get(number);
        if !rule.applies_to(context.member) {
            return false;
        }
        let is_match = result == RuleResult::Matched || rule.compiled.matches(context);
        if !rule.depends_on_member {
            self.results[number] = if is_match { RuleResult::Matched } else { RuleResult::Failed };
        }
        is_match
    }
}
