//! Metrics of the requests to Redis.

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Histogram};
use smart_default::SmartDefault;

#[derive(Debug, SmartDefault)]
pub struct RedisMetrics {
    /// Response times of successful requests.
    #[default(Histogram::durations())]
    pub durations: Histogram,
    /// Requests that timed out.
    pub timeouts: Counter,
    /// Requests that failed: an error response, a broken connection, or redirects until the
    /// deadline.
    pub errors: Counter,
}

impl RedisMetrics {
    pub(crate) fn write(&self, out: &mut Exposition) {
        out.histogram(&families::REDIS_REQUEST_DURATION, &self.durations);
        let mut failures = out.family(&families::REDIS_FAILURES);
        failures.value(&["timeout"], self.timeouts.get());
        failures.value(&["error"], self.errors.get());
    }
}

pub mod families {
    belfry_runtime::families! {
        RATE_LIMIT_KEYS = Gauge "belfry_rate_limit_keys" [] "Keys in process memory";
        RATE_LIMIT_EVICTED_KEYS = Counter "belfry_rate_limit_evicted_keys_total" []
            "Keys evicted before their window ended, for lack of space";
        RATE_LIMIT_LOCAL_DECISIONS = Counter "belfry_rate_limit_local_decisions_total" []
            "Decisions made locally because Redis or one of its shards was unavailable";
        REDIS_UP = Gauge "belfry_redis_up" [] "1 if Redis and all its shards are available, otherwise 0";
        REDIS_REQUEST_DURATION = Histogram "belfry_redis_request_duration_seconds" []
            "Time until Redis responded";
        REDIS_FAILURES = Counter "belfry_redis_failures_total" ["reason"]
            "Failed requests to Redis";
    }
}
