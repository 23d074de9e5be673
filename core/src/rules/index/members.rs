//! The members of a room among whom an event is heard.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::key::IndexKey;
use super::lookup::{Entry, Index};
use super::{RuleIndex, number};
use crate::rules::User;
use crate::rules::evaluate::{BuiltinOverrides, Member};

/// The members of a room, found in the audience once, to be asked about many events.
#[derive(Debug)]
pub struct Members<'a> {
    pub(super) audience: &'a RuleIndex,
    pub(super) seats: Vec<MemberSlot<'a>>,
    /// Which of the standings each member has; apart, because this is all that most are asked for.
    pub(super) standing: Vec<u32>,
    /// What the members made of the built-in rules, each once.
    pub(super) standings: Vec<&'a BuiltinOverrides>,
    /// By the mark of the user's id.
    pub(super) ids: Index,
    /// Those whose ids have wildcards in them, and so match more than themselves.
    pub(super) wild: Vec<u32>,
    localparts: OnceLock<Index>,
    names: OnceLock<Index>,
    users: OnceLock<MemberSlots>,
}

/// One member.
#[derive(Debug)]
pub(super) struct MemberSlot<'a> {
    pub(super) user_id: &'a str,
    pub(super) member: Member<'a>,
    /// The user in the audience, if they are there.
    pub(super) user: Option<u32>,
}

impl<'a> Members<'a> {
    pub(super) fn new(
        audience: &'a RuleIndex,
        members: impl IntoIterator<Item = (&'a str, Member<'a>)>,
    ) -> Self {
        static UNCHANGED: LazyLock<BuiltinOverrides> = LazyLock::new(BuiltinOverrides::default);
        let mut known = HashMap::new();
        let mut standings: Vec<&BuiltinOverrides> = Vec::new();
        let mut which = Vec::new();
        let seats = members.into_iter().map(|(user_id, member)| {
            let user = audience.by_id.get(user_id).copied();
            let standing = user.map(|user| audience.users[user as usize].standing);
            which.push(*known.entry(standing).or_insert_with(|| {
                let standing = standing.and_then(|standing| audience.standings.get(standing));
                standings.push(standing.unwrap_or(&UNCHANGED));
                number(standings.len() - 1)
            }));
            MemberSlot { user_id, member, user }
        });
        let seats: Vec<MemberSlot<'_>> = seats.collect();
        let ids = Index::of(seats.iter().map(|seat| Entry::At(IndexKey::id(seat.user_id))));
        let wild = (0..).zip(&seats).filter(|(_, seat)| seat.user_id.contains(['*', '?']));
        let wild = wild.map(|(position, _)| position).collect();
        let (localparts, names, users) = Default::default();
        Self { audience, seats, standing: which, standings, ids, wild, localparts, names, users }
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// By the mark of the local part of the user's id.
    pub(super) fn localparts(&self) -> &Index {
        let localpart = |seat: &MemberSlot<'_>| {
            IndexKey::of_pattern(User::new(seat.user_id).localpart).map_or(Entry::Always, Entry::At)
        };
        self.localparts.get_or_init(|| Index::of(self.seats.iter().map(localpart)))
    }

    /// By the mark of the display name.
    pub(super) fn names(&self) -> &Index {
        let name = |seat: &MemberSlot<'_>| {
            let name = seat.member.display_name.unwrap_or_default();
            IndexKey::of_literal(name).map_or(Entry::Never, Entry::At)
        };
        self.names.get_or_init(|| Index::of(self.seats.iter().map(name)))
    }

    /// Where a user of the audience sits: nowhere, or once for each device.
    pub(super) fn of_user(&self, user: u32) -> impl Iterator<Item = u32> {
        let seats =
            self.users.get_or_init(|| MemberSlots::of(&self.seats, self.audience.users.len()));
        std::iter::successors(seats.first[user as usize], |seat| seats.next[*seat as usize])
    }
}

/// The seats of each user of the audience. An array, because an event that many rules match asks
/// for many users.
#[derive(Debug)]
struct MemberSlots {
    /// By the user's number in the audience.
    first: Vec<Option<u32>>,
    /// By the seat: the next of the same user.
    next: Vec<Option<u32>>,
}

impl MemberSlots {
    fn of(seats: &[MemberSlot<'_>], users: usize) -> Self {
        let mut all = Self { first: vec![None; users], next: vec![None; seats.len()] };
        for (position, seat) in (0..).zip(seats) {
            if let Some(user) = seat.user {
                all.next[position as usize] = all.first[user as usize].replace(position);
            }
        }
        all
    }
}
