//! Evaluation of one event: the built-in rules for all members together, then each member's user
//! rules.

use jiff::Timestamp;
use serde_json::Value;

use super::key::{EventKeys, IndexKey};
use super::members::{MemberSlot, Members};
use super::result::{MemberMatch, RoomEvaluation};
use crate::rules::evaluate::{
    BUILTIN_RULES, CompiledCondition, ConditionContext, MASTER_INDEX, Member, NO_USER, Room,
    TextPattern, UserNames,
};
use crate::rules::event::Event;
use crate::rules::work::{RequestWorkBudget, UserWorkBudget};
use crate::rules::{RuleScope, User};

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
                slot.rules.first_matching_rule(&keys, &context)
            });
            choose_match(slot, builtin_bits, user_rule_index)
        };
        let matches = self.slots.iter().zip(builtin_matches).map(evaluate_member).collect();
        RoomEvaluation { members: self, matches }
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
