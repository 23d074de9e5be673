//! How an event is heard among the members of a room.

use std::cell::OnceCell;
use std::sync::LazyLock;

use super::key::IndexKey;
use super::members::{MemberSlot, Members};
use super::number;
use super::result::{Decision, RoomEvaluation};
use crate::rules::evaluate::{BUILTIN, Check, Facts, Glob, MASTER, Member, Names, Room};
use crate::rules::event::{Event, Property};
use crate::rules::{RuleScope, Scalar, User};

/// An event, and the marks of its text.
struct EventContext<'a> {
    facts: Facts<'a>,
    body: OnceCell<Vec<IndexKey>>,
}

/// How the users' own rules are found that an event matches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Strategy {
    /// The rules of each member are tried on the event.
    ByMember,
    /// The event finds the rules, and they their holders.
    ByRule,
}

/// Why a member may have another verdict than most.
enum Exception {
    /// They sent the event.
    Sender,
    /// These built-in rules match, which speak of the user.
    Personal(u64),
    /// A rule of theirs matches.
    Own { slot: u32, rule: u32 },
}

/// The members who may have another verdict than most, and why; several times if there are several
/// reasons.
type Exceptions = Vec<(u32, Exception)>;

/// The user of whom no rule speaks.
static NOBODY: LazyLock<Names> = LazyLock::new(|| Names::new(User::new("")));

impl<'a> EventContext<'a> {
    fn new(event: &'a Event, room: &'a Room) -> Self {
        let facts = Facts { event, room, user: &NOBODY, member: Member::default() };
        Self { facts, body: OnceCell::new() }
    }

    fn body(&self) -> &[IndexKey] {
        self.body.get_or_init(|| IndexKey::of_body(self.facts.event))
    }
}

