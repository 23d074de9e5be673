//! Metrics for Prometheus. `families` declares them all, and `docs/observability.md` lists them.
//!
//! Values are updated where events happen, and written at each scrape. Those that handlers and
//! background tasks update are in [`Metrics`], the others in the part of the server they describe.

mod authentication;
mod evaluation;
pub mod families;
mod http;
mod limits;
mod process;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use belfry_runtime::metrics::Counter;
use belfry_runtime::metrics::exposition::Exposition;
use jiff::Timestamp;

pub use self::authentication::{AuthenticationMetrics, SignInCounters, TokenCounters};
pub use self::evaluation::{EvaluationFailures, EvaluationMetrics};
pub use self::http::{HttpMetrics, RouteMetrics, method_name};
pub use self::limits::{LimitCounters, LimitMetrics};
use crate::tls::Tls;

/// The metrics that handlers and background tasks update.
pub struct Metrics {
    started_at: Timestamp,
    pub http: HttpMetrics,
    pub limits: LimitMetrics,
    /// Sign-ins and tokens.
    pub authentication: AuthenticationMetrics,
    /// Rows deleted because they expired or exceeded a maximum, by table.
    pub deleted_rows: Vec<(&'static str, Counter)>,
    /// The HTTPS certificate; unset if TLS is not configured.
    pub tls: OnceLock<Tls>,
}

impl Metrics {
    /// Creates the metrics of a process that started at `started_at` and deletes expired rows from
    /// these tables.
    pub fn new(started_at: Timestamp, swept_tables: &[&'static str]) -> Self {
        Self {
            started_at,
            http: HttpMetrics::default(),
            limits: LimitMetrics::default(),
            authentication: AuthenticationMetrics::default(),
            deleted_rows: swept_tables.iter().map(|table| (*table, Counter::default())).collect(),
            tls: OnceLock::new(),
        }
    }

    /// Counts rows that were deleted because they expired or exceeded a maximum.
    pub fn count_deleted_rows(&self, table: &str, rows: usize) {
        let counter = self.deleted_rows.iter().find(|(name, _)| *name == table);
        if let Some((_, counter)) = counter {
            counter.inc_by(rows as u64);
        }
    }

    pub(crate) fn write(&self, out: &mut Exposition) {
        out.family(&families::BUILD_INFO).value(&[env!("CARGO_PKG_VERSION")], 1);
        process::write(out, self.started_at);
        self.http.write(out);
        self.limits.write(out);
        self.authentication.write(out);
        let mut deleted_rows = out.family(&families::DELETED_ROWS);
        for (table, counter) in &self.deleted_rows {
            deleted_rows.value(&[table], counter.get());
        }
        if let Some(tls) = self.tls.get() {
            out.value(&families::TLS_CERTIFICATE_EXPIRY, tls.not_after().as_second());
        }
    }
}
