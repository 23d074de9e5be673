//! The rate-limit engine under test, and its clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use belfry_core::limits::{Bucket, CountMode, Limit, LimitKey, Network, RateLimitDecision};
use belfry_limits::Engine;
use belfry_limits::memory::MemoryCounters;
use belfry_limits::redis::RedisCounters;
use jiff::{SignedDuration, Timestamp};
use redis::aio::MultiplexedConnection;
use redis::{AsyncTypedCommands, IntoConnectionInfo, RedisError};
use test_engines::shared::{redis_url, shared_cluster};

/// An engine with a clock, and with access to its counters for more nodes.
pub(super) struct TestEngine {
    pub(super) engine: Arc<Engine>,
    /// The counters in Redis; `None` for the memory engine.
    redis: Option<SharedCounters>,
    started_at: Instant,
    /// Time by which the clock was advanced.
    skipped_ms: AtomicI64,
}

struct SharedCounters {
    url: String,
    servers: Vec<String>,
    prefix: String,
}

impl TestEngine {
    pub(super) fn memory() -> Self {
        Self::new(Engine::new(MemoryCounters::new(100_000), None), None)
    }

    /// Returns `None` where Redis tests are skipped.
    pub(super) async fn redis() -> Option<Self> {
        let url = redis_url()?;
        Some(Self::with_shared_counters(url.clone(), vec![url]).await)
    }

    /// Returns `None` where Redis tests are skipped.
    pub(super) async fn cluster() -> Option<Self> {
        let cluster = shared_cluster()?;
        let primaries = cluster.primaries().unwrap().into_iter();
        let servers = primaries.map(|number| cluster.node_url(number)).collect();
        Some(Self::with_shared_counters(cluster.url(), servers).await)
    }

    async fn with_shared_counters(url: String, servers: Vec<String>) -> Self {
        let prefix = fresh_prefix();
        let engine = connect_engine(&url, &prefix).await;
        Self::new(engine, Some(SharedCounters { url, servers, prefix }))
    }

    fn new(engine: Engine, redis: Option<SharedCounters>) -> Self {
        let engine = Arc::new(engine);
        Self { engine, redis, started_at: Instant::now(), skipped_ms: AtomicI64::new(0) }
    }

    /// Returns the engine of a second node with the same counters; for memory, the same engine.
    pub(super) async fn second_node(&self) -> Arc<Engine> {
        match &self.redis {
            None => Arc::clone(&self.engine),
            Some(redis) => Arc::new(connect_engine(&redis.url, &redis.prefix).await),
        }
    }

    /// Returns the current time, simulated for memory and real for Redis, plus the time that was
    /// skipped.
    pub(super) fn now(&self) -> Timestamp {
        let skipped = SignedDuration::from_millis(self.skipped_ms.load(Ordering::Relaxed));
        let elapsed = match &self.redis {
            None => SignedDuration::ZERO,
            Some(_) => self.started_at.elapsed().try_into().unwrap(),
        };
        Timestamp::from_second(1_800_000_000).unwrap() + elapsed + skipped
    }

    /// Advances the clock. Redis uses its own clock, so its windows are shortened instead.
    pub(super) async fn advance(&self, seconds: i64) {
        let milliseconds = seconds * 1000;
        self.skipped_ms.fetch_add(milliseconds, Ordering::Relaxed);
        let Some(SharedCounters { servers, prefix, .. }) = &self.redis else { return };
        for server in servers {
            let mut redis = raw_connection(server).await;
            for key in redis.keys(format!("{prefix}:*")).await.unwrap() {
                let ttl_ms = i64::try_from(redis.pttl(&key).await.unwrap().raw()).unwrap();
                assert!(ttl_ms > 0, "{key} does not expire");
                redis.pexpire(&key, ttl_ms - milliseconds).await.unwrap();
            }
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

/// Connects to Redis for commands that a test sends itself.
pub(super) async fn raw_connection(url: &str) -> MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// Returns a prefix that no other test uses.
pub(super) fn fresh_prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Connects with a long timeout, so that no request is counted locally on a busy machine.
pub(super) async fn connect_engine(url: &str, prefix: &str) -> Engine {
    open_engine(url, prefix, Duration::from_secs(5)).await.unwrap()
}

/// Creates an engine with shared counters.
pub(super) async fn open_engine(
    url: &str,
    prefix: &str,
    timeout: Duration,
) -> Result<Engine, RedisError> {
    let (scheme, hosts) = url.split_once("://").unwrap();
    let urls = hosts.split(',').map(|host| format!("{scheme}://{host}"));
    let servers = urls.map(String::into_connection_info).collect::<Result<_, _>>()?;
    let local = MemoryCounters::new(100_000);
    Ok(Engine::new(local, Some(RedisCounters::connect(servers, prefix, timeout).await)))
}

pub(super) fn limit(name: &str, requests: u32, seconds: u64) -> Arc<Limit> {
    Limit::new(name, requests, Duration::from_secs(seconds)).unwrap().into()
}

pub(super) fn account_bucket(limit: &Arc<Limit>, id: i64) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Account(id) }
}

pub(super) fn address_bucket(limit: &Arc<Limit>, last_octet: u8) -> Bucket<'_> {
    Bucket { limit, key: LimitKey::Network(Network::from_address([192, 0, 2, last_octet].into())) }
}

pub(super) fn remaining(decision: &RateLimitDecision) -> Vec<u32> {
    decision.statuses().iter().map(|status| status.remaining).collect()
}
