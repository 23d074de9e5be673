//! Per-key invalidation counters. A value read before its counter moved is not inserted.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The invalidation count of a key when a read began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(pub(super) u64);

impl Epoch {
    /// The epoch after one more invalidation, caused by the reader's own write.
    pub(crate) fn after_own_write(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Counters shared by all keys with the same hash. There are enough of them that an invalidation
/// rarely blocks the insertion of an unrelated key.
pub(super) struct InvalidationEpochs {
    counters: Box<[Mutex<u64>]>,
    hasher: RandomState,
}

impl Default for InvalidationEpochs {
    fn default() -> Self {
        let counters = (0..1024).map(|_| Mutex::new(0)).collect();
        Self { counters, hasher: RandomState::new() }
    }
}

impl InvalidationEpochs {
    /// Locks the counter of a key. Nothing with this key is invalidated while the lock is held.
    pub(super) fn lock<K: Hash>(&self, key: &K) -> MutexGuard<'_, u64> {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        let hash = usize::from(u16::from_le_bytes([low, high]));
        lock(&self.counters[hash % self.counters.len()])
    }

    /// Advances the counters of all keys.
    pub(super) fn advance_all(&self) {
        for counter in &*self.counters {
            *lock(counter) += 1;
        }
    }
}

fn lock(counter: &Mutex<u64>) -> MutexGuard<'_, u64> {
    counter.lock().unwrap_or_else(PoisonError::into_inner)
}
