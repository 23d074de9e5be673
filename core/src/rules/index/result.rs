//! The evaluations of all members of a room.

use std::collections::HashMap;

use super::Members;
use crate::json;
use crate::rules::RuleScope;
use crate::rules::evaluate::{BUILTIN_RULES, PushEvaluation};

/// The result for each member of a room.
#[derive(Debug)]
pub struct RoomEvaluation<'a> {
    pub(super) members: &'a Members<'a>,
    /// By the members' positions.
    pub(super) matches: Vec<MemberMatch>,
}

/// Members with the same result.
#[derive(Debug)]
pub struct MemberGroup<'a> {
    /// The result.
    pub evaluation: PushEvaluation<'a>,
    /// The members' positions in the list, ascending.
    pub members: Vec<usize>,
}

/// The rule that matched for a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MemberMatch {
    NoRule,
    /// The number of a rule in the index.
    UserRule(usize),
    Builtin {
        index: usize,
        /// The user whose overrides have other actions for the rule.
        changed_by: Option<usize>,
    },
}

impl<'a> RoomEvaluation<'a> {
    /// The result for the member at this position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<PushEvaluation<'a>> {
        self.matches.get(position).map(|found| self.resolve(*found))
    }

    /// All members by their results, in the order of the first member of each group.
    #[must_use]
    pub fn groups(&self) -> Vec<MemberGroup<'a>> {
        let mut groups: Vec<MemberGroup<'a>> = Vec::new();
        let mut by_match = HashMap::new();
        // Different matches can have the same result.
        let mut by_json = HashMap::new();
        for (position, found) in self.matches.iter().enumerate() {
            let group = *by_match.entry(found).or_insert_with(|| {
                let evaluation = self.resolve(*found);
                *by_json.entry(json::to_bytes(&evaluation)).or_insert_with(|| {
                    groups.push(MemberGroup { evaluation, members: Vec::new() });
                    groups.len() - 1
                })
            });
            groups[group].members.push(position);
        }
        groups
    }

    fn resolve(&self, found: MemberMatch) -> PushEvaluation<'a> {
        let index = self.members.index;
        match found {
            MemberMatch::NoRule => PushEvaluation::NO_RULE,
            MemberMatch::UserRule(rule) => {
                let rule = index.rules.get(rule);
                PushEvaluation::new(rule.compiled.identify(&rule.scope), &rule.compiled.actions)
            }
            MemberMatch::Builtin { index: builtin, changed_by } => {
                let rule = &BUILTIN_RULES[builtin].compiled;
                let actions = match changed_by {
                    Some(user) => index.users[user].overrides.actions(builtin),
                    None => &rule.actions,
                };
                PushEvaluation::new(rule.identify(&RuleScope::Global), actions)
            }
        }
    }
}
