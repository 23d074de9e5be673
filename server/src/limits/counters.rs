//! What has been counted: the windows of all keys, in this process or shared through Redis.
//!
//! Core decides ([`belfry_core::limits::judge`]); an engine remembers, and makes the decision about
//! all claims of a call one step that no other call can come between.

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

/// An engine that counts. It never fails: who cannot count in one place counts in another.
pub trait Counters: Send + Sync {
    /// Judges a call by all its claims together, and counts it as `counting` says.
    ///
    /// The claims of one call name different limits.
    fn count<'a>(
        &'a self,
        mode: CountMode,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision>;

    /// Forgets windows that have ended and gives their memory back; to be called now and then.
    fn sweep(&self, now: Timestamp);

    /// How the engine fares, for metrics.
    fn state(&self) -> State;

    /// Counts the call if all its limits have room; a refused call costs nothing.
    fn check<'a>(
        &'a self,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision> {
        self.count(CountMode::Check, buckets, now)
    }

    /// Whether all limits have room; costs nothing.
    fn peek<'a>(
        &'a self,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision> {
        self.count(CountMode::Peek, buckets, now)
    }

    /// Counts what has happened, as a wrong secret, wherever there is room.
    fn charge<'a>(
        &'a self,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision> {
        self.count(CountMode::Charge, buckets, now)
    }
}

/// How an engine fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Where calls are counted at this moment.
    pub place: Place,
    /// How many keys this process holds.
    pub keys: usize,
    /// How many keys were given up before their window ended, because there was no room.
    pub evicted: u64,
    /// How many calls were counted here because Redis could not be asked.
    pub alone: u64,
    /// How many calls were refused from memory, without asking Redis again.
    pub known: u64,
}

/// Where calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this process, as configured.
    Memory,
    /// In Redis, together with all other processes.
    Redis,
    /// In this process, because Redis does not answer.
    Alone,
}
