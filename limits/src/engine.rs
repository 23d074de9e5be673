//! The engine that counts requests: in process memory, or in Redis with process memory as fallback.
//!
//! Counts that Redis reports are also stored in process memory, for two purposes: a key that is
//! known to be exhausted is rejected locally until its window ends, and when Redis is unavailable,
//! counting continues from the last known counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use belfry_core::limits::{
    Bucket, CountMode, Limit, RateLimitDecision, UnixMicros, Window, decide,
};
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use jiff::Timestamp;
use tokio::time::Instant;

use super::memory::MemoryCounters;
use super::redis::{CountResult, RedisCounters, Reservation, WindowState};
use crate::metrics::{RedisMetrics, families};

/// An engine that counts requests. It never fails: when Redis is unavailable, it counts locally.
#[derive(Debug)]
pub struct Engine {
    local: MemoryCounters,
    redis: Option<RedisCounters>,
    local_decisions: AtomicU64,
}

impl Engine {
    /// Creates an engine that counts in Redis if it is configured, otherwise in this process.
    pub fn new(local: MemoryCounters, redis: Option<RedisCounters>) -> Self {
        Self { local, redis, local_decisions: AtomicU64::new(0) }
    }

    /// Decides whether all buckets of a request admit it, and counts it according to `mode`.
    ///
    /// No two buckets of a request may have the same limit.
    pub async fn check(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        let Some(redis) = self.redis.as_ref().filter(|_| !buckets.is_empty()) else {
            return self.local.check(mode, buckets, now);
        };
        if matches!(mode, CountMode::Check | CountMode::Peek)
            && let Some(rejection) = self.local.known_rejection(buckets, now)
        {
            return rejection;
        }
        let sent_at = Instant::now();
        let CountResult { states, reservation } = redis.count(mode, buckets).await;
        if states.iter().all(Option::is_none) {
            self.local_decisions.fetch_add(1, Ordering::Relaxed);
            let decision = self.local.check(mode, buckets, now);
            if let Some(reservation) = reservation {
                self.settle_reservation(reservation, buckets, &decision, now.into()).await;
            }
            return decision;
        }
        // Redis reports the time left in a window, which is added to the time at which the response
        // arrived.
        let now = UnixMicros::from(now).plus(sent_at.elapsed());
        let Some(states) = states.iter().copied().collect::<Option<Vec<_>>>() else {
            return self
                .check_with_unavailable_shards(mode, buckets, &states, reservation, now)
                .await;
        };
        let decision = decide(mode, &mut windows(buckets, &states, now), now);
        if let Some(reservation) = reservation {
            self.settle_reservation(reservation, buckets, &decision, now).await;
        }
        self.record_locally(mode, buckets, &decision, now);
        decision
    }

