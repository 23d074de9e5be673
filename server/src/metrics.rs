//! Metrics in the `OpenMetrics` text format, for Prometheus. `docs/operating.md` lists them all.

use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use crate::store::Store;

const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The metrics of this process.
pub struct Metrics {
    registry: Registry,
    requests: [Counter; 5],
    request_duration: Histogram,
    /// Open connections.
    pub connections: Gauge,
    /// Connections closed at once, because their address has too many.
    pub rejected_connections: Counter,
    /// Whether reads may be served from the cache.
    pub cache_enabled: Gauge,
    /// Users whose push rules exceeded the work of an evaluation.
    pub evaluation_work_exceeded: Counter,
    /// Handlers that panicked, which is always a bug.
    pub panics: Counter,
    /// The rate limiter.
    pub limits: LimitMetrics,
    /// Rows deleted by sweeps, by table.
    pub deleted_rows: Family<[(&'static str, &'static str); 1], Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("belfry");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of this binary", build);
        let requests = STATUS_CLASSES.map(|class| {
            let registry = registry.sub_registry_with_label(("status".into(), class.into()));
            register(registry, "http_requests", "HTTP requests by class of the response status")
        });
        // From 100 µs to 3.3 s.
        let request_duration = Histogram::new(exponential_buckets(0.0001, 2.0, 16));
        let help = "Time from the request head to the response head";
        registry.register("http_request_duration_seconds", help, request_duration.clone());
        let deleted_rows: Family<_, _> =
            register(&mut registry, "deleted_rows", "Rows deleted because they expired, by table");
        for table in Store::SWEPT_TABLES {
            drop(deleted_rows.get_or_create(&[("table", table)]));
        }
        let help = "Whether reads may be served from the cache";
        Self {
            requests,
            request_duration,
            connections: register(&mut registry, "http_connections", "Open connections"),
            rejected_connections: register(
                &mut registry,
                "http_connections_rejected",
                "Connections closed at once, because their address has too many",
            ),
            cache_enabled: register(&mut registry, "cache_enabled", help),
            evaluation_work_exceeded: register(
                &mut registry,
                "evaluation_work_exceeded",
                "Users whose push rules exceeded the work of an evaluation",
            ),
            panics: register(&mut registry, "panics", "Handlers that panicked"),
            limits: LimitMetrics::new(&mut registry),
            deleted_rows,
            registry,
        }
    }
}

/// Creates a metric that starts at zero and registers it.
fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    /// Records a response.
    pub fn record_response(&self, status: StatusCode, duration: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.requests.get(class) {
            counter.inc();
        }
        self.request_duration.observe(duration.as_secs_f64());
    }

    /// Adds the metrics of Redis, for a process that is configured to use it.
    pub(crate) fn register_redis(&mut self) {
        let redis_up = self.limits.redis_up.clone();
        self.registry.register("redis_up", "Whether shared counters are used", redis_up);
    }

    /// Adds the number of computed password hashes.
    pub(crate) fn register_password_hashes(&mut self, hashes: Counter) {
        self.registry.register("password_hashes", "Password hashes computed", hashes);
    }

    /// Adds the number of failed reads and writes of the store.
    pub(crate) fn register_store_failures(&mut self, failures: Counter) {
        self.registry.register("store_failures", "Failed reads and writes of the store", failures);
    }

    /// All metrics in the text format.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string never fails");
        text
    }
}

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
    fn new(registry: &mut Registry) -> Self {
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

    /// The counters of a limit, by its name. They continue when the limit is changed.
    pub fn counters(&self, limit: &str) -> LimitCounters {
        let limit = ("limit", limit.to_owned());
        let decisions = |outcome: &str| {
            let labels = [limit.clone(), ("outcome", outcome.to_owned())];
            self.decisions.get_or_create_owned(&labels)
        };
        let labels = [limit.clone()];
        LimitCounters {
            allowed: decisions("allowed"),
            rejected: decisions("rejected"),
            nearly_exhausted: self.nearly_exhausted.get_or_create_owned(&labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_listed_in_the_documentation_with_its_type() {
        let mut metrics = Metrics::default();
        metrics.register_redis();
        metrics.register_password_hashes(Counter::default());
        metrics.register_store_failures(Counter::default());
        let guide = include_str!("../../docs/operating.md");
        let text = metrics.to_text();
        let registered = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let registered: Vec<_> = registered.map(|line| line.split_once(' ').unwrap()).collect();
        assert!(registered.len() > 10, "{text}");
        for (name, kind) in registered {
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            let row = format!("| `{name}{suffix}` | {kind} |");
            assert!(guide.contains(&row), "docs/operating.md must have a row {row}");
        }
    }

    #[test]
    fn durations_are_in_seconds_and_buckets_are_cumulative() {
        let metrics = Metrics::default();
        for microseconds in [99, 100, 101, 399, 3_276_800, 3_276_801] {
            metrics.record_response(StatusCode::OK, Duration::from_micros(microseconds));
        }
        let text = metrics.to_text();
        for line in [
            "belfry_http_requests_total{status=\"2xx\"} 6",
            "belfry_http_request_duration_seconds_count 6",
            "belfry_http_request_duration_seconds_bucket{le=\"0.0001\"} 2",
            "belfry_http_request_duration_seconds_bucket{le=\"0.0002\"} 3",
            "belfry_http_request_duration_seconds_bucket{le=\"0.0004\"} 4",
            "belfry_http_request_duration_seconds_bucket{le=\"1.6384\"} 4",
            "belfry_http_request_duration_seconds_bucket{le=\"3.2768\"} 5",
            "belfry_http_request_duration_seconds_bucket{le=\"+Inf\"} 6",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        let sum = text.lines().find_map(|line| {
            line.strip_prefix("belfry_http_request_duration_seconds_sum ")?.parse::<f64>().ok()
        });
        assert!((sum.unwrap() - 6.5543).abs() < 1e-9, "{text}");
    }
}
