//! Positions of members by index key.

use super::key::IndexKey;

/// A map from index keys to positions in a list.
#[derive(Debug)]
pub(super) struct PositionIndex {
    keyed: Vec<(IndexKey, usize)>,
    /// Positions that every lookup returns.
    always: Vec<usize>,
}

/// How a position is found.
pub(super) enum Entry {
    Key(IndexKey),
    Always,
    Never,
}

impl PositionIndex {
    pub(super) fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let mut index = Self { keyed: Vec::new(), always: Vec::new() };
        for (position, entry) in entries.enumerate() {
            match entry {
                Entry::Key(key) => index.keyed.push((key, position)),
                Entry::Always => index.always.push(position),
                Entry::Never => {}
            }
        }
        index.keyed.sort_unstable();
        index
    }

    /// The positions that are found by any of these keys.
    pub(super) fn find(&self, keys: &[IndexKey]) -> impl Iterator<Item = usize> {
        let keyed = keys.iter().flat_map(|key| {
            let start = self.keyed.partition_point(|(other, _)| other < key);
            self.keyed[start..].iter().take_while(move |(other, _)| other == key)
        });
        keyed.map(|(_, position)| position).chain(&self.always).copied()
    }
}
