//! The verdicts of all members of a room on an event.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Members;
use super::interner::Digest;
use crate::rules::RuleScope;
use crate::rules::evaluate::PushEvaluation;

/// What each member's rules say of an event.
///
/// Most members share a verdict, which is held once; the others are exceptions.
#[derive(Debug)]
pub struct RoomEvaluation<'a> {
    pub(super) members: &'a Members<'a>,
    /// By the members' standings.
    pub(super) shared: Vec<Decision>,
    /// In the order of the members.
    pub(super) exceptions: Vec<(u32, Decision)>,
}

/// Members with the same verdict.
#[derive(Debug)]
pub struct MemberGroup<'a> {
    /// The verdict.
    pub verdict: PushEvaluation<'a>,
    /// Where they were in the list of members, in order.
    pub members: Vec<usize>,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Decision {
    Nothing,
    /// A rule on the shelf.
    Own(u32),
    /// A built-in rule, as this standing has it.
    Builtin {
        standing: u32,
        index: u32,
    },
}

impl<'a> RoomEvaluation<'a> {
    /// The verdict of the member who was so many members from the first.
    #[must_use]
    pub fn of(&self, position: usize) -> Option<PushEvaluation<'a>> {
        let standing = *self.members.standing.get(position)?;
        let found = self.exceptions.binary_search_by_key(&position, |(seat, _)| *seat as usize);
        Some(self.verdict(match found {
            Ok(at) => self.exceptions[at].1,
            Err(_) => self.shared[standing as usize],
        }))
    }

    /// All members by their verdicts, in the order of the first of each.
    #[must_use]
    pub fn groups(&self) -> Vec<MemberGroup<'a>> {
        let mut groups: Vec<MemberGroup<'a>> = Vec::new();
        let mut by_choice = HashMap::new();
        // Different choices may come to the same.
        let mut by_verdict = HashMap::new();
        let mut last = None;
        for (position, choice) in self.choices().enumerate() {
            let group = match last {
                Some((same, group)) if same == choice => group,
                _ => *by_choice.entry(choice).or_insert_with(|| {
                    let verdict = self.verdict(choice);
                    match by_verdict.entry(Digest::of(&verdict)) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(new) => {
                            groups.push(MemberGroup { verdict, members: Vec::new() });
                            *new.insert(groups.len() - 1)
                        }
                    }
                }),
            };
            last = Some((choice, group));
            groups[group].members.push(position);
        }
        groups
    }

    fn choices(&self) -> impl Iterator<Item = Decision> {
        let mut exceptions = self.exceptions.iter().peekable();
        self.members.standing.iter().enumerate().map(move |(position, standing)| {
            let exception = exceptions.next_if(|(seat, _)| *seat as usize == position);
            exception.map_or(self.shared[*standing as usize], |(_, choice)| *choice)
        })
    }

    fn verdict(&self, choice: Decision) -> PushEvaluation<'a> {
        match choice {
            Decision::Nothing => PushEvaluation::NONE,
            Decision::Own(rule) => match self.members.audience.shelf.get(rule) {
                Some(rule) => PushEvaluation::of(rule.ready.name(&rule.scope), &rule.ready.actions),
                None => PushEvaluation::NONE,
            },
            Decision::Builtin { standing, index } => {
                let standing = self.members.standings[standing as usize];
                let (rule, actions) = standing.rule(index as usize);
                PushEvaluation::of(rule.name(&RuleScope::Global), actions)
            }
        }
    }
}
