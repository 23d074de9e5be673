//! Evaluation of one user's push rules against an event, with an optional explanation.

mod builtin;
mod condition;
mod explain;
mod result;
mod room;
#[cfg(test)]
mod tests;

use std::iter::once;

pub(super) use builtin::{BUILTIN_RULES, BuiltinOverrides, MASTER};
pub(super) use condition::{
    CompiledCondition, Context, TextPattern, UserNames, effective_conditions,
};
pub use explain::{Explanation, Outcome, Step};
pub(crate) use result::tweaks;
pub use result::{MatchedRule, PushEvaluation};
pub use room::{Level, PowerLevels, Room};
#[cfg(test)]
pub(super) use tests::generate;

use super::event::Event;
use super::{Action, Condition, Document, Rule, RuleKind, RuleScope, Ruleset, User};

/// The user as a member of the room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// The user's display name in the room.
    pub display_name: Option<&'a str>,
    /// The profile tag of the device to notify. Its rules are evaluated before the global ones.
    pub profile_tag: Option<&'a str>,
}

/// The push rules of one user, compiled for repeated evaluation.
#[derive(Debug, Clone)]
pub struct CompiledRules {
    user: UserNames,
    global: Ruleset<UserRule>,
    devices: Vec<(RuleScope, Ruleset<UserRule>)>,
    overrides: BuiltinOverrides,
}

/// A rule of the user, with the conditions it was compiled from.
#[derive(Debug, Clone)]
struct UserRule {
    enabled: bool,
    compiled: CompiledRule,
    conditions: Vec<Condition>,
}

/// A rule whose conditions are compiled.
#[derive(Debug, Clone)]
pub(super) struct CompiledRule {
    pub(super) kind: RuleKind,
    pub(super) rule_id: Box<str>,
    pub(super) actions: Box<[Action]>,
    pub(super) conditions: Box<[CompiledCondition]>,
}

/// A rule at its position in the evaluation order.
#[derive(Clone, Copy)]
enum RankedRule<'a> {
    User(&'a RuleScope, &'a UserRule),
    /// An index into [`BUILTIN_RULES`].
    Builtin(usize),
}

/// The result of one rule.
enum RuleResult {
    Disabled,
    /// A legacy mention rule, skipped because the event has `m.mentions`.
    Superseded,
    /// The index of the first condition that is not met.
    Failed(usize),
    Matched,
}

impl CompiledRule {
    pub(super) fn new(kind: RuleKind, rule: &Rule, conditions: &[Condition]) -> Self {
        let compile = |condition: &Condition| CompiledCondition::new(&condition.kind);
        Self::with_conditions(kind, rule, conditions.iter().map(compile).collect())
    }

    fn with_conditions(kind: RuleKind, rule: &Rule, conditions: Box<[CompiledCondition]>) -> Self {
        let (rule_id, actions) = (rule.rule_id.as_str().into(), rule.actions.as_slice().into());
        Self { kind, rule_id, actions, conditions }
    }

    pub(super) fn matches(&self, context: &Context<'_>) -> bool {
        self.first_failure(context).is_none()
    }

    /// The index of the first condition that is not met.
    fn first_failure(&self, context: &Context<'_>) -> Option<usize> {
        self.conditions.iter().position(|condition| !condition.is_met(context))
    }

    /// Whether all conditions that do not depend on the user are met.
    pub(super) fn can_match(&self, context: &Context<'_>) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.depends_on_user() || condition.is_met(context))
    }

    pub(super) fn identify<'a>(&'a self, scope: &'a RuleScope) -> MatchedRule<'a> {
        MatchedRule { scope, kind: self.kind, rule_id: &self.rule_id }
    }
}

/// Splits the documents of a user into the global one and those of devices.
pub(super) fn split_scopes<'d>(
    documents: impl IntoIterator<Item = &'d Document>,
) -> (Option<&'d Document>, Vec<&'d Document>) {
    let is_global = |document: &&Document| *document.scope() == RuleScope::Global;
    let (global, devices): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_global);
    (global.first().copied(), devices)
}

