//! Compiled rules, rooms and results: the parts that are shared by the evaluation for one user
//! ([`explain`](super::explain)) and for many users ([`index`](super::index)).

mod condition;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(super) use self::condition::{
    CompiledCondition, ConditionContext, NO_USER, TextPattern, UserNames, effective_conditions,
};
#[cfg(test)]
pub(super) use self::tests::generate;
use super::action::collect_tweaks;
use super::event::Event;
use super::{
    Action, Condition, ConditionKind, Effect, Rule, RuleDocument, RuleKind, RuleRef, RuleScope,
    TweakValue, builtin,
};
use crate::json;

/// The room at the time of the event. A condition on unknown state is not met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Number of joined members.
    pub member_count: Option<u64>,
    pub power_levels: Option<PowerLevels>,
    /// The creators, who have unlimited power. Empty in rooms before version 12, where the creator
    /// has a power level like other users.
    pub creators: BTreeSet<String>,
}

/// The parts of `m.room.power_levels` that concern notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PowerLevels {
    /// The levels of users whose level is not the default.
    pub users: BTreeMap<String, PowerLevel>,
    pub users_default: PowerLevel,
    /// The level required to send a notification, by its key (`room` for `@room`).
    pub notifications: BTreeMap<String, PowerLevel>,
}

/// A power level, parsed from an integer or, as in old rooms, from a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PowerLevel(pub i64);

/// The level required for a notification key that the room does not list.
const DEFAULT_REQUIRED_LEVEL: PowerLevel = PowerLevel(50);

impl Room {
    /// Returns whether a user may send notifications that `key` names.
    pub fn allows_notification(&self, user_id: &str, key: &str) -> bool {
        let has_power =
            |levels: &PowerLevels| levels.user_level(user_id) >= levels.required_level(key);
        self.creators.contains(user_id) || self.power_levels.as_ref().is_some_and(has_power)
    }
}

impl PowerLevels {
    /// Returns the level of a user, or the room's default if the user has no level of their own.
    pub fn user_level(&self, user_id: &str) -> PowerLevel {
        self.users.get(user_id).copied().unwrap_or(self.users_default)
    }

    pub fn required_level(&self, key: &str) -> PowerLevel {
        self.notifications.get(key).copied().unwrap_or(DEFAULT_REQUIRED_LEVEL)
    }
}

impl<'de> Deserialize<'de> for PowerLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let level = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        level.map(Self).ok_or_else(|| D::Error::custom("a power level must be an integer"))
    }
}

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
    /// Compiles a rule, given its effective conditions and the function that compiles each.
    pub(super) fn new(
        kind: RuleKind,
        rule: &Rule,
        conditions: &[Condition],
        compile: impl Fn(&ConditionKind) -> CompiledCondition,
    ) -> Self {
        let rule_id = rule.rule_id.as_str().into();
        let actions = rule.actions.as_slice().into();
        let conditions = conditions.iter().map(|condition| compile(&condition.kind)).collect();
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

/// The built-in rules in evaluation order.
pub(super) static BUILTIN_RULES: LazyLock<Vec<BuiltinRule>> = LazyLock::new(|| {
    let compile = |(kind, rule): (RuleKind, &Rule)| {
        let conditions = effective_conditions(kind, rule);
        let compile = CompiledCondition::for_builtin;
        BuiltinRule {
            compiled_rule: CompiledRule::new(kind, rule, &conditions, compile),
            is_enabled_by_default: rule.enabled,
            is_legacy_mention: builtin::LEGACY_MENTION_RULES.contains(&rule.rule_id.as_str()),
        }
    };
    builtin::all().iter().map(compile).collect()
});

/// The index of `.m.rule.master`, which is evaluated before all other rules of every scope.
pub(super) const MASTER_INDEX: usize = 0;

pub(super) struct BuiltinRule {
    pub(super) compiled_rule: CompiledRule,
    is_enabled_by_default: bool,
    is_legacy_mention: bool,
}

impl BuiltinRule {
    /// Returns whether this is a legacy mention rule and the event has `m.mentions`. The rule is
    /// then skipped.
    pub(super) fn is_superseded(&self, event: &Event) -> bool {
        self.is_legacy_mention && event.has_mentions()
    }
}

/// A user's overrides of the built-in rules.
#[derive(Debug, Clone)]
pub(super) struct BuiltinOverrides {
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
    pub(super) fn new(document: &RuleDocument) -> Self {
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
    pub(super) fn heap_bytes(&self) -> usize {
        let actions = self.changed_actions.iter().flat_map(|(_, actions)| actions);
        actions.map(|action| size_of_val(action) + action.heap_bytes()).sum()
    }

    /// Returns the index of the first enabled rule among the rules whose bits are set in
    /// `matching_bits`.
    pub(super) fn first_enabled(&self, matching_bits: u64) -> Option<usize> {
        let candidates = matching_bits & self.enabled_bits;
        (candidates != 0).then_some(candidates.trailing_zeros() as usize)
    }

    pub(super) fn actions(&self, index: usize) -> &[Action] {
        self.changed_actions(index).unwrap_or(&BUILTIN_RULES[index].compiled_rule.actions)
    }

    /// Returns the actions of the rule at an index, if the user changed them.
    pub(super) fn changed_actions(&self, index: usize) -> Option<&[Action]> {
        let entry = self.changed_actions.iter().find(|(rule_index, _)| *rule_index == index);
        entry.map(|(_, actions)| &**actions)
    }
}

/// The rule that matched an event, if any, and its actions.
#[derive(Debug, Clone, Copy)]
pub struct PushEvaluation<'a> {
    pub rule: Option<RuleName<'a>>,
    all_actions: &'a [Action],
}

/// The scope, kind and id of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuleName<'a> {
    /// `global`, or a device.
    pub scope: &'a RuleScope,
    /// The kind, which determines the evaluation order.
    pub kind: RuleKind,
    /// The id, unique within scope and kind.
    pub rule_id: &'a str,
}

