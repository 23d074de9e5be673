//! A table of windows that grows up to a maximum of keys and then evicts.
//!
//! **Eviction.** When a new key is added to a full table, one of 16 neighbouring entries is
//! evicted: one whose window has ended; otherwise the one that has used the smallest share of its
//! limit; among equal shares, the one whose window ends last. A flood of new keys therefore evicts
//! its own keys, and requests from many addresses cannot reset a key that is at its limit. An
//! evicted key starts again from 0.

use std::cmp::Reverse;

use belfry_core::limits::{Limit, UnixMicros, Window};
use hashbrown::HashTable;

/// Number of entries from which one is chosen for eviction.
const EVICTION_CANDIDATES: usize = 16;
/// The number of slots that are checked for ended windows with every new key, so that all slots are
/// checked before the table fills up.
const SWEEP_STEP: usize = 4;

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) entries: HashTable<WindowEntry>,
    max_keys: usize,
    last_checked_slot: usize,
    /// Number of keys that were evicted before their window ended.
    pub(super) evicted_keys: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WindowEntry {
    key_hash: u64,
    end: UnixMicros,
    count: u32,
    /// The used share of the limit, scaled to the range from 0 to 255.
    used_share: u8,
}

impl WindowEntry {
    fn has_ended(&self, now: UnixMicros) -> bool {
        self.end <= now
    }
}

impl Shard {
    /// Creates an empty table, which allocates nothing before the first key.
    pub(super) fn new(max_keys: usize) -> Self {
        Self { entries: HashTable::new(), max_keys, last_checked_slot: 0, evicted_keys: 0 }
    }

    /// Returns the stored window of a key; an empty one for an unknown key.
    pub(super) fn get(&self, key_hash: u64) -> Window {
        self.entries
            .find(key_hash, |entry| entry.key_hash == key_hash)
            .map_or_else(Window::default, |entry| Window { count: entry.count, end: entry.end })
    }

    /// Stores the window of a key, or removes it if its count is 0.
    pub(super) fn put(&mut self, key_hash: u64, limit: &Limit, window: Window, now: UnixMicros) {
        if window.count == 0 {
            if let Ok(entry) = self.entries.find_entry(key_hash, |entry| entry.key_hash == key_hash)
            {
                entry.remove();
            }
            return;
        }
        let scaled_share = u64::from(window.count) * 255 / u64::from(limit.requests().max(1));
        let used_share = u8::try_from(scaled_share).unwrap_or(u8::MAX);
        let entry = WindowEntry { key_hash, end: window.end, count: window.count, used_share };
        if let Some(stored_entry) =
            self.entries.find_mut(key_hash, |entry| entry.key_hash == key_hash)
        {
            *stored_entry = entry;
            return;
        }
        self.make_space(key_hash, now);
        self.entries.insert_unique(key_hash, entry, |entry| entry.key_hash);
    }

    /// Deletes all windows that have ended, and shrinks the table to space for twice its entries.
    pub(super) fn sweep(&mut self, now: UnixMicros) {
        self.entries.retain(|entry| !entry.has_ended(now));
        self.entries.shrink_to(self.entries.len() * 2, |entry| entry.key_hash);
    }

    /// Makes space for a new key: deletes some windows that have ended, and then evicts a key from
    /// a full table or grows the table if necessary.
    fn make_space(&mut self, key_hash: u64, now: UnixMicros) {
        for _ in 0..SWEEP_STEP {
            self.last_checked_slot =
                (self.last_checked_slot + 1) % self.entries.num_buckets().max(1);
            if let Ok(entry) = self.entries.get_bucket_entry(self.last_checked_slot)
                && entry.get().has_ended(now)
            {
                entry.remove();
            }
        }
        if self.entries.len() >= self.max_keys {
            self.evict_one(key_hash, now);
        } else if self.entries.len() == self.entries.capacity() {
            self.entries.retain(|entry| !entry.has_ended(now));
            // Growing by at least half bounds how often all entries are visited.
            self.entries.reserve(self.entries.len() / 2 + 1, |entry| entry.key_hash);
        }
    }

    fn evict_one(&mut self, key_hash: u64, now: UnixMicros) {
        let slots = self.entries.num_buckets();
        let first_slot = usize::try_from(key_hash).unwrap_or_default() % slots.max(1);
        let rank =
            |entry: &WindowEntry| (!entry.has_ended(now), entry.used_share, Reverse(entry.end));
        let victim = (first_slot..slots)
            .chain(0..first_slot)
            .filter_map(|slot| self.entries.get_bucket(slot).map(|entry| (slot, rank(entry))))
            .take(EVICTION_CANDIDATES)
            .min_by_key(|&(_, rank)| rank);
        if let Some((slot, (is_running, ..))) = victim
            && let Ok(entry) = self.entries.get_bucket_entry(slot)
        {
            entry.remove();
            self.evicted_keys += u64::from(is_running);
        }
    }
}