    /// Decides whether to admit a request while cluster shards are unavailable: Redis has counted
    /// the buckets of the other shards, and the remaining buckets are counted locally.
    async fn check_with_unavailable_shards(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        states: &[Option<WindowState>],
        reservation: Option<Reservation>,
        now: UnixMicros,
    ) -> RateLimitDecision {
        self.local_decisions.fetch_add(1, Ordering::Relaxed);
        let (shared_indices, local_indices): (Vec<usize>, Vec<usize>) =
            (0..buckets.len()).partition(|&index| states[index].is_some());
        let buckets_at = |indices: &[usize]| -> Vec<Bucket<'_>> {
            indices.iter().map(|&index| buckets[index].clone()).collect()
        };
        let shared_buckets = buckets_at(&shared_indices);
        let local_buckets = buckets_at(&local_indices);
        let states: Vec<WindowState> = states.iter().copied().flatten().collect();
        let decide_shared = |mode| decide(mode, &mut windows(&shared_buckets, &states, now), now);
        // With `Check`, a request that the shared or the local limits reject is counted in neither.
        let effective_mode = |is_admitted_by_other: bool| match mode {
            CountMode::Check if !is_admitted_by_other => CountMode::Peek,
            _ => mode,
        };
        let is_admitted_by_shared = decide_shared(CountMode::Peek).is_admitted();
        let local_decision =
            self.local.check(effective_mode(is_admitted_by_shared), &local_buckets, now.into());
        let shared_decision = decide_shared(effective_mode(local_decision.is_admitted()));
        self.record_locally(mode, &shared_buckets, &shared_decision, now);
        let decision = RateLimitDecision::merge_by_index([
            (&shared_indices, shared_decision),
            (&local_indices, local_decision),
        ]);
        if let Some(reservation) = reservation {
            self.settle_reservation(reservation, buckets, &decision, now).await;
        }
        decision
    }

    /// Confirms the reservation of an admitted request. Releases that of a rejected one, and undoes
    /// local rejections that the reservation may have caused.
    async fn settle_reservation(
        &self,
        reservation: Reservation,
        buckets: &[Bucket<'_>],
        decision: &RateLimitDecision,
        now: UnixMicros,
    ) {
        if decision.is_admitted() {
            return reservation.confirm();
        }
        reservation.release().await;
        // While it was held, this reservation may have caused the rejection of another request, and
        // that rejection was stored locally.
        for (bucket, status) in buckets.iter().zip(decision.statuses()) {
            let bucket = std::slice::from_ref(bucket);
            if status.is_admitted && self.local.known_rejection(bucket, now.into()).is_some() {
                self.local.check(CountMode::Refund, bucket, now.into());
            }
        }
    }

    /// Stores the counts from Redis in process memory, or refunds the request there too.
    fn record_locally(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        decision: &RateLimitDecision,
        now: UnixMicros,
    ) {
        if mode == CountMode::Refund {
            // `MemoryCounters::record` would ignore a count below the stored one.
            self.local.check(mode, buckets, now.into());
        } else {
            self.local.record(buckets, decision, now);
        }
    }

    /// Deletes windows that have ended. Call it regularly to free their memory.
    pub fn sweep(&self, now: Timestamp) {
        self.local.sweep(now);
    }

    /// Returns the metrics of the requests to Redis, if it is used.
    pub fn redis_metrics(&self) -> Option<&RedisMetrics> {
        self.redis.as_ref().map(RedisCounters::metrics)
    }

    pub fn write_metrics(&self, out: &mut Exposition) {
        let state = self.state();
        out.value(&families::RATE_LIMIT_KEYS, state.keys);
        out.value(&families::RATE_LIMIT_EVICTED_KEYS, state.evicted_keys);
        out.value(&families::RATE_LIMIT_LOCAL_DECISIONS, state.local_decisions);
        if let Some(metrics) = self.redis_metrics() {
            out.value(&families::REDIS_UP, u8::from(state.status == EngineStatus::Redis));
            metrics.write(out);
        }
    }

    /// Returns the background task's status, if Redis is used.
    pub fn task_status(&self) -> Option<Arc<TaskStatus>> {
        self.redis.as_ref().map(RedisCounters::task_status)
    }

    /// Returns the engine's state, for health checks and metrics.
    pub fn state(&self) -> EngineState {
        let (keys, evicted_keys) = self.local.key_counts();
        EngineState {
            status: match self.redis.as_ref().map(RedisCounters::unavailable_shards) {
                None => EngineStatus::Memory,
                Some((unavailable, 1..)) if unavailable.is_empty() => EngineStatus::Redis,
                Some((unavailable, shards)) if unavailable.len() < shards => {
                    EngineStatus::RedisDegraded { unavailable, shards }
                }
                Some(_) => EngineStatus::RedisUnavailable,
            },
            keys,
            evicted_keys,
            local_decisions: self.local_decisions.load(Ordering::Relaxed),
        }
    }
}

/// Returns the limit and the window of each bucket, from the states that Redis reported at `now`.
fn windows<'a>(
    buckets: &[Bucket<'a>],
    states: &[WindowState],
    now: UnixMicros,
) -> Vec<(&'a Arc<Limit>, Window)> {
    let window = |&(count, left): &WindowState| Window { count, end: now.plus(left) };
    buckets.iter().map(|bucket| bucket.limit).zip(states.iter().map(window)).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// The current location of the counters.
    pub status: EngineStatus,
    /// Number of keys in process memory.
    pub keys: usize,
    /// The number of keys that were evicted before their window ended, for lack of space.
    pub evicted_keys: u64,
    /// The number of decisions made locally because Redis or one of its shards was unavailable.
    pub local_decisions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineStatus {
    /// The memory of this process, as configured.
    Memory,
    /// Redis, shared by all nodes.
    Redis,
    /// Redis, and this process for the keys of unavailable cluster shards.
    RedisDegraded { unavailable: Vec<String>, shards: usize },
    /// The memory of this process, because Redis is unavailable.
    RedisUnavailable,
}
