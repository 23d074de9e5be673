//! Counters in process memory: sharded by key, with a bounded number of keys.
//!
//! A key is stored as a 64-bit hash with a random seed, so that clients cannot choose keys that
//! collide. Among ten million keys, the chance that any two share a window is 3 in a million.

mod shard;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision, UnixMicros, Window, decide};
use foldhash::quality::RandomState;
use jiff::Timestamp;
use smallvec::SmallVec;

use self::shard::Shard;

/// The maximum number of shards: enough that threads rarely wait for the same lock.
const MAX_SHARDS: usize = 256;

/// A list with one item per limit of a request.
type PerLimit<T> = SmallVec<[T; 4]>;

#[derive(Debug)]
pub struct MemoryCounters {
    /// Number of shards is a power of two.
    shards: Box<[Mutex<Shard>]>,
    hash_builder: RandomState,
}

impl MemoryCounters {
    /// Creates counters for at most `max_keys` keys, but at least one.
    pub fn new(max_keys: usize) -> Self {
        let shard_count = (max_keys / 64).clamp(1, MAX_SHARDS).next_power_of_two();
        let keys_per_shard = (max_keys / shard_count).max(1);
        let shards = (0..shard_count).map(|_| Mutex::new(Shard::new(keys_per_shard))).collect();
        Self { shards, hash_builder: RandomState::default() }
    }

    /// Decides whether to admit a request, and stores the new counts.
    #[expect(clippy::must_use_candidate, reason = "a charge ignores the decision")]
    pub fn check(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        let now = UnixMicros::from(now);
        let hashes: PerLimit<u64> = buckets.iter().map(|bucket| self.hash(bucket)).collect();
        // Locked in ascending order to avoid deadlocks.
        let mut indices: PerLimit<usize> =
            hashes.iter().map(|&hash| self.shard_index(hash)).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut shards: PerLimit<_> = indices.iter().map(|&index| self.lock_shard(index)).collect();
        let position = |hash| indices.binary_search(&self.shard_index(hash)).unwrap_or_default();

        let stored_windows = hashes.iter().map(|&hash| shards[position(hash)].get(hash));
        let limits = buckets.iter().map(|bucket| bucket.limit);
        let mut windows: PerLimit<_> = limits.zip(stored_windows).collect();
        let decision = decide(mode, &mut windows, now);
        for (&hash, &(limit, window)) in hashes.iter().zip(&windows) {
            shards[position(hash)].put(hash, limit, window, now);
        }
        decision
    }

    /// Returns the decision for a request that the stored windows already reject; `None` if it may
    /// be admitted.
    ///
    /// A window that ends later than its limit allows is not trusted: the limit or the clock was
    /// changed, and Redis may have clamped the window by now.
    pub(super) fn known_rejection(
        &self,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> Option<RateLimitDecision> {
        let stored_window = |bucket: &Bucket<'_>| {
            let hash = self.hash(bucket);
            self.lock_shard(self.shard_index(hash)).get(hash)
        };
        let stored_windows: PerLimit<Window> = buckets.iter().map(stored_window).collect();
        let limits = buckets.iter().map(|bucket| bucket.limit);
        let mut windows: PerLimit<_> = limits.zip(stored_windows.iter().copied()).collect();
        let decision = decide(CountMode::Peek, &mut windows, now.into());
        let is_trusted =
            stored_windows.iter().zip(&windows).all(|(before, (_, after))| before.end <= after.end);
        (is_trusted && !decision.is_admitted()).then_some(decision)
    }

    /// Stores counts that Redis reported, so that local counting can continue from them. A count
    /// below the stored one is ignored in the same window, because it comes from a late response.
    pub(super) fn record(
        &self,
        buckets: &[Bucket<'_>],
        decision: &RateLimitDecision,
        now: UnixMicros,
    ) {
        for (bucket, status) in buckets.iter().zip(decision.statuses()) {
            let reported_window =
                Window { count: status.limit.requests() - status.remaining, end: status.reset };
            if reported_window.count == 0 {
                continue;
            }
            let hash = self.hash(bucket);
            let mut shard = self.lock_shard(self.shard_index(hash));
            // Responses may arrive out of order, with slightly different ends. The ends of two
            // windows of one key are at least one window length apart.
            let stored_window = shard.get(hash);
            let distance = stored_window
                .end
                .until(reported_window.end)
                .max(reported_window.end.until(stored_window.end));
            let is_same_window = distance < bucket.limit.window() / 2;
            let count = if is_same_window {
                reported_window.count.max(stored_window.count)
            } else {
                reported_window.count
            };
            shard.put(hash, bucket.limit, Window { count, ..reported_window }, now);
        }
    }

    /// Deletes windows that have ended and frees their memory.
    pub fn sweep(&self, now: Timestamp) {
        (0..self.shards.len()).for_each(|index| self.lock_shard(index).sweep(now.into()));
    }

    /// Returns the number of stored keys, and the number of keys evicted before their window ended.
    pub fn key_counts(&self) -> (usize, u64) {
        let shards = (0..self.shards.len()).map(|index| self.lock_shard(index));
        shards.fold((0, 0), |(keys, evicted_keys), shard| {
            (keys + shard.entries.len(), evicted_keys + shard.evicted_keys)
        })
    }

    fn hash(&self, bucket: &Bucket<'_>) -> u64 {
        self.hash_builder.hash_one((bucket.limit.name(), &bucket.key))
    }

    /// Returns the index of a hash's shard. The tables use the lowest and highest bits of a hash,
    /// so the index uses bits in between.
    fn shard_index(&self, hash: u64) -> usize {
        usize::try_from((hash >> 40) & (self.shards.len() as u64 - 1)).unwrap_or_default()
    }

    /// Locks a shard. Poisoning is ignored: a lost count matters less than failing requests.
    fn lock_shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
