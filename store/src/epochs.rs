//! Per-key invalidation counters. A value read before its counter moved is not cached.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state of a key when a read began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    invalidations: u64,
    /// Writes in progress. Until they end, it is unknown which value is the current one.
    writes: u32,
}

impl Epoch {
    /// The epoch after one more invalidation.
    pub(crate) fn next(self) -> Self {
        Self { invalidations: self.invalidations + 1, ..self }
    }

    /// The epoch after one more write, which invalidates when it begins and when it ends.
    pub(crate) fn after_write(self) -> Self {
        self.next().next()
    }

    pub(super) fn begin_write(self) -> Self {
        Self { writes: self.writes + 1, ..self.next() }
    }

    pub(super) fn end_write(self) -> Self {
        Self { writes: self.writes.saturating_sub(1), ..self.next() }
    }

    pub(super) fn is_writing(self) -> bool {
        self.writes > 0
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
        let epochs = (0..1024).map(|_| Mutex::new(Epoch::default())).collect();
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

    /// Changes the epochs of all keys.
    pub(super) fn advance_all(&self, advance: fn(Epoch) -> Epoch) {
        for epoch in &self.epochs {
            let mut epoch = lock(epoch);
            *epoch = advance(*epoch);
        }
    }
}

fn lock(epoch: &Mutex<Epoch>) -> MutexGuard<'_, Epoch> {
    epoch.lock().unwrap_or_else(PoisonError::into_inner)
}
