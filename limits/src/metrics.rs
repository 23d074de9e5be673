//! Metrics of the requests to Redis.

pub mod families;

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Histogram};

/// Metrics of the requests to Redis.
#[derive(Debug)]
pub struct RedisMetrics {
    /// Response times of successful requests.
    pub durations: Histogram,
    /// Requests that timed out.
    pub timeouts: Counter,
    /// Requests that failed: an error response, a broken connection, or redirects until the
    /// deadline.
    pub errors: Counter,
}

impl Default for RedisMetrics {
    fn default() -> Self {
        let (timeouts, errors) = Default::default();
        Self { durations: Histogram::durations(), timeouts, errors }
    }
}

impl RedisMetrics {
    pub(crate) fn write(&self, out: &mut Exposition) {
        out.histogram(&families::REDIS_REQUEST_DURATION, &self.durations);
        let mut failures = out.family(&families::REDIS_FAILURES);
        failures.value(&["timeout"], self.timeouts.get());
        failures.value(&["error"], self.errors.get());
    }
}
