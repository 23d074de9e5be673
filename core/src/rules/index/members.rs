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
    id_index: OnceCell<PositionIndex>,
    localpart_index: OnceCell<PositionIndex>,
    display_name_index: OnceCell<PositionIndex>,
}

/// One item of the member list: a user as a member of the room, and the user's rules.
#[derive(Debug)]
pub(super) struct MemberSlot<'a> {
    pub(super) user_id: &'a str,
    pub(super) member: Member<'a>,
    pub(super) rules: &'a IndexedRules,
}

impl<'a> Members<'a> {
    /// Prepares members for evaluation. For a member without rules, only the unchanged built-in
    /// rules are evaluated. A user with several devices may be listed once for each.
    pub fn new(
        members: impl IntoIterator<Item = (&'a str, Member<'a>, Option<&'a IndexedRules>)>,
    ) -> Self {
        let slots = members.into_iter().map(|(user_id, member, rules)| {
            let rules = rules.unwrap_or(&NO_RULES);
            MemberSlot { user_id, member, rules }
        });
        Self {
            slots: slots.collect(),
            id_index: OnceCell::new(),
            localpart_index: OnceCell::new(),
            display_name_index: OnceCell::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the index of positions by user id. An id with wildcards can match other ids, so
    /// every lookup returns it.
    pub(super) fn id_index(&self) -> &PositionIndex {
        self.id_index.get_or_init(|| {
            self.build_index(|slot| {
                let has_wildcards = slot.user_id.contains(['*', '?']);
                if has_wildcards {
                    IndexEntry::Always
                } else {
                    IndexEntry::Key(IndexKey::for_user_id(slot.user_id))
                }
            })
        })
    }

    /// Returns the index of positions by the localpart of the user id. A localpart without a key is
    /// returned by every lookup.
    pub(super) fn localpart_index(&self) -> &PositionIndex {
        self.localpart_index.get_or_init(|| {
            self.build_index(|slot| {
                let localpart = User::new(slot.user_id).localpart;
                IndexKey::for_pattern(localpart).map_or(IndexEntry::Always, IndexEntry::Key)
            })
        })
    }

    /// Returns the index of positions by display name. A member without one is never returned.
    pub(super) fn display_name_index(&self) -> &PositionIndex {
        self.display_name_index.get_or_init(|| {
            self.build_index(|slot| {
                let name = slot.member.display_name.unwrap_or_default();
                IndexKey::for_literal(name).map_or(IndexEntry::Never, IndexEntry::Key)
            })
        })
    }

    fn build_index(&self, entry: impl Fn(&MemberSlot<'_>) -> IndexEntry) -> PositionIndex {
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
enum IndexEntry {
    Key(IndexKey),
    Always,
    Never,
}

impl PositionIndex {
    fn new(entries: impl Iterator<Item = IndexEntry>) -> Self {
        let mut index = Self { by_key: Vec::new(), always: Vec::new() };
        for (position, entry) in entries.enumerate() {
            match entry {
                IndexEntry::Key(key) => index.by_key.push((key, position)),
                IndexEntry::Always => index.always.push(position),
                IndexEntry::Never => {}
            }
        }
        index.by_key.sort_unstable();
        index
    }

    /// Returns the positions with any of these keys, and the positions that every lookup returns. A
    /// position can occur more than once.
    pub(super) fn find(&self, keys: &[IndexKey]) -> impl Iterator<Item = usize> {
        let entries = keys.iter().flat_map(|key| {
            let start = self.by_key.partition_point(|(entry_key, _)| entry_key < key);
            self.by_key[start..].iter().take_while(move |(entry_key, _)| entry_key == key)
        });
        entries.map(|(_, position)| position).chain(&self.always).copied()
    }
}
