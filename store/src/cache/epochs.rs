//! Per-key invalidation counters. A value that was read before its counter advanced is not cached.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A step of a write. A write by another node or command becomes known after it has ended, so the
/// two steps follow each other immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The write is about to be sent.
    Begin,
    End,
}

/// The state of the cache when a read began.
#[derive(Debug, Clone, Copy)]
pub struct ReadEpoch {
    pub(crate) key_epoch: Epoch,
    /// Number of the last invalidation of an account or app.
    pub(crate) invalidation_number: u64,
    /// True if the cache was enabled. While it is disabled, changes cannot be detected. This flag
    /// is read after the epoch, which advances when the cache is disabled: an epoch from before a
    /// network partition is never current after it.
    pub(crate) is_enabled: bool,
}

impl ReadEpoch {
    /// Returns the state after one more write of the key, which invalidates it at the beginning and
    /// at the end.
    pub(crate) fn after_write(self) -> Self {
        Self { key_epoch: self.key_epoch.advance(Phase::Begin).advance(Phase::End), ..self }
    }

    /// Returns whether the cache was enabled and the key was not invalidated between the two reads.
    pub(crate) fn is_same(self, other: Self) -> bool {
        self.is_enabled && other.is_enabled && self.key_epoch == other.key_epoch
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    invalidations: u64,
    /// The number of unfinished writes. Until they end, the current value is unknown.
    writes_in_progress: u32,
}

impl Epoch {
    /// Returns the epoch after one more invalidation.
    pub(crate) fn next(self) -> Self {
        Self { invalidations: self.invalidations + 1, ..self }
    }

    /// Returns the epoch after a step of a write. Both steps invalidate the key.
    pub(crate) fn advance(self, phase: Phase) -> Self {
        let writes_in_progress = match phase {
            Phase::Begin => self.writes_in_progress + 1,
            Phase::End => self.writes_in_progress.saturating_sub(1),
        };
        Self { writes_in_progress, ..self.next() }
    }

    pub(crate) fn is_writing(self) -> bool {
        self.writes_in_progress > 0
    }
}

/// Counters shared by all keys with the same hash. There are enough of them that an invalidation
/// rarely blocks the insertion of an unrelated key.
pub(crate) struct InvalidationEpochs {
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
    pub(crate) fn lock(&self, key: &(impl Hash + ?Sized)) -> MutexGuard<'_, Epoch> {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        let hash = usize::from(u16::from_le_bytes([low, high]));
        lock_epoch(&self.epochs[hash % self.epochs.len()])
    }

    pub(crate) fn advance_all(&self, advance: impl Fn(Epoch) -> Epoch) {
        for epoch in &self.epochs {
            let mut epoch = lock_epoch(epoch);
            *epoch = advance(*epoch);
        }
    }
}

fn lock_epoch(epoch: &Mutex<Epoch>) -> MutexGuard<'_, Epoch> {
    epoch.lock().unwrap_or_else(PoisonError::into_inner)
}
