//! The built-in rules, compiled once for all users, and a user's overrides of them.

use std::sync::LazyLock;

use super::{CompiledCondition, CompiledRule, effective_conditions};
use crate::rules::event::Event;
use crate::rules::{Action, Rule, RuleDocument, RuleKind, builtin};

/// The built-in rules in evaluation order.
pub(crate) static BUILTIN_RULES: LazyLock<Vec<BuiltinRule>> = LazyLock::new(|| {
    let compile = |(kind, rule): (RuleKind, &Rule)| {
        let conditions = effective_conditions(kind, rule);
        let compiled_conditions =
            conditions.iter().map(|condition| CompiledCondition::for_builtin(&condition.kind));
        BuiltinRule {
            compiled_rule: CompiledRule::with_conditions(kind, rule, compiled_conditions.collect()),
            is_enabled_by_default: rule.enabled,
            is_legacy_mention: builtin::LEGACY_MENTION_RULES.contains(&rule.rule_id.as_str()),
        }
    };
    builtin::all().iter().map(compile).collect()
});

/// The index of `.m.rule.master`, which is evaluated before all other rules of every scope.
pub(crate) const MASTER_INDEX: usize = 0;

pub(crate) struct BuiltinRule {
    pub(crate) compiled_rule: CompiledRule,
    is_enabled_by_default: bool,
    is_legacy_mention: bool,
}

impl BuiltinRule {
    /// Returns whether this is a legacy mention rule and the event has `m.mentions`. The rule is
    /// then skipped.
    pub(crate) fn is_superseded(&self, event: &Event) -> bool {
        self.is_legacy_mention && event.has_mentions()
    }
}

/// A user's overrides of the built-in rules.
#[derive(Debug, Clone)]
pub(crate) struct BuiltinOverrides {
    /// Bit *n* is set if rule *n* is enabled.
    enabled_bits: u64,
    /// The actions that the user changed, by rule index.
    changed_actions: Vec<(usize, Box<[Action]>)>,
}

impl Default for BuiltinOverrides {
    fn default() -> Self {
        let rules = BUILTIN_RULES.iter().enumerate();
        let enabled_bits =
            rules.map(|(index, rule)| u64::from(rule.is_enabled_by_default) << index).sum();
        Self { enabled_bits, changed_actions: Vec::new() }
    }
}

impl BuiltinOverrides {
    pub(crate) fn new(document: &RuleDocument) -> Self {
        let mut overrides = Self::default();
        for (index, rule) in BUILTIN_RULES.iter().enumerate() {
            let Some(patch) = document.patch(&rule.compiled_rule.rule_id) else { continue };
            if let Some(enabled) = patch.enabled {
                overrides.enabled_bits &= !(1 << index);
                overrides.enabled_bits |= u64::from(enabled) << index;
            }
            if let Some(actions) = &patch.actions {
                overrides.changed_actions.push((index, actions.as_slice().into()));
            }
        }
        overrides
    }

    /// Returns the heap size of the changed actions, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let actions = self.changed_actions.iter().flat_map(|(_, actions)| actions);
        actions.map(|action| size_of_val(action) + action.heap_bytes()).sum()
    }

    /// Returns the index of the first enabled rule among the rules whose bits are set in
    /// `matching_bits`.
    pub(crate) fn first_enabled(&self, matching_bits: u64) -> Option<usize> {
        let candidates = matching_bits & self.enabled_bits;
        (candidates != 0).then_some(candidates.trailing_zeros() as usize)
    }

    pub(crate) fn actions(&self, index: usize) -> &[Action] {
        self.changed_actions(index).unwrap_or(&BUILTIN_RULES[index].compiled_rule.actions)
    }

    /// Returns the actions of the rule at an index, if the user changed them.
    pub(crate) fn changed_actions(&self, index: usize) -> Option<&[Action]> {
        let entry = self.changed_actions.iter().find(|(rule_index, _)| *rule_index == index);
        entry.map(|(_, actions)| &**actions)
    }
}
