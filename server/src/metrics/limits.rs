//! Metrics of the rate limiter.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::register;

/// The metrics of the rate limiter.
#[derive(Debug, Default)]
pub struct LimitMetrics {
    decisions: Family<[(&'static str, String); 2], Counter>,
    nearly_exhausted: Family<[(&'static str, String); 1], Counter>,
    pub(crate) keys: Gauge,
    pub(crate) evicted_keys: Counter,
    pub(crate) local_decisions: Counter,
    pub(crate) redis_up: Gauge,
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
        let limit = ("limit", limit.to_owned());
        let decisions = |outcome: &str| {
            let labels = [limit.clone(), ("outcome", outcome.to_owned())];
            self.decisions.get_or_create_owned(&labels)
        };
        LimitCounters {
            allowed: decisions("allowed"),
            rejected: decisions("rejected"),
            nearly_exhausted: self.nearly_exhausted.get_or_create_owned(&[limit.clone()]),
        }
    }
}
