//! An engine under test, and the time it goes by.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use belfry::limits::Counters;
use belfry::limits::memory::Memory;
use belfry::limits::redis::{Options, Redis};
use belfry_core::limits::{Bucket, Limit, LimitKey, Network, RateLimitDecision};
use jiff::{SignedDuration, Timestamp};

use crate::support::databases::engine_url;

/// Counters, further processes on the same counters, and a clock.
pub(super) struct Engine {
    pub(super) counters: Arc<dyn Counters>,
    /// Where Redis is and what our keys begin with; none for memory.
    redis: Option<(String, String)>,
    started: Instant,
    skipped: AtomicI64,
}

impl Engine {
    pub(super) fn memory() -> Self {
        Self::new(Arc::new(Memory::new(100_000)), None)
    }

    /// `None` at a desk without a server.
    pub(super) async fn redis() -> Option<Self> {
        let url = redis_url()?;
        let prefix = fresh_prefix();
        let counters = connect(&url, &prefix).await;
        Some(Self::new(Arc::new(counters), Some((url, prefix))))
    }

    fn new(counters: Arc<dyn Counters>, redis: Option<(String, String)>) -> Self {
        Self { counters, redis, started: Instant::now(), skipped: AtomicI64::new(0) }
    }

    /// What another process on the same counters uses. Memory is one process.
    pub(super) async fn another(&self) -> Arc<dyn Counters> {
        match &self.redis {
            None => Arc::clone(&self.counters),
            Some((url, prefix)) => Arc::new(connect(url, prefix).await),
        }
    }

    /// The time: Redis goes by its own clock, so here it passes; for memory it is a number.
    pub(super) fn now(&self) -> Timestamp {
        let passed = match &self.redis {
            None => SignedDuration::from_millis(self.skipped.load(Ordering::Relaxed)),
            Some(_) => self.started.elapsed().try_into().unwrap(),
        };
        Timestamp::from_second(1_800_000_000).unwrap() + passed
    }

    pub(super) async fn pass(&self, time: Duration) {
        match &self.redis {
            None => drop(
                self.skipped.fetch_add(time.as_millis().try_into().unwrap(), Ordering::Relaxed),
            ),
            Some(_) => tokio::time::sleep(time).await,
        }
    }

    pub(super) async fn check(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.counters.check(buckets, self.now()).await
    }

    pub(super) async fn peek(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.counters.peek(buckets, self.now()).await
    }

    pub(super) async fn charge(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.counters.charge(buckets, self.now()).await
    }
}

pub(super) fn redis_url() -> Option<String> {
    engine_url("Redis", "BELFRY_TEST_REDIS")
}

/// Keys that no other test has.
pub(super) fn fresh_prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Patient, so that a busy machine does not have calls counted elsewhere.
pub(super) async fn connect(url: &str, prefix: &str) -> Redis {
    let options = Options { prefix: prefix.into(), timeout: Duration::from_secs(5) };
    Redis::connect(url, options, Memory::new(100_000)).await.unwrap()
}

pub(super) fn limit(name: &str, requests: u32, seconds: u64) -> Arc<Limit> {
    Limit::new(name, requests, Duration::from_secs(seconds)).unwrap().into()
}

pub(super) fn account(limit: &Arc<Limit>, id: i64) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Account(id) }
}

pub(super) fn address(limit: &Arc<Limit>, last: u8) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Network(Network::of([192, 0, 2, last].into())) }
}

pub(super) fn remaining(decision: &RateLimitDecision) -> Vec<u32> {
    decision.statuses().iter().map(|status| status.remaining).collect()
}
