//! The verdict of a user's rules on an event, and why.

mod builtin;
mod condition;
mod explain;
mod result;
mod room;
#[cfg(test)]
mod tests;

use std::iter::once;
use std::sync::Arc;

pub(super) use builtin::{BUILTIN, BuiltinOverrides, MASTER};
pub(super) use condition::{Check, Facts, Glob, Names, conditions};
pub use explain::{Explanation, Outcome, Step};
pub(crate) use result::tweaks;
pub use result::{MatchedRule, PushEvaluation};
pub use room::{Level, PowerLevels, Room};
#[cfg(test)]
pub(super) use tests::generate;

use super::event::Event;
use super::{Action, Condition, Document, Rule, RuleKind, RuleScope, Ruleset, User};

/// What a verdict needs to know of the user in the room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// The user's name there.
    pub display_name: Option<&'a str>,
    /// The profile tag of the device in question, whose rules then stand above the global ones.
    pub profile_tag: Option<&'a str>,
}

/// The rules of one user, compiled once and asked often.
#[derive(Debug, Clone)]
pub struct CompiledRules {
    user: Names,
    global: Ruleset<Own>,
    devices: Vec<(RuleScope, Ruleset<Own>)>,
    standing: BuiltinOverrides,
}

/// The documents of a user. If there are two of a scope the first counts.
pub(super) struct ByScope<'d> {
    pub(super) global: Option<&'d Document>,
    pub(super) devices: Vec<&'d Document>,
}

/// A rule of the user.
#[derive(Debug, Clone)]
struct Own {
    enabled: bool,
    ready: Ready,
    conditions: Vec<Condition>,
}

/// A rule of anybody, ready to be asked.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) kind: RuleKind,
    pub(super) rule_id: Box<str>,
    pub(super) actions: Arc<[Action]>,
    pub(super) checks: Box<[Check]>,
}

/// A rule in its place in the walk.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Own(&'a RuleScope, &'a Own),
    /// A built-in rule by its index.
    Builtin(usize),
}

/// What became of a rule that was asked.
enum Answer {
    Disabled,
    /// The event says itself whom it mentions, so a rule that guesses is not asked.
    Superseded,
    /// This condition did not hold.
    Failed(usize),
    Won,
}

impl Ready {
    pub(super) fn new(kind: RuleKind, rule: &Rule, conditions: &[Condition]) -> Self {
        Self::with(kind, rule, conditions.iter().map(|condition| Check::new(&condition.kind)))
    }

    fn with(kind: RuleKind, rule: &Rule, checks: impl Iterator<Item = Check>) -> Self {
        Self {
            kind,
            rule_id: rule.rule_id.as_str().into(),
            actions: rule.actions.as_slice().into(),
            checks: checks.collect(),
        }
    }

    /// The first check that does not hold.
    pub(super) fn failure(&self, facts: &Facts<'_>) -> Option<usize> {
        self.checks.iter().position(|check| !check.holds(facts))
    }

    /// Whether all checks hold that do not speak of the user.
    pub(super) fn could_match(&self, facts: &Facts<'_>) -> bool {
        self.checks.iter().all(|check| check.is_personal() || check.holds(facts))
    }

    pub(super) fn name<'a>(&'a self, scope: &'a RuleScope) -> MatchedRule<'a> {
        MatchedRule { scope, kind: self.kind, rule_id: &self.rule_id }
    }
}

impl<'d> ByScope<'d> {
    pub(super) fn of(documents: impl IntoIterator<Item = &'d Document>) -> Self {
        let mut by_scope = Self { global: None, devices: Vec::new() };
        for document in documents {
            match document.scope() {
                RuleScope::Global => by_scope.global = by_scope.global.or(Some(document)),
                scope if by_scope.devices.iter().all(|device| device.scope() != scope) => {
                    by_scope.devices.push(document);
                }
                RuleScope::Device(_) => {}
            }
        }
        by_scope
    }
}