impl CompiledRules {
    /// Compiles the documents of a user: the global one and those of devices. A scope without a
    /// document has no user rules and unchanged built-in rules.
    pub fn new<'d>(user_id: &str, documents: impl IntoIterator<Item = &'d Document>) -> Self {
        let (global, devices) = split_scopes(documents);
        let compile = |document: &Document| {
            Ruleset::of(|kind| {
                document.user_rules()[kind].iter().map(|rule| UserRule::new(kind, rule)).collect()
            })
        };
        let devices = devices.into_iter();
        Self {
            user: UserNames::new(User::new(user_id)),
            global: global.map(compile).unwrap_or_default(),
            devices: devices.map(|device| (device.scope().clone(), compile(device))).collect(),
            overrides: global.map(BuiltinOverrides::new).unwrap_or_default(),
        }
    }

    /// Evaluates the rules against an event.
    #[must_use]
    pub fn evaluate(&self, event: &Event, room: &Room, member: Member<'_>) -> PushEvaluation<'_> {
        self.evaluate_with(&Context { event, room, user: &self.user, member }, |_, _| ())
    }

    /// Evaluates the rules in order until one matches, and passes the result of each to `report`.
    fn evaluate_with<'a>(
        &'a self,
        context: &Context<'_>,
        mut report: impl FnMut(RankedRule<'a>, &RuleResult),
    ) -> PushEvaluation<'a> {
        if context.event.sender() == Some(&*self.user.id) {
            return PushEvaluation::NO_RULE;
        }
        let matched = self.ranked_rules(context.member.profile_tag).find(|rule| {
            let result = self.evaluate_rule(*rule, context);
            report(*rule, &result);
            matches!(result, RuleResult::Matched)
        });
        matched.map_or(PushEvaluation::NO_RULE, |rule| match rule {
            RankedRule::User(_, user_rule) => {
                PushEvaluation::new(rule.identify(), &user_rule.compiled.actions)
            }
            RankedRule::Builtin(index) => {
                PushEvaluation::new(rule.identify(), self.overrides.actions(index))
            }
        })
    }

    /// All rules in evaluation order: the master rule, the rules of the device, the global rules.
    /// Within a kind, user rules come before built-in rules.
    fn ranked_rules(&self, profile_tag: Option<&str>) -> impl Iterator<Item = RankedRule<'_>> {
        let device = self.devices.iter().find(|(scope, _)| match scope {
            RuleScope::Device(tag) => Some(tag.as_str()) == profile_tag,
            RuleScope::Global => false,
        });
        let device = device
            .into_iter()
            .flat_map(|(scope, rules)| rules.iter().map(|(_, rule)| RankedRule::User(scope, rule)));
        let global = RuleKind::ALL.into_iter().flat_map(|kind| {
            let user =
                self.global[kind].iter().map(|rule| RankedRule::User(&RuleScope::Global, rule));
            let of_kind = move |index: &usize| BUILTIN_RULES[*index].compiled.kind == kind;
            let builtin = (MASTER + 1..BUILTIN_RULES.len()).filter(of_kind);
            user.chain(builtin.map(RankedRule::Builtin))
        });
        once(RankedRule::Builtin(MASTER)).chain(device).chain(global)
    }

    fn evaluate_rule(&self, rule: RankedRule<'_>, context: &Context<'_>) -> RuleResult {
        let (enabled, is_superseded) = match rule {
            RankedRule::User(_, rule) => (rule.enabled, false),
            RankedRule::Builtin(index) => {
                let is_superseded = BUILTIN_RULES[index].is_superseded(context.event);
                (self.overrides.is_enabled(index), is_superseded)
            }
        };
        if !enabled {
            return RuleResult::Disabled;
        }
        if is_superseded {
            return RuleResult::Superseded;
        }
        rule.compiled().first_failure(context).map_or(RuleResult::Matched, RuleResult::Failed)
    }
}

impl UserRule {
    fn new(kind: RuleKind, rule: &Rule) -> Self {
        let conditions = effective_conditions(kind, rule);
        let compiled = CompiledRule::new(kind, rule, &conditions);
        Self { enabled: rule.enabled, compiled, conditions }
    }
}

impl<'a> RankedRule<'a> {
    fn compiled(self) -> &'a CompiledRule {
        match self {
            Self::User(_, rule) => &rule.compiled,
            Self::Builtin(index) => &BUILTIN_RULES[index].compiled,
        }
    }

    fn identify(self) -> MatchedRule<'a> {
        self.compiled().identify(match self {
            Self::User(scope, _) => scope,
            Self::Builtin(_) => &RuleScope::Global,
        })
    }
}
