//! The members of a room, prepared for evaluation.

use std::cell::OnceCell;

use super::indexed_rules::{IndexedRules, NO_RULES};
use super::key::IndexKey;
use crate::rules::User;
use crate::rules::evaluate::Member;

/// The members of a room, prepared to evaluate any number of events.
#[derive(Debug)]
pub struct Members<'a> {
    pub(super) slots: Vec<MemberSlot<'a>>,
    ids: OnceCell<PositionIndex>,
    localparts: OnceCell<PositionIndex>,
    display_names: OnceCell<PositionIndex>,
}

/// One item of the member list: a user as a member of the room, and the user's rules.
#[derive(Debug)]
pub(super) struct MemberSlot<'a> {
    pub(super) user_id: &'a str,
    pub(super) member: Member<'a>,
    pub(super) rules: &'a IndexedRules,
}

impl<'a> Members<'a> {
    /// Prepares members for evaluation. A member without rules has unchanged built-in rules. A user
    /// with several devices may be listed once for each.
    pub fn new(
        members: impl IntoIterator<Item = (&'a str, Member<'a>, Option<&'a IndexedRules>)>,
    ) -> Self {
        let slots = members.into_iter().map(|(user_id, member, rules)| {
            let rules = rules.unwrap_or(&NO_RULES);
            MemberSlot { user_id, member, rules }
        });
        Self {
            slots: slots.collect(),
            ids: OnceCell::new(),
            localparts: OnceCell::new(),
            display_names: OnceCell::new(),
        }
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the index of positions by user id. An id with wildcards can match other ids, so
    /// every lookup returns it.
    pub(super) fn ids(&self) -> &PositionIndex {
        self.ids.get_or_init(|| {
            self.build_index(|slot| {
                let is_glob = slot.user_id.contains(['*', '?']);
                if is_glob { Entry::Always } else { Entry::Key(IndexKey::for_id(slot.user_id)) }
            })
        })
    }

    /// Returns the index of positions by the localpart of the user id. A localpart without a key is
    /// returned by every lookup.
    pub(super) fn localparts(&self) -> &PositionIndex {
        self.localparts.get_or_init(|| {
            self.build_index(|slot| {
                let localpart = User::new(slot.user_id).localpart;
                IndexKey::for_pattern(localpart).map_or(Entry::Always, Entry::Key)
            })
        })
    }

    /// Returns the index of positions by display name. A member without one is never returned.
    pub(super) fn display_names(&self) -> &PositionIndex {
        self.display_names.get_or_init(|| {
            self.build_index(|slot| {
                let name = slot.member.display_name.unwrap_or_default();
                IndexKey::for_literal(name).map_or(Entry::Never, Entry::Key)
            })
        })
    }

    fn build_index(&self, entry: impl Fn(&MemberSlot<'_>) -> Entry) -> PositionIndex {
        PositionIndex::new(self.slots.iter().map(entry))
    }
}

/// A map from index keys to positions in a list.
#[derive(Debug)]
pub(super) struct PositionIndex {
    by_key: Vec<(IndexKey, usize)>,
    /// Positions that every lookup returns.
    always: Vec<usize>,
}

/// The lookups that return a position: lookups of its key, all lookups, or none.
enum Entry {
    Key(IndexKey),
    Always,
    Never,
}

impl PositionIndex {
    fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let mut index = Self { by_key: Vec::new(), always: Vec::new() };
        for (position, entry) in entries.enumerate() {
            match entry {
                Entry::Key(key) => index.by_key.push((key, position)),
                Entry::Always => index.always.push(position),
                Entry::Never => {}
            }
        }
        index.by_key.sort_unstable();
        index
    }

    /// Returns the positions with any of these keys, and the positions that every lookup returns. A
    /// position can occur more than once.
    pub(super) fn find(&self, keys: &[IndexKey]) -> impl Iterator<Item = usize> {
        let entries = keys.iter().flat_map(|key| {
            let start = self.by_key.partition_point(|(other, _)| other < key);
            self.by_key[start..].iter().take_while(move |(other, _)| other == key)
        });
        entries.map(|(_, position)| position).chain(&self.always).copied()
    }
}