impl CompiledRules {
    /// Compiles the rules of a user: of the global scope, and of as many devices as there are. A
    /// scope without a document is as the user found it.
    pub fn new<'d>(user_id: &str, documents: impl IntoIterator<Item = &'d Document>) -> Self {
        let documents = ByScope::of(documents);
        let own = |document: &Document| {
            Ruleset::of(|kind| {
                document.user_rules()[kind].iter().map(|rule| Own::new(kind, rule)).collect()
            })
        };
        Self {
            user: Names::new(User::new(user_id)),
            global: documents.global.map(own).unwrap_or_default(),
            devices: documents
                .devices
                .iter()
                .map(|device| (device.scope().clone(), own(device)))
                .collect(),
            standing: documents.global.map(BuiltinOverrides::of).unwrap_or_default(),
        }
    }

    /// What the rules say of an event.
    #[must_use]
    pub fn verdict(&self, event: &Event, room: &Room, member: Member<'_>) -> PushEvaluation<'_> {
        self.walk(&Facts { event, room, user: &self.user, member }, |_, _| ())
    }

    /// Asks the rules one by one until one wins, and tells what each answered.
    fn walk<'a>(
        &'a self,
        facts: &Facts<'_>,
        mut tell: impl FnMut(Asked<'a>, &Answer),
    ) -> PushEvaluation<'a> {
        if facts.event.sender() == Some(&*self.user.id) {
            return PushEvaluation::NONE;
        }
        let won = self.in_order(facts.member.profile_tag).find(|asked| {
            let answer = self.answer(*asked, facts);
            tell(*asked, &answer);
            matches!(answer, Answer::Won)
        });
        won.map_or(PushEvaluation::NONE, |asked| self.verdict_of(asked))
    }

    /// All rules as they are to be asked: the one that silences everything, those of the device,
    /// the global ones; of a kind the user's own above the built-in ones.
    fn in_order(&self, profile_tag: Option<&str>) -> impl Iterator<Item = Asked<'_>> {
        let device = self.devices.iter().find(|(scope, _)| match scope {
            RuleScope::Device(tag) => Some(tag.as_str()) == profile_tag,
            RuleScope::Global => false,
        });
        let device = device
            .into_iter()
            .flat_map(|(scope, rules)| rules.iter().map(move |(_, own)| Asked::Own(scope, own)));
        let global = RuleKind::ALL.into_iter().flat_map(|kind| {
            let own = self.global[kind].iter().map(|own| Asked::Own(&RuleScope::Global, own));
            own.chain(BUILTIN.below_master(kind).map(Asked::Builtin))
        });
        once(Asked::Builtin(MASTER)).chain(device).chain(global)
    }

    fn answer(&self, asked: Asked<'_>, facts: &Facts<'_>) -> Answer {
        let (is_enabled, is_superseded) = match asked {
            Asked::Own(_, own) => (own.enabled, false),
            Asked::Builtin(index) => {
                (self.standing.is_enabled(index), BUILTIN.rule(index).is_superseded(facts.event))
            }
        };
        if !is_enabled {
            return Answer::Disabled;
        }
        if is_superseded {
            return Answer::Superseded;
        }
        asked.ready().failure(facts).map_or(Answer::Won, Answer::Failed)
    }

    fn verdict_of<'a>(&'a self, asked: Asked<'a>) -> PushEvaluation<'a> {
        let actions = match asked {
            Asked::Own(_, own) => &own.ready.actions,
            Asked::Builtin(index) => self.standing.actions(index),
        };
        PushEvaluation::of(asked.name(), actions)
    }
}

impl Own {
    fn new(kind: RuleKind, rule: &Rule) -> Self {
        let conditions = conditions(kind, rule);
        Self { enabled: rule.enabled, ready: Ready::new(kind, rule, &conditions), conditions }
    }
}

impl<'a> Asked<'a> {
    fn ready(self) -> &'a Ready {
        match self {
            Self::Own(_, own) => &own.ready,
            Self::Builtin(index) => &BUILTIN.rule(index).ready,
        }
    }

    fn name(self) -> MatchedRule<'a> {
        self.ready().name(match self {
            Self::Own(scope, _) => scope,
            Self::Builtin(_) => &RuleScope::Global,
        })
    }
}
