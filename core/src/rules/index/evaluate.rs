//! Evaluation of an event for all members of a room.

use std::sync::LazyLock;

use super::key::IndexKey;
use super::members::{MemberSlot, Members};
use super::result::{Decision, RoomEvaluation};
use crate::rules::evaluate::{
    BUILTIN_RULES, CompiledCondition, Context, MASTER, Member, Room, TextPattern, UserNames,
};
use crate::rules::event::{Event, Property};
use crate::rules::{RuleScope, Scalar, User};

/// How to find the user rules that match an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Strategy {
    /// Evaluate the rules of each member. Faster for a small room in a large index.
    ByMember,
    /// Look up the rules that the event could match, and record the matches of their subscribers.
    ByRule,
}

/// The rules that match an event for one member, besides the built-in ones that match for all.
#[derive(Debug, Clone, Copy, Default)]
struct MemberMatches {
    /// Bit *n* is set if built-in rule *n* matches.
    builtin: u64,
    /// The rank and the number of the first user rule that matches.
    user_rule: Option<(usize, usize)>,
}

impl MemberMatches {
    fn add_user_rule(&mut self, rank: usize, rule: usize) {
        let found = (rank, rule);
        self.user_rule = Some(self.user_rule.map_or(found, |first| first.min(found)));
    }
}

/// Placeholder in a context whose conditions do not test the id or the localpart of the user.
static NO_USER: LazyLock<UserNames> = LazyLock::new(|| UserNames::new(User::new("")));

impl Members<'_> {
    /// Evaluates the rules of each member against an event.
    #[must_use]
    pub fn evaluate(&self, event: &Event, room: &Room) -> RoomEvaluation<'_> {
        self.evaluate_by(self.choose_strategy(), event, room)
    }

    /// Compares the number of members with a cost of [`Strategy::ByRule`] estimated from
    /// measurements.
    fn choose_strategy(&self) -> Strategy {
        let by_rule_cost = self.index.len() / 1000 + self.index.rules.unkeyed_len() / 25;
        if self.len() < by_rule_cost { Strategy::ByMember } else { Strategy::ByRule }
    }

    pub(super) fn evaluate_by(
        &self,
        strategy: Strategy,
        event: &Event,
        room: &Room,
    ) -> RoomEvaluation<'_> {
        let context = Context { event, room, user: &NO_USER, member: Member::default() };
        let body_keys = IndexKey::all_of_body(event);
        let mut matches = vec![MemberMatches::default(); self.len()];
        let common = self.match_builtin_rules(&context, &body_keys, &mut matches);
        match strategy {
            Strategy::ByMember => self.match_by_member(&context, &mut matches),
            Strategy::ByRule => self.match_by_rule(&context, body_keys, &mut matches),
        }
        let sender = event.sender();
        let decide = |(slot, matches): (&MemberSlot<'_>, MemberMatches)| {
            if sender == Some(slot.user_id) {
                return Decision::NoRule;
            }
            self.decide(slot, common | matches.builtin, matches.user_rule.map(|(_, rule)| rule))
        };
        let decisions = self.slots.iter().zip(matches).map(decide).collect();
        RoomEvaluation { members: self, decisions }
    }

    /// Returns the built-in rules that match for all members, as a bit set. A rule that matches for
    /// some members only is added to the matches of these members.
    fn match_builtin_rules(
        &self,
        context: &Context<'_>,
        body_keys: &[IndexKey],
        matches: &mut [MemberMatches],
    ) -> u64 {
        let mut common = 0;
        for (index, rule) in BUILTIN_RULES.iter() {
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
                    matches[position].builtin |= 1 << index;
                }
            }
        }
        common
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

    fn match_by_member(&self, context: &Context<'_>, matches: &mut [MemberMatches]) {
        for (slot, matches) in self.slots.iter().zip(matches) {
            let Some(user) = slot.user else { continue };
            let context = Context { member: slot.member, ..*context };
            let is_match = |(_, number): &(usize, &usize)| {
                let rule = self.index.rules.get(**number);
                rule.applies_to(slot.member) && rule.compiled.matches(&context)
            };
            let first = self.index.users[user].rules.iter().enumerate().find(is_match);
            matches.user_rule = first.map(|(rank, number)| (rank, *number));
        }
    }

    fn match_by_rule(
        &self,
        context: &Context<'_>,
        body_keys: Vec<IndexKey>,
        matches: &mut [MemberMatches],
    ) {
        let keys = IndexKey::all_of_event(context.event, body_keys);
        for (number, rule) in self.index.rules.candidates(&keys) {
            if !rule.compiled.can_match(context) {
                continue;
            }
            let same_for_all = rule.is_same_for_all();
            for (user, rank) in self.index.rules.subscribers(number) {
                for position in self.of_user(user) {
                    let member = self.slots[*position].member;
                    let is_match = || {
                        let context = Context { member, ..*context };
                        rule.applies_to(member) && rule.compiled.matches(&context)
                    };
                    if same_for_all || is_match() {
                        matches[*position].add_user_rule(rank, number);
                    }
                }
            }
        }
    }

    /// Chooses between the first built-in rule and the first user rule that match.
    fn decide(&self, slot: &MemberSlot<'_>, builtin: u64, user_rule: Option<usize>) -> Decision {
        let wins = |index: &usize| user_rule.is_none_or(|rule| self.outranks(*index, rule));
        match (slot.overrides.first_enabled(builtin).filter(wins), user_rule) {
            (Some(index), _) => {
                let is_changed = slot.overrides.changed_actions(index).is_some();
                Decision::Builtin { index, changed_by: slot.user.filter(|_| is_changed) }
            }
            (None, Some(rule)) => Decision::UserRule(rule),
            (None, None) => Decision::NoRule,
        }
    }

    /// Whether a built-in rule ranks above a user rule.
    fn outranks(&self, builtin: usize, rule: usize) -> bool {
        let rule = self.index.rules.get(rule);
        let is_higher_kind = BUILTIN_RULES.get(builtin).compiled.kind < rule.compiled.kind;
        builtin == MASTER || is_higher_kind && rule.scope == RuleScope::Global
    }
}
