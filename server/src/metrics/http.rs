//! Metrics of connections and requests.

use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Gauge, Histogram};

use super::families;

#[derive(Debug, Default)]
pub struct HttpMetrics {
    routes: Mutex<Vec<Arc<RouteMetrics>>>,
    pub connections: Gauge,
    /// Connections closed immediately, because their address has too many.
    pub rejected_connections: Counter,
    /// Handlers that panicked, which is always a bug.
    pub panics: Counter,
}

impl HttpMetrics {
    /// Returns the metrics of a route, creating them if missing. Called at startup, not for each
    /// request.
    pub fn route(&self, pattern: &'static str) -> Arc<RouteMetrics> {
        let mut routes = self.lock_routes();
        if let Some(route) = routes.iter().find(|route| route.pattern == pattern) {
            return Arc::clone(route);
        }
        let route = Arc::new(RouteMetrics { pattern, series: Default::default() });
        routes.push(Arc::clone(&route));
        route
    }

    pub(super) fn write(&self, out: &mut Exposition) {
        let routes = self.lock_routes();
        let all_series = || routes.iter().flat_map(|route| route.series());
        let mut requests = out.family(&families::HTTP_REQUESTS);
        for (route, method, series) in all_series() {
            for (status, count) in series.statuses() {
                requests.value(&[route, method, &status.to_string()], count);
            }
        }
        let mut durations = out.family(&families::HTTP_REQUEST_DURATION);
        for (route, method, series) in all_series() {
            durations.histogram(&[route, method], &series.durations);
        }
        drop(routes);
        out.value(&families::HTTP_CONNECTIONS, self.connections.get());
        out.value(&families::HTTP_CONNECTIONS_REJECTED, self.rejected_connections.get());
        out.value(&families::PANICS, self.panics.get());
    }

    fn lock_routes(&self) -> MutexGuard<'_, Vec<Arc<RouteMetrics>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "other"];

/// Returns the name of a method for logs and metrics: `other` for nonstandard methods, which
/// clients can invent.
pub fn method_name(method: &Method) -> &'static str {
    METHODS.into_iter().find(|name| *name == method.as_str()).unwrap_or("other")
}

#[derive(Debug)]
pub struct RouteMetrics {
    pub(crate) pattern: &'static str,
    /// The series of each of [`METHODS`], created when the method is first used.
    series: [OnceLock<Box<RequestSeries>>; METHODS.len()],
}

impl RouteMetrics {
    pub fn record(&self, method: &str, status: StatusCode, duration: Duration) {
        let method_index = METHODS.iter().position(|name| *name == method);
        let series =
            self.series[method_index.unwrap_or(METHODS.len() - 1)].get_or_init(Box::default);
        series.durations.observe_duration(duration);
        series.count_status(status.as_u16());
    }

    fn series(&self) -> impl Iterator<Item = (&str, &str, &RequestSeries)> {
        let series = METHODS.iter().zip(&self.series);
        series.filter_map(|(method, series)| Some((self.pattern, *method, &**series.get()?)))
    }
}

/// The responses of one route to one method.
#[derive(Debug)]
struct RequestSeries {
    /// Status codes with their counts, in the order in which they first occurred. A code of 0 marks
    /// a free slot. No handler uses more status codes than there are slots.
    statuses: [(AtomicU16, Counter); 16],
    durations: Histogram,
}

impl Default for RequestSeries {
    fn default() -> Self {
        Self { statuses: Default::default(), durations: Histogram::durations() }
    }
}

impl RequestSeries {
    fn count_status(&self, status: u16) {
        let slot = self.statuses.iter().find(|(code, _)| {
            code.load(Relaxed) == status
                || match code.compare_exchange(0, status, Relaxed, Relaxed) {
                    Ok(_) => true,
                    // Another thread has just taken the slot, perhaps for the same status.
                    Err(current_code) => current_code == status,
                }
        });
        if let Some((_, count)) = slot {
            count.inc();
        }
    }

    fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        let counts = self.statuses.iter().map(|(code, count)| (code.load(Relaxed), count.get()));
        counts.filter(|(_, count)| *count > 0)
    }
}
