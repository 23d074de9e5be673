//! The engines that count requests: process memory, or Redis with process memory as fallback.

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision};
use jiff::Timestamp;

use super::memory::MemoryCounters;
use super::redis::RedisCounters;
use super::state::EngineState;

/// An engine that counts requests. It never fails: when Redis is unavailable, it counts locally.
#[derive(Debug)]
pub enum Engine {
    /// Counters of this process.
    Memory(MemoryCounters),
    /// Counters that all nodes share.
    Redis(Box<RedisCounters>),
}

impl Engine {
    /// Decides about a request by all its buckets in one atomic step, and counts it according to
    /// `mode`.
    ///
    /// No two buckets of a request may have the same limit.
    pub async fn check(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        match self {
            Self::Memory(counters) => counters.check(mode, buckets, now),
            Self::Redis(counters) => counters.check(mode, buckets, now).await,
        }
    }

    /// Deletes windows that have ended and frees their memory.
    pub fn sweep(&self, now: Timestamp) {
        match self {
            Self::Memory(counters) => counters.sweep(now),
            Self::Redis(counters) => counters.local.sweep(now),
        }
    }

    /// The state of the engine.
    #[must_use]
    pub fn state(&self) -> EngineState {
        match self {
            Self::Memory(counters) => counters.state(),
            Self::Redis(counters) => counters.state(),
        }
    }
}
