//! What is counted, in the Prometheus text format.

mod limits;
mod striped;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use self::limits::{LimitMetrics, Tally};
use self::striped::{Count, Times};

/// The counters of this process.
pub struct Metrics {
    registry: Registry,
    answers: [Counter<u64, Count>; 5],
    seconds: Times,
    /// Connections that are open.
    pub connections: Gauge,
    /// Whether reads may be answered from memory.
    pub cache_in_use: Gauge,
    /// Handlers that panicked, which is always a mistake of ours.
    pub panics: Counter<u64, AtomicU64>,
    /// Limits, each by its name.
    pub limits: LimitMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        let answers: [Counter<u64, Count>; 5] = Default::default();
        let seconds = Times::default();
        let (connections, cache_in_use) = (Gauge::default(), Gauge::default());
        let panics = Counter::default();

        let mut registry = Registry::with_prefix("belfry");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Which belfry this is", build);
        for (class, counter) in ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(&answers) {
            registry.sub_registry_with_label(("status".into(), class.into())).register(
                "http_answers",
                "Answers by class of status",
                counter.clone(),
            );
        }
        registry.register("http_answer_seconds", "Time to an answer", seconds.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("cache_in_use", "Whether memory answers reads", cache_in_use.clone());
        registry.register("panics", "Handlers that panicked", panics.clone());
        let limits = LimitMetrics::default();
        limits.register(&mut registry);
        Self { registry, answers, seconds, connections, cache_in_use, panics, limits }
    }
}

impl Metrics {
    /// Counts an answer.
    pub fn answered(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.answers.get(class) {
            counter.inc();
        }
        self.seconds.observe(took);
    }

    /// Says from now on whether Redis counts.
    pub(crate) fn add_redis(&mut self) -> Gauge {
        let up = Gauge::default();
        self.registry.register("redis_up", "Whether Redis counts for this process", up.clone());
        up
    }

    /// Tells from now on how many passwords were hashed.
    pub(crate) fn add_passwords(&mut self, made: Counter) {
        self.registry.register("password_hashes", "Passwords hashed, to keep or to compare", made);
    }

    /// Registers the number of failed reads and writes of the store.
    pub(crate) fn add_store_failures(&mut self, failures: Counter) {
        self.registry.register("store_failures", "Failed reads and writes of the store", failures);
    }

    /// All of it, as Prometheus reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes whatever is written");
        text
    }
}