impl Members<'_> {
    /// What the rules of each member say of an event.
    #[must_use]
    pub fn verdicts(&self, event: &Event, room: &Room) -> RoomEvaluation<'_> {
        self.hear(event, room, if self.are_few() { Strategy::ByMember } else { Strategy::ByRule })
    }

    pub(super) fn hear(&self, event: &Event, room: &Room, way: Strategy) -> RoomEvaluation<'_> {
        let heard = EventContext::new(event, room);
        let mut touched = self.senders(event);
        let shared = self.builtins(&heard, &mut touched);
        match way {
            Strategy::ByMember => self.own_by_member(&heard, &mut touched),
            Strategy::ByRule => self.own_by_rule(&heard, &mut touched),
        }
        touched.sort_unstable_by_key(|(seat, _)| *seat);
        let exceptions = touched
            .chunk_by(|one, other| one.0 == other.0)
            .map(|touches| (touches[0].0, self.choice(touches, shared)))
            .collect();
        let standings = 0..number(self.standings.len());
        let shared = standings.map(|standing| self.builtin(standing, shared)).collect();
        RoomEvaluation { members: self, shared, exceptions }
    }

    fn senders(&self, event: &Event) -> Exceptions {
        let Some(sender) = event.sender() else { return Vec::new() };
        let seats = self.ids.at(IndexKey::id(sender));
        let same = seats.filter(|seat| self.seat(*seat).user_id == sender);
        same.map(|seat| (seat, Exception::Sender)).collect()
    }

    /// The built-in rules that match for everybody, as bits. Members are touched for whom one
    /// matches that speaks of the user.
    fn builtins(&self, heard: &EventContext<'_>, touched: &mut Exceptions) -> u64 {
        let mut shared = 0;
        let mut personal = Vec::new();
        let mut concerned = Vec::new();
        for (index, rule) in BUILTIN.all() {
            let is_superseded = rule.is_superseded(heard.facts.event);
            if is_superseded || !rule.ready.could_match(&heard.facts) {
                continue;
            }
            match rule.ready.checks.iter().find(|check| check.is_personal()) {
                None => shared |= 1 << index,
                Some(check) => {
                    personal.push(index);
                    self.find_concerned(check, heard, &mut concerned);
                }
            }
        }
        concerned.sort_unstable();
        concerned.dedup();
        for seat in concerned {
            let names = Names::new(User::new(self.seat(seat).user_id));
            let facts = Facts { user: &names, member: self.seat(seat).member, ..heard.facts };
            let matches = |index: &&usize| BUILTIN.rule(**index).ready.failure(&facts).is_none();
            let bits = personal.iter().filter(matches).fold(0, |bits, index| bits | 1 << index);
            touched.push((seat, Exception::Personal(bits)));
        }
        shared
    }

    /// Finds the members for whom a check that speaks of the user could hold.
    fn find_concerned(&self, check: &Check, heard: &EventContext<'_>, concerned: &mut Vec<u32>) {
        let event = heard.facts.event;
        match check {
            Check::DisplayName => concerned.extend(self.names().at_any(heard.body())),
            Check::Word(Glob::Localpart) => {
                concerned.extend(self.localparts().at_any(heard.body()));
            }
            Check::ContainsUser { key } => {
                for item in event.list(key) {
                    if let Scalar::String(id) = item {
                        concerned.extend(self.ids.at(IndexKey::id(id)));
                    }
                }
            }
            Check::Whole { key, pattern: Glob::UserId } => {
                let id = event.get(key).and_then(Property::text);
                concerned.extend(id.into_iter().flat_map(|id| self.ids.at(IndexKey::id(id))));
                concerned.extend(&self.wild);
            }
            _ => concerned.extend(0..number(self.len())),
        }
    }

    /// Whether it takes less to try each member's rules on the event than to find the rules of
    /// the whole audience that it matches. The figures are from measurement.
    fn are_few(&self) -> bool {
        let by_rule = self.audience.users.len() / 1000 + self.audience.shelf.unmarked() / 25;
        self.len() < by_rule
    }

    fn own_by_member(&self, heard: &EventContext<'_>, touched: &mut Exceptions) {
        for (number, seat) in (0..).zip(&self.seats) {
            let facts = Facts { member: seat.member, ..heard.facts };
            let first = (0..).zip(self.own(seat)).find(|(_, slot)| {
                self.audience.shelf.get(slot.rule).is_some_and(|rule| {
                    rule.is_for(seat.member) && rule.ready.failure(&facts).is_none()
                })
            });
            touched
                .extend(first.map(|(slot, own)| (number, Exception::Own { slot, rule: own.rule })));
        }
    }

    fn own_by_rule(&self, heard: &EventContext<'_>, touched: &mut Exceptions) {
        let marks = IndexKey::all_of(heard.facts.event, heard.body());
        for (number, rule) in self.audience.shelf.candidates(&marks) {
            if !rule.ready.could_match(&heard.facts) {
                continue;
            }
            let for_all = rule.is_for_all();
            let is_for = |seat: &u32| {
                let facts = Facts { member: self.seat(*seat).member, ..heard.facts };
                rule.is_for(facts.member) && rule.ready.failure(&facts).is_none()
            };
            for holder in &rule.holders {
                let touch = || Exception::Own { slot: holder.slot, rule: number };
                let seats = self.of_user(holder.user).filter(|seat| for_all || is_for(seat));
                touched.extend(seats.map(|seat| (seat, touch())));
            }
        }
    }

    fn choice(&self, touches: &[(u32, Exception)], shared: u64) -> Decision {
        let mut bits = shared;
        let mut first: Option<(u32, u32)> = None;
        for (_, touch) in touches {
            match touch {
                Exception::Sender => return Decision::Nothing,
                Exception::Personal(more) => bits |= more,
                Exception::Own { slot, rule } => {
                    first = Some(first.map_or((*slot, *rule), |first| first.min((*slot, *rule))));
                }
            }
        }
        let builtin = self.builtin(self.standing[touches[0].0 as usize], bits);
        match first {
            Some((_, rule)) if !self.outranks(builtin, rule) => Decision::Own(rule),
            _ => builtin,
        }
    }

    /// The built-in rule that wins among those that match.
    fn builtin(&self, standing: u32, matching: u64) -> Decision {
        let first = self.standings[standing as usize].first(matching);
        first.map_or(Decision::Nothing, |index| Decision::Builtin { standing, index })
    }

    /// Whether a built-in rule stands above a rule of the user.
    fn outranks(&self, builtin: Decision, rule: u32) -> bool {
        let Decision::Builtin { index, .. } = builtin else { return false };
        let Some(rule) = self.audience.shelf.get(rule) else { return true };
        let above = BUILTIN.rule(index as usize).ready.kind < rule.ready.kind;
        index as usize == MASTER || above && rule.scope == RuleScope::Global
    }

    fn own(&self, seat: &MemberSlot<'_>) -> &[super::Slot] {
        seat.user.map_or(&[], |user| &self.audience.users[user as usize].own)
    }

    fn seat(&self, number: u32) -> &MemberSlot<'_> {
        &self.seats[number as usize]
    }
}
