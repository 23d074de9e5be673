//! The limits in force: a table and what goes with it, the counters behind, and how the table is
//! replaced while the service runs.

mod active;
mod counters;
pub mod memory;
pub mod redis;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use belfry_core::limits::{Bucket, CountMode, RateLimitDecision};
use jiff::Timestamp;

pub use self::active::ActiveLimits;
pub use self::counters::{Counters, Place, State};
use self::memory::Memory;
use self::redis::{Options, Redis};
use crate::config::Config;
use crate::metrics::Metrics;

/// What decides how often.
pub struct Limits {
    engine: Engine,
    active: ArcSwap<ActiveLimits>,
}

/// Where calls are counted.
enum Engine {
    Memory(Memory),
    Redis(Box<Redis>),
}

/// Why calls cannot be counted as configured.
#[derive(Debug, thiserror::Error)]
#[error("redis: {0}")]
pub struct LimitsError(#[from] ::redis::RedisError);

impl Limits {
    /// Counts where the settings say: in Redis, or in this process.
    ///
    /// A Redis that does not answer is no error: until it does, this process counts alone.
    ///
    /// # Errors
    /// When the address or the prefix of Redis cannot be used.
    pub async fn open(config: &Config, metrics: &mut Metrics) -> Result<Self, LimitsError> {
        let local = Memory::new(config.limits.max_keys);
        let engine = match &config.redis {
            None => Engine::Memory(local),
            Some(url) => {
                metrics.limits.redis_up = Some(metrics.add_redis());
                let options = Options {
                    prefix: config.limits.redis_prefix.clone(),
                    timeout: config.limits.redis_timeout,
                };
                Engine::Redis(Redis::connect(url.reveal(), options, local).await?.into())
            }
        };
        let active = ArcSwap::from_pointee(ActiveLimits::new(config, &metrics.limits));
        Ok(Self { engine, active })
    }

    /// What is in force at this moment.
    #[must_use]
    pub fn active(&self) -> Guard<Arc<ActiveLimits>> {
        self.active.load()
    }

    /// Puts what these settings say in force, and tells what that changes. Counts stay: they are
    /// kept under the names of the limits.
    pub fn replace(&self, config: &Config, metrics: &Metrics) -> Vec<String> {
        let new = Arc::new(ActiveLimits::new(config, &metrics.limits));
        let changes = new.changes_since(&self.active());
        self.active.store(new);
        changes
    }

    /// Judges claims together, by what was in force when they were made, and counts the outcome.
    pub async fn judge(
        &self,
        active: &ActiveLimits,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        match &self.engine {
            Engine::Memory(memory) => Here(memory).judge(active, mode, buckets, now),
            Engine::Redis(_) if buckets.is_empty() => RateLimitDecision::default(),
            Engine::Redis(redis) => {
                let decision = redis.count(mode, buckets, now).await;
                active.tally(mode, &decision);
                decision
            }
        }
    }

    /// The counters of this process, where no others are asked.
    #[must_use]
    pub fn here(&self) -> Option<Here<'_>> {
        match &self.engine {
            Engine::Memory(memory) => Some(Here(memory)),
            Engine::Redis(_) => None,
        }
    }

    /// Gives back the memory of windows that have ended; to be called now and then.
    pub fn sweep(&self, now: Timestamp) {
        self.counters().sweep(now);
    }

    /// How counting fares.
    #[must_use]
    pub fn state(&self) -> State {
        self.counters().state()
    }

    fn counters(&self) -> &dyn Counters {
        match &self.engine {
            Engine::Memory(memory) => memory,
            Engine::Redis(redis) => &**redis,
        }
    }
}

/// The counters of this process, which need not be waited for: a future less is on the way of every
/// call.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a>(&'a Memory);

impl Here<'_> {
    /// Judges as [`Limits::judge`] does.
    #[must_use]
    pub fn judge(
        self,
        active: &ActiveLimits,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        if buckets.is_empty() {
            return RateLimitDecision::default();
        }
        let decision = self.0.judge(mode, buckets, now);
        active.tally(mode, &decision);
        decision
    }
}