impl RuleName<'_> {
    pub(crate) fn to_ref(self) -> RuleRef {
        RuleRef { scope: self.scope.clone(), kind: self.kind, id: self.rule_id.to_owned() }
    }
}

impl<'a> PushEvaluation<'a> {
    /// The result when no rule matches, and for the user's own events.
    pub(crate) const NO_RULE: Self = Self { rule: None, all_actions: &[] };

    pub(crate) fn new(rule: RuleName<'a>, actions: &'a [Action]) -> Self {
        Self { rule: Some(rule), all_actions: actions }
    }

    pub(crate) fn effect(&self) -> Effect {
        Effect::from_actions(self.all_actions)
    }

    pub fn notifies(&self) -> bool {
        self.all_actions.contains(&Action::Notify)
    }

    /// Returns the rule's actions, without those that have no effect.
    pub fn actions(&self) -> impl Iterator<Item = &'a Action> {
        let has_effect = |action: &&Action| match action {
            Action::Notify | Action::SetTweak { .. } => true,
            Action::DontNotify | Action::Coalesce | Action::BareSetTweak => false,
        };
        self.all_actions.iter().filter(has_effect)
    }

    /// Returns the form of responses, with these of the rule's actions.
    pub(super) fn to_wire(self, actions: Vec<&'a Action>) -> WireEvaluation<'a> {
        let tweaks = collect_tweaks(actions.iter().copied());
        WireEvaluation { notify: self.notifies(), rule: self.rule, actions, tweaks }
    }

    /// Returns the tweaks of the notification. Of several tweaks with the same name, the last one
    /// applies; a tweak without a value has its default value.
    pub fn tweaks(&self) -> BTreeMap<&'a str, TweakValue> {
        collect_tweaks(self.actions())
    }

    /// Returns the actions to report in a response for many users: those that fit into
    /// [`MAX_ACTION_BYTES`], and always the first `notify`. Without a limit, 100,000 members with
    /// rules of the maximum size would make a response too large for memory.
    pub(crate) fn limited_actions(&self) -> Vec<&'a Action> {
        let mut remaining_bytes = MAX_ACTION_BYTES;
        let mut has_notify = false;
        let fits = |action: &&Action| {
            let is_first_notify = **action == Action::Notify && !has_notify;
            has_notify |= is_first_notify;
            let bytes_after = remaining_bytes.checked_sub(json::to_bytes(action).len());
            remaining_bytes = bytes_after.unwrap_or(remaining_bytes);
            is_first_notify || bytes_after.is_some()
        };
        self.actions().filter(fits).collect()
    }
}

/// Maximum size in bytes of a rule's actions in a response for many users, apart from the first
/// `notify`.
const MAX_ACTION_BYTES: usize = 1024;

impl PartialEq for PushEvaluation<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.actions().eq(other.actions())
    }
}

impl Serialize for PushEvaluation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire(self.actions().collect()).serialize(serializer)
    }
}

/// An evaluation as responses contain it.
#[derive(Serialize)]
pub(super) struct WireEvaluation<'a> {
    notify: bool,
    rule: Option<RuleName<'a>>,
    actions: Vec<&'a Action>,
    tweaks: BTreeMap<&'a str, TweakValue>,
}
