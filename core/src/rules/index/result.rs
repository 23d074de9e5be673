//! The results for all members of a room.

use std::collections::HashMap;

use super::Members;
use crate::json;
use crate::rules::RuleScope;
use crate::rules::evaluate::{BUILTIN_RULES, PushEvaluation};

#[derive(Debug)]
pub struct RoomEvaluation<'a> {
    pub(super) members: &'a Members<'a>,
    /// The match of each member, by the member's position.
    pub(super) matches: Vec<MemberMatch>,
}

#[derive(Debug)]
pub struct MemberGroup<'a> {
    pub evaluation: PushEvaluation<'a>,
    /// The members' positions in the list, ascending.
    pub members: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MemberMatch {
    NoRule,
    /// A user rule, by its position in the member's [`IndexedRules`](super::IndexedRules).
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
            MemberMatch::UserRule(index) => {
                let rule = &rules.rules[index];
                PushEvaluation::new(
                    rule.compiled_rule.name_in(&rule.scope),
                    &rule.compiled_rule.actions,
                )
            }
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
