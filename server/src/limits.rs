//! The rate limiter: the active limits, and the engine that counts requests.

mod active;

use std::sync::Arc;

use ::redis::{ConnectionInfo, IntoConnectionInfo, RedisResult};
use arc_swap::{ArcSwap, Guard};
use belfry_core::limits::{Bucket, CountMode, RateLimitDecision};
use belfry_limits::Engine;
use belfry_limits::memory::MemoryCounters;
use belfry_limits::redis::{self, RedisCounters};
use belfry_store::SecretUrl;
use jiff::Timestamp;

pub use self::active::ActiveLimits;
use crate::config::Config;
use crate::metrics::LimitMetrics;

/// Maximum number of keys counted in this process, at about 50 bytes each.
const MAX_KEYS: usize = 2_000_000;

pub const REDIS_PREFIX: &str = "belfry";

/// Returns the connection settings of each configured Redis server, including the root certificate.
/// Empty if Redis is not configured.
///
/// # Errors
/// If a URL is invalid or the certificate cannot be used.
pub fn redis_servers(config: &Config) -> RedisResult<Vec<ConnectionInfo>> {
    let urls = config.redis.iter().flat_map(SecretUrl::reveal_each);
    let parse_server = |url: String| match &config.limits.redis_root_certificate {
        None => url.into_connection_info(),
        Some(file) => redis::connection_info_with_root_certificate(&url, file),
    };
    urls.map(parse_server).collect()
}

/// The rate limiter of this process. Its limits can be replaced while the server runs.
pub struct RateLimiter {
    pub engine: Engine,
    active_limits: ArcSwap<ActiveLimits>,
}

impl RateLimiter {
    /// Starts the configured engine.
    ///
    /// An unreachable Redis is not an error: requests are counted locally until it responds.
    ///
    /// # Errors
    /// If a Redis URL is invalid or the certificate cannot be used.
    pub async fn open(config: &Config, metrics: &LimitMetrics) -> RedisResult<Self> {
        let servers = redis_servers(config)?;
        let redis = if servers.is_empty() {
            None
        } else {
            let timeout = config.limits.redis_timeout;
            Some(RedisCounters::connect(servers, REDIS_PREFIX, timeout).await)
        };
        let engine = Engine::new(MemoryCounters::new(MAX_KEYS), redis);
        let active_limits = ArcSwap::from_pointee(ActiveLimits::new(config, metrics));
        Ok(Self { engine, active_limits })
    }

    pub fn active(&self) -> Guard<Arc<ActiveLimits>> {
        self.active_limits.load()
    }

    /// Activates the limits of a configuration. Counts are preserved, because they are stored under
    /// the names of the limits.
    pub fn replace(&self, config: &Config, metrics: &LimitMetrics) {
        self.active_limits.store(Arc::new(ActiveLimits::new(config, metrics)));
    }

    /// Checks, counts or refunds a request in all its buckets, and records the decision in the
    /// metrics.
    pub async fn check(
        &self,
        active_limits: &ActiveLimits,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        if buckets.is_empty() {
            return RateLimitDecision::default();
        }
        let decision = self.engine.check(mode, buckets, now).await;
        active_limits.record(mode, &decision);
        decision
    }
}
