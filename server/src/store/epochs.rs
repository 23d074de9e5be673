//! Per-key invalidation counters. A value read before its counter moved is not cached.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The invalidation count of a key when a read began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// The epoch after one more invalidation.
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Counters shared by all keys with the same hash. There are enough of them that an invalidation
/// rarely blocks the insertion of an unrelated key.
pub(super) struct InvalidationEpochs {
    epochs: Box<[Mutex<Epoch>]>,
    hasher: RandomState,
}

impl Default for InvalidationEpochs {
    fn default() -> Self {
        let epochs = (0..1024).map(|_| Mutex::new(Epoch(0))).collect();
        Self { epochs, hasher: RandomState::new() }
    }
}

impl InvalidationEpochs {
    /// Locks the epoch of a key. Nothing with this key is invalidated while the lock is held.
    pub(super) fn lock(&self, key: &(impl Hash + ?Sized)) -> MutexGuard<'_, Epoch> {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        let hash = usize::from(u16::from_le_bytes([low, high]));
        lock(&self.epochs[hash % self.epochs.len()])
    }

    /// Advances the epochs of all keys.
    pub(super) fn advance_all(&self) {
        for epoch in &self.epochs {
            let mut epoch = lock(epoch);
            *epoch = epoch.next();
        }
    }
}

fn lock(epoch: &Mutex<Epoch>) -> MutexGuard<'_, Epoch> {
    epoch.lock().unwrap_or_else(PoisonError::into_inner)
}
