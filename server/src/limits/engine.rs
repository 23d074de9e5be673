//! The engine that counts requests: in process memory, or in Redis with process memory as fallback.
//!
//! Counts that Redis reports are also stored in process memory, for two purposes: a key that is
//! known to be exhausted is rejected locally until its window ends, and when Redis is unavailable,
//! counting continues from the last known counts.

use std::sync::atomic::{AtomicU64, Ordering};

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision, UnixMicros, Window, decide};
use jiff::Timestamp;
use tokio::time::Instant;

use super::memory::MemoryCounters;
use super::redis::{RedisCounters, WindowState};
use crate::metrics::RedisMetrics;

/// An engine that counts requests. It never fails: when Redis is unavailable, it counts locally.
#[derive(Debug)]
pub struct Engine {
    /// Counters of this process.
    local: MemoryCounters,
    /// Counters that all nodes share.
    redis: Option<RedisCounters>,
    local_decisions: AtomicU64,
}

impl Engine {
    /// An engine that counts in Redis if there is one, otherwise in this process.
    pub fn new(local: MemoryCounters, redis: Option<RedisCounters>) -> Self {
        Self { local, redis, local_decisions: AtomicU64::new(0) }
    }

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
        let Some(redis) = &self.redis else {
            return self.local.check(mode, buckets, now);
        };
        if matches!(mode, CountMode::Check | CountMode::Peek)
            && let Some(rejection) = self.local.known_rejection(buckets, now)
        {
            return rejection;
        }
        let sent = Instant::now();
        let Some(states) = redis.count(mode, buckets).await else {
            self.local_decisions.fetch_add(1, Ordering::Relaxed);
            return self.local.check(mode, buckets, now);
        };
        // Redis reports the time left, which is counted from the arrival of the response.
        let now = UnixMicros::from(now).plus(sent.elapsed());
        let window = |&(count, left): &WindowState| Window { count, end: now.plus(left) };
        let limits = buckets.iter().map(|bucket| bucket.limit);
        let mut windows: Vec<_> = limits.zip(states.iter().map(window)).collect();
        let decision = decide(mode, &mut windows, now);
        if mode == CountMode::Refund {
            // Recording ignores counts that are smaller than the stored one.
            self.local.check(mode, buckets, now.into());
        } else {
            self.local.record(buckets, &decision, now);
        }
        decision
    }

    /// Deletes windows that have ended. Call it regularly to free their memory.
    pub fn sweep(&self, now: Timestamp) {
        self.local.sweep(now);
    }

    /// The metrics of the requests to Redis, if it is used.
    pub fn redis_metrics(&self) -> Option<&RedisMetrics> {
        self.redis.as_ref().map(|redis| &redis.metrics)
    }

    /// The state of the engine, for health checks and metrics.
    pub fn state(&self) -> EngineState {
        let (keys, evicted) = self.local.keys();
        EngineState {
            status: match &self.redis {
                None => EngineStatus::Memory,
                Some(redis) if redis.is_connected() => EngineStatus::Redis,
                Some(_) => EngineStatus::RedisUnavailable,
            },
            keys,
            evicted,
            local_decisions: self.local_decisions.load(Ordering::Relaxed),
        }
    }
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
