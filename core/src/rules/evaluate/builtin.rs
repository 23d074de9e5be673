//! The built-in rules, compiled once for all users, and how they stand for one of them.

use std::ops::Range;
use std::sync::LazyLock;

use super::{Check, Ready, conditions};
use serde::Serialize;

use crate::rules::event::Event;
use crate::rules::{Action, Document, RuleKind, builtin};

/// The built-in rules in the order of evaluation, so that [`MASTER`] is the first.
pub(crate) static BUILTIN: LazyLock<Builtins> = LazyLock::new(Builtins::new);

/// The rule that silences everything, above all others of whatever scope.
pub(crate) const MASTER: usize = 0;

pub(crate) struct Builtins {
    rules: Vec<Builtin>,
    /// Where the rules of each kind are, without [`MASTER`].
    kinds: [Range<usize>; 5],
}

pub(crate) struct Builtin {
    pub(crate) ready: Ready,
    pub(crate) enabled: bool,
    /// Whether it guesses whom a message mentions.
    legacy: bool,
}

impl Builtin {
    /// Whether the event says itself what the rule would guess.
    pub(crate) fn is_superseded(&self, event: &Event) -> bool {
        self.legacy && event.has_mentions()
    }
}

impl Builtins {
    fn new() -> Self {
        let rules = builtin::all().iter().map(|(kind, rule)| {
            let conditions = conditions(kind, rule);
            let checks = conditions.iter().map(|condition| Check::shared(&condition.kind));
            Builtin {
                ready: Ready::with(kind, rule, checks),
                enabled: rule.enabled,
                legacy: builtin::LEGACY_MENTIONS.contains(&rule.rule_id.as_str()),
            }
        });
        let rules: Vec<Builtin> = rules.collect();
        let kinds = RuleKind::ALL.map(|kind| {
            let start = rules.partition_point(|rule| rule.ready.kind < kind);
            let end = rules.partition_point(|rule| rule.ready.kind <= kind);
            start.max(MASTER + 1)..end
        });
        Self { rules, kinds }
    }

    pub(crate) fn rule(&self, index: usize) -> &Builtin {
        &self.rules[index]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &Builtin)> {
        self.rules.iter().enumerate()
    }

    /// The rules of a kind, without the one that silences everything.
    pub(crate) fn below_master(&self, kind: RuleKind) -> Range<usize> {
        self.kinds[kind as usize].clone()
    }
}

/// What a user made of the built-in rules.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BuiltinOverrides {
    /// A bit for each rule that is asked.
    enabled: u64,
    /// The actions that are not the built-in ones, by the rules' indices.
    actions: Vec<(usize, Box<[Action]>)>,
}

impl Default for BuiltinOverrides {
    fn default() -> Self {
        let bits = BUILTIN.all().map(|(index, rule)| u64::from(rule.enabled) << index);
        Self { enabled: bits.fold(0, |all, bit| all | bit), actions: Vec::new() }
    }
}

impl BuiltinOverrides {
    pub(crate) fn of(document: &Document) -> Self {
        let mut standing = Self::default();
        for (index, rule) in BUILTIN.all() {
            let Some(change) = document.patch(&rule.ready.rule_id) else { continue };
            if let Some(enabled) = change.enabled {
                standing.enabled &= !(1 << index);
                standing.enabled |= u64::from(enabled) << index;
            }
            if let Some(actions) = &change.actions {
                standing.actions.push((index, actions.as_slice().into()));
            }
        }
        standing
    }

    pub(crate) fn is_enabled(&self, index: usize) -> bool {
        self.enabled >> index & 1 == 1
    }

    /// The first of these rules that is asked.
    pub(crate) fn first(&self, matching: u64) -> Option<u32> {
        let asked = matching & self.enabled;
        (asked != 0).then_some(asked.trailing_zeros())
    }

    pub(crate) fn rule(&self, index: usize) -> (&'static Ready, &[Action]) {
        (&BUILTIN.rule(index).ready, self.actions(index))
    }

    pub(crate) fn actions(&self, index: usize) -> &[Action] {
        let changed = self.actions.iter().find(|(changed, _)| *changed == index);
        changed.map_or(&BUILTIN.rule(index).ready.actions, |(_, actions)| actions)
    }
}
