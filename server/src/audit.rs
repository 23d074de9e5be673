//! Counts of audit events that clients can cause any number of times, collected in memory and
//! stored at intervals.

use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::audit::{Aggregator, CountedSubject, EventCount};
use jiff::Timestamp;

use belfry_store::{Store, StoreError};

/// Maximum number of rows that are written in one transaction.
const MAX_BATCH_ROWS: usize = 100;

/// The counts since the last flush.
#[derive(Debug, Default)]
pub struct AuditCounters {
    aggregator: Mutex<Aggregator>,
}

impl AuditCounters {
    pub fn record(&self, subject: CountedSubject, now: Timestamp) {
        self.lock().record(subject, now);
    }

    /// Stores the counts and logs them. Counts that could not be stored are added to the next
    /// flush.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let mut counts = self.lock().take();
        while !counts.is_empty() {
            let remaining_counts = counts.split_off(counts.len().min(MAX_BATCH_ROWS));
            if let Err(error) = store.add_audit_counts(&counts).await {
                counts.extend(remaining_counts);
                self.lock().restore(counts);
                return Err(error);
            }
            counts.iter().for_each(log_count);
            counts = remaining_counts;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Aggregator> {
        self.aggregator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log_count(events: &EventCount) {
    let CountedSubject { kind, outcome, origin, account, app, address, detail } = &events.subject;
    tracing::info!(
        target: "belfry::audit",
        kind = kind.as_str(),
        outcome = outcome.as_str(),
        account = account.map(tracing::field::display),
        app = app.map(tracing::field::display),
        origin = origin.as_str(),
        address = address.as_deref(),
        detail = detail.as_deref(),
        count = events.count,
        "audit event"
    );
}
