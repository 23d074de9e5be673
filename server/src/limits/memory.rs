//! Counters in this process: sharded, bounded, and exact.
//!
//! A key is known by a 64-bit hash with a random seed, so that nobody can choose keys which meet in
//! one shard or one slot. Among ten million keys, the chance that any two share a window (and so a
//! budget) is 3 in a million.

mod shard;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::limits::{Bucket, CountMode, Micros, RateLimitDecision, Window, decide};
use foldhash::quality::RandomState;
use futures_util::future::{BoxFuture, FutureExt, ready};
use jiff::Timestamp;
use smallvec::SmallVec;

use self::shard::Shard;
use super::{Counters, Place, State};

/// Shards at most: enough that callers rarely meet, few enough that a handful of keys stays small.
const SHARDS: usize = 256;

/// One for each limit of a call; those of most calls need no memory from the heap.
type Few<T> = SmallVec<[T; 4]>;

/// The counters of this process.
#[derive(Debug)]
pub struct Memory {
    shards: Box<[Pair]>,
    seed: RandomState,
}

/// A shard in lines of memory of its own: what two cores change, they pull from each other, and with
/// it whatever else is in the line. Cores fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Pair(Mutex<Shard>);

const _: () = assert!(size_of::<Pair>() == 128, "a shard is to be one pair of lines");

impl Memory {
    /// Keys that are held where nothing else is configured: at most some 100 MB, and that only
    /// while so many are in use.
    pub const KEYS: usize = 2_000_000;

    /// Counters that hold at most `keys` windows at a time, but at least one.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        let shards = (keys / 64).clamp(1, SHARDS).next_power_of_two();
        let each = (keys / shards).max(1);
        let shards = (0..shards).map(|_| Pair(Mutex::new(Shard::new(each)))).collect();
        Self { shards, seed: RandomState::default() }
    }

    /// Judges and counts in one step: [`Counters::count`] without a future.
    #[expect(clippy::must_use_candidate, reason = "a charge is made for its effect")]
    pub fn judge(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        let now = Micros::from(now);
        let mut prints = Few::new();
        for bucket in buckets {
            prints.push(self.print(bucket));
        }
        let mut held = self.hold(&prints);
        let mut kept = Few::new();
        for (bucket, &print) in buckets.iter().zip(&prints) {
            kept.push((bucket.limit, held.shard(print).get(print)));
        }
        let decision = decide(mode, &mut kept, now);
        for (&print, &(limit, window)) in prints.iter().zip(&kept) {
            held.shard(print).put(print, limit, window, now);
        }
        decision
    }

    /// The verdict on a call that is known to be refused.
    ///
    /// A window that ends later than its limit allows is not known: the limit was changed, or the
    /// clock, and what was told elsewhere may have another end by now.
    pub(super) fn refusal(
        &self,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> Option<RateLimitDecision> {
        let get = |bucket: &Bucket<'_>| {
            let print = self.print(bucket);
            self.shard(self.place(print)).get(print)
        };
        let mut kept: Few<_> = buckets.iter().map(|bucket| (bucket.limit, get(bucket))).collect();
        let before = kept.clone();
        let decision = decide(CountMode::Peek, &mut kept, now.into());
        let known = before.iter().zip(&kept).all(|((_, was), (_, is))| was.end <= is.end);
        (known && !decision.is_admitted()).then_some(decision)
    }

    /// Takes over how a call stands elsewhere, so that counting can go on from there.
    pub(super) fn remember(
        &self,
        buckets: &[Bucket<'_>],
        decision: &RateLimitDecision,
        now: Micros,
    ) {
        for (bucket, status) in buckets.iter().zip(decision.statuses()) {
            let told =
                Window { count: status.limit.requests() - status.remaining, end: status.reset };
            if told.count == 0 {
                continue;
            }
            let print = self.print(bucket);
            let mut shard = self.shard(self.place(print));
            // Answers may overtake each other, and each tells the end a little differently. The
            // ends of two windows of one key are a whole length apart.
            let kept = shard.get(print);
            let apart = kept.end.until(told.end).max(told.end.until(kept.end));
            let same = apart < bucket.limit.window() / 2;
            let count = if same { told.count.max(kept.count) } else { told.count };
            shard.put(print, bucket.limit, Window { count, ..told }, now);
        }
    }

    fn print(&self, bucket: &Bucket<'_>) -> u64 {
        self.seed.hash_one((bucket.limit.name(), &bucket.key))
    }

    fn place(&self, print: u64) -> usize {
        // The number of shards is a power of two; the upper bits choose the slot.
        usize::try_from(print & (self.shards.len() as u64 - 1)).unwrap_or(0)
    }

    /// A lost count matters less than every later call to this shard: a poisoned lock is taken.
    fn shard(&self, place: usize) -> MutexGuard<'_, Shard> {
        self.shards[place].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the shards of all keys of a call, in order, so that no two calls wait for each other.
    fn hold(&self, prints: &[u64]) -> Held<'_> {
        let mut shards = Few::new();
        let mut next = 0;
        let places = || prints.iter().map(|&print| self.place(print));
        while let Some(place) = places().filter(|&place| place >= next).min() {
            shards.push((place, self.shard(place)));
            next = place + 1;
        }
        Held { memory: self, shards }
    }
}

struct Held<'a> {
    memory: &'a Memory,
    shards: Few<(usize, MutexGuard<'a, Shard>)>,
}

impl Held<'_> {
    fn shard(&mut self, print: u64) -> &mut Shard {
        let place = self.memory.place(print);
        let at = self.shards.iter().position(|(own, _)| *own == place).unwrap_or(0);
        &mut self.shards[at].1
    }
}

impl Counters for Memory {
    fn count<'a>(
        &'a self,
        mode: CountMode,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision> {
        ready(self.judge(mode, buckets, now)).boxed()
    }

    fn sweep(&self, now: Timestamp) {
        (0..self.shards.len()).for_each(|place| self.shard(place).sweep(now.into()));
    }

    fn state(&self) -> State {
        let mut state = State { place: Place::Memory, keys: 0, evicted: 0, alone: 0, known: 0 };
        for place in 0..self.shards.len() {
            let shard = self.shard(place);
            state.keys += shard.used();
            state.evicted += shard.evicted();
        }
        state
    }
}
