//! Metrics of the rate limiter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belfry_runtime::metrics::Counter;
use belfry_runtime::metrics::exposition::Exposition;

use super::families;

#[derive(Debug, Default)]
pub struct LimitMetrics(Mutex<BTreeMap<String, Arc<LimitCounters>>>);

#[derive(Debug, Default)]
pub struct LimitCounters {
    pub allowed: Counter,
    /// Requests over this limit, including those that shadow mode admits.
    pub rejected: Counter,
    /// Requests that were admitted with at least 80% of the limit used.
    pub nearly_exhausted: Counter,
}

impl LimitMetrics {
    /// Returns the counters of the limit with this name. A change of the limit does not reset them.
    pub fn counters(&self, limit: &str) -> Arc<LimitCounters> {
        Arc::clone(self.lock().entry(limit.to_owned()).or_default())
    }

    pub(super) fn write(&self, out: &mut Exposition) {
        let limits = self.lock();
        let mut decisions = out.family(&families::RATE_LIMIT_DECISIONS);
        for (limit, counters) in &*limits {
            decisions.value(&[limit, "allowed"], counters.allowed.get());
            decisions.value(&[limit, "rejected"], counters.rejected.get());
        }
        let mut nearly_exhausted = out.family(&families::RATE_LIMIT_NEARLY_EXHAUSTED);
        for (limit, counters) in &*limits {
            nearly_exhausted.value(&[limit], counters.nearly_exhausted.get());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<LimitCounters>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
