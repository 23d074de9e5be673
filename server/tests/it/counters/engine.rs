//! A rate limit engine under test, and the clock it uses.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use belfry::limits::Engine;
use belfry::limits::memory::MemoryCounters;
use belfry::limits::redis::RedisCounters;
use belfry::store::SecretUrl;
use belfry_core::limits::{Bucket, CountMode, Limit, LimitKey, Network, RateLimitDecision};
use jiff::{SignedDuration, Timestamp};
use redis::{ErrorKind, IntoConnectionInfo, RedisError};
use test_engines::RedisCluster;

use crate::support::databases::engine_url;

/// Longer than any pause of a busy machine, so that no node of a cluster is replaced unless a test
/// does it.
const NODE_TIMEOUT: Duration = Duration::from_mins(10);

/// An engine, further nodes with the same counters, and a clock.
pub(super) struct TestEngine {
    pub(super) engine: Arc<Engine>,
    /// The URL of Redis and the prefix of the keys; `None` for memory.
    redis: Option<(String, String)>,
    started: Instant,
    skipped: AtomicI64,
}

impl TestEngine {
    pub(super) fn memory() -> Self {
        Self::new(Engine::new(MemoryCounters::new(100_000), None), None)
    }

    /// `None` where tests of Redis are not run.
    pub(super) async fn redis() -> Option<Self> {
        let url = redis_url()?;
        let prefix = fresh_prefix();
        let engine = connect(&url, &prefix).await;
        Some(Self::new(engine, Some((url, prefix))))
    }

    /// `None` where tests of Redis are not run.
    pub(super) async fn cluster() -> Option<Self> {
        let url = shared_cluster()?.url();
        let prefix = fresh_prefix();
        let engine = connect(&url, &prefix).await;
        Some(Self::new(engine, Some((url, prefix))))
    }

    fn new(engine: Engine, redis: Option<(String, String)>) -> Self {
        let engine = Arc::new(engine);
        Self { engine, redis, started: Instant::now(), skipped: AtomicI64::new(0) }
    }

    /// The engine of another node with the same counters. Memory has only one node.
    pub(super) async fn another_node(&self) -> Arc<Engine> {
        match &self.redis {
            None => Arc::clone(&self.engine),
            Some((url, prefix)) => Arc::new(connect(url, prefix).await),
        }
    }

    /// The current time: simulated for memory, real for Redis, which has its own clock.
    pub(super) fn now(&self) -> Timestamp {
        let elapsed = match &self.redis {
            None => SignedDuration::from_millis(self.skipped.load(Ordering::Relaxed)),
            Some(_) => self.started.elapsed().try_into().unwrap(),
        };
        Timestamp::from_second(1_800_000_000).unwrap() + elapsed
    }

    pub(super) async fn advance(&self, time: Duration) {
        match &self.redis {
            None => drop(
                self.skipped.fetch_add(time.as_millis().try_into().unwrap(), Ordering::Relaxed),
            ),
            Some(_) => tokio::time::sleep(time).await,
        }
    }

    pub(super) async fn check(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.engine.check(CountMode::Check, buckets, self.now()).await
    }

    pub(super) async fn peek(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.engine.check(CountMode::Peek, buckets, self.now()).await
    }

    pub(super) async fn charge(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.engine.check(CountMode::Charge, buckets, self.now()).await
    }

    pub(super) async fn refund(&self, buckets: &[Bucket<'_>]) -> RateLimitDecision {
        self.engine.check(CountMode::Refund, buckets, self.now()).await
    }
}

pub(super) fn redis_url() -> Option<String> {
    engine_url("Redis", "BELFRY_TEST_REDIS")
}

/// A cluster that all tests share, which must not stop any of its nodes. `None` where tests of Redis
/// are not run.
pub(crate) fn shared_cluster() -> Option<&'static RedisCluster> {
    static CLUSTER: LazyLock<RedisCluster> =
        LazyLock::new(|| RedisCluster::start(NODE_TIMEOUT).unwrap());
    redis_url().map(|_| &*CLUSTER)
}

/// A cluster whose nodes the test may stop. `None` where tests of Redis are not run.
pub(crate) fn own_cluster() -> Option<RedisCluster> {
    redis_url().map(|_| RedisCluster::start(NODE_TIMEOUT).unwrap())
}

/// A prefix that no other test uses.
pub(super) fn fresh_prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Connects with a long timeout, so that no request is counted locally on a busy machine.
pub(super) async fn connect(url: &str, prefix: &str) -> Engine {
    open(url, prefix, Duration::from_secs(5)).await.unwrap()
}

/// Opens shared counters with these settings.
pub(super) async fn open(url: &str, prefix: &str, timeout: Duration) -> Result<Engine, RedisError> {
    let invalid = |error| RedisError::from((ErrorKind::InvalidClientConfig, "URL", error));
    let urls = url.parse::<SecretUrl>().map_err(invalid)?.reveal_each();
    let servers = urls.into_iter().map(String::into_connection_info).collect::<Result<_, _>>()?;
    let local = MemoryCounters::new(100_000);
    Ok(Engine::new(local, Some(RedisCounters::connect(servers, prefix, timeout).await?)))
}

pub(super) fn limit(name: &str, requests: u32, seconds: u64) -> Arc<Limit> {
    Limit::new(name, requests, Duration::from_secs(seconds)).unwrap().into()
}

pub(super) fn account(limit: &Arc<Limit>, id: i64) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Account(id) }
}

pub(super) fn address(limit: &Arc<Limit>, last: u8) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Network(Network::from_address([192, 0, 2, last].into())) }
}

pub(super) fn remaining(decision: &RateLimitDecision) -> Vec<u32> {
    decision.statuses().iter().map(|status| status.remaining).collect()
}
