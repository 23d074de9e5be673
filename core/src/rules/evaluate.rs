//! Compiled rules, rooms and results: the parts that are shared by the evaluation for one user
//! ([`explain`](super::explain)) and for many users ([`index`](super::index)).

mod builtin;
mod condition;
mod result;
mod room;
#[cfg(test)]
mod tests;

pub(super) use builtin::{BUILTIN_RULES, BuiltinOverrides, MASTER_INDEX};
pub(super) use condition::{
    CompiledCondition, ConditionContext, NO_USER, TextPattern, UserNames, effective_conditions,
};
pub(crate) use result::collect_tweaks;
pub use result::{PushEvaluation, RuleName};
pub use room::{PowerLevel, PowerLevels, Room};
#[cfg(test)]
pub(super) use tests::generate;

use super::{Action, Condition, Rule, RuleDocument, RuleKind, RuleScope};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// The user's display name in the room.
    pub display_name: Option<&'a str>,
    /// The profile tag of the device to notify. The rules of this tag are evaluated before the
    /// global rules.
    pub profile_tag: Option<&'a str>,
}

#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) kind: RuleKind,
    pub(super) rule_id: Box<str>,
    pub(super) actions: Box<[Action]>,
    pub(super) conditions: Box<[CompiledCondition]>,
}

impl CompiledRule {
    pub(super) fn new(kind: RuleKind, rule: &Rule, conditions: &[Condition]) -> Self {
        let compile = |condition: &Condition| CompiledCondition::new(&condition.kind);
        Self::with_conditions(kind, rule, conditions.iter().map(compile).collect())
    }

    fn with_conditions(kind: RuleKind, rule: &Rule, conditions: Box<[CompiledCondition]>) -> Self {
        let rule_id = rule.rule_id.as_str().into();
        let actions = rule.actions.as_slice().into();
        Self { kind, rule_id, actions, conditions }
    }

    /// Returns the approximate allocated size in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let action_bytes =
            self.actions.iter().map(|action| size_of_val(action) + action.heap_bytes());
        let condition_bytes =
            self.conditions.iter().map(|condition| size_of_val(condition) + condition.heap_bytes());
        self.rule_id.len() + action_bytes.chain(condition_bytes).sum::<usize>()
    }

    /// Returns whether all conditions are met.
    pub(super) fn matches(&self, context: &ConditionContext<'_>) -> bool {
        self.conditions.iter().all(|condition| condition.is_met(context))
    }

    /// Returns whether all conditions that do not depend on the user are met.
    pub(super) fn can_match(&self, context: &ConditionContext<'_>) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.depends_on_user() || condition.is_met(context))
    }

    /// Returns the name of the rule, given its scope.
    pub(super) fn name_in<'a>(&'a self, scope: &'a RuleScope) -> RuleName<'a> {
        RuleName { scope, kind: self.kind, rule_id: &self.rule_id }
    }
}

pub(super) fn split_scopes<'d>(
    documents: impl IntoIterator<Item = &'d RuleDocument>,
) -> (Option<&'d RuleDocument>, Vec<&'d RuleDocument>) {
    let is_global = |document: &&RuleDocument| *document.scope() == RuleScope::Global;
    let (global, devices): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_global);
    (global.first().copied(), devices)
}
