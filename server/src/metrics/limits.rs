//! Metrics of the rate limiter.

use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::register;

/// The metrics of the rate limiter.
#[derive(Debug, Default)]
pub struct LimitMetrics {
    decisions: Family<DecisionLabels, Counter>,
    nearly_exhausted: Family<LimitLabels, Counter>,
    keys: Gauge,
    evicted_keys: Counter,
    local_decisions: Counter,
    pub(super) redis_up: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    limit: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: String,
}

/// The counters of one limit.
#[derive(Debug, Clone)]
pub struct LimitCounters {
    /// Requests that were admitted and counted.
    pub allowed: Counter,
    /// Requests that this limit rejected.
    pub rejected: Counter,
    /// Requests that were admitted with at least 80 % of the limit used.
    pub nearly_exhausted: Counter,
}

impl LimitMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            decisions: register(registry, "rate_limit_decisions", "Decisions of rate limits"),
            nearly_exhausted: register(
                registry,
                "rate_limit_nearly_exhausted",
                "Requests admitted with at least 80 % of the limit used",
            ),
            keys: register(registry, "rate_limit_keys", "Keys in process memory"),
            evicted_keys: register(
                registry,
                "rate_limit_evicted_keys",
                "Keys evicted before their window ended, for lack of space",
            ),
            local_decisions: register(
                registry,
                "rate_limit_local_decisions",
                "Decisions made locally because Redis was unavailable",
            ),
            // Registered only in a process that uses Redis.
            redis_up: Gauge::default(),
        }
    }

    /// The counters of a limit. They outlive a change of its numbers.
    #[must_use]
    pub fn counters(&self, limit: &str) -> LimitCounters {
        let decisions = |outcome| {
            let labels = DecisionLabels { limit: limit.to_owned(), outcome };
            self.decisions.get_or_create(&labels).clone()
        };
        let labels = LimitLabels { limit: limit.to_owned() };
        LimitCounters {
            allowed: decisions("allowed"),
            rejected: decisions("rejected"),
            nearly_exhausted: self.nearly_exhausted.get_or_create(&labels).clone(),
        }
    }

    /// Sets the number of keys, and the number of those evicted so far.
    pub fn set_keys(&self, keys: usize, evicted: u64) {
        self.keys.set(i64::try_from(keys).unwrap_or(i64::MAX));
        self.evicted_keys.inner().store(evicted, Relaxed);
    }

    /// Sets whether Redis is used, and the number of decisions made without it so far.
    pub fn set_redis(&self, is_up: bool, local_decisions: u64) {
        self.redis_up.set(is_up.into());
        self.local_decisions.inner().store(local_decisions, Relaxed);
    }
}
