//! How often something was forgotten, so that nobody puts in what was read before.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counters, by the hash of what was forgotten. There are many, so that hardly anybody is kept
/// from putting something in by what another forgot.
pub(super) struct Forgettings {
    counters: Box<[Mutex<u64>]>,
    hasher: RandomState,
}

impl Default for Forgettings {
    fn default() -> Self {
        let counters = (0..1024).map(|_| Mutex::new(0)).collect();
        Self { counters, hasher: RandomState::new() }
    }
}

impl Forgettings {
    /// The counter of a key. While it is held, nothing of this key is forgotten.
    pub(super) fn of<K: Hash>(&self, key: &K) -> MutexGuard<'_, u64> {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        let hash = usize::from(u16::from_le_bytes([low, high]));
        lock(&self.counters[hash % self.counters.len()])
    }

    /// Something of any key was forgotten.
    pub(super) fn count_all(&self) {
        for counter in &*self.counters {
            *lock(counter) += 1;
        }
    }
}

fn lock(counter: &Mutex<u64>) -> MutexGuard<'_, u64> {
    counter.lock().unwrap_or_else(PoisonError::into_inner)
}
