//! The engines that count requests: process memory, or Redis with process memory as fallback.

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision};
use jiff::Timestamp;

use super::memory::MemoryCounters;
use super::redis::RedisCounters;

/// An engine that counts requests. It never fails: when Redis is unavailable, it counts locally.
#[derive(Debug)]
pub enum Engine {
    /// Counters of this process.
    Memory(MemoryCounters),
    /// Counters that all nodes share.
    Redis(Box<RedisCounters>),
}

/// The state of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineState {
    /// Where requests are counted at the moment.
    pub status: EngineStatus,
    /// The number of keys in the memory of this process.
    pub keys: usize,
    /// The number of keys that were evicted before their window ended, for lack of space.
    pub evicted: u64,
    /// The number of decisions made locally because Redis was unavailable.
    pub local_decisions: u64,
}

/// Where requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineStatus {
    /// In this process, as configured.
    Memory,
    /// In Redis, together with all other nodes.
    Redis,
    /// In this process, because Redis is unavailable.
    RedisUnavailable,
}

impl Engine {
    /// Decides about a request by all its buckets in one atomic step, and counts it as `mode` says.
    ///
    /// The buckets of one request belong to different limits.
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
            Self::Redis(counters) => counters.local().sweep(now),
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
