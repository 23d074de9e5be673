//! Counts of audit events that anonymous clients can cause without limit. They are collected in
//! memory and stored at intervals.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::audit::{AddressPolicy, AggregatedEvent, Aggregator, Subject};
use jiff::Timestamp;

use belfry_store::{Store, StoreError};

/// Number of rows that are written in one transaction.
const BATCH: usize = 100;

/// The counts since the last flush.
#[derive(Debug)]
pub struct AuditCounters {
    aggregator: Mutex<Aggregator>,
    addresses: AddressPolicy,
}

impl AuditCounters {
    /// Creates empty counters. The policy decides which part of an address is recorded.
    pub fn new(addresses: AddressPolicy) -> Self {
        Self { aggregator: Mutex::default(), addresses }
    }

    /// Returns the part of a client's address that is recorded.
    pub fn address(&self, address: IpAddr) -> Option<String> {
        self.addresses.apply(address)
    }

    /// Returns the part of a client's address that is recorded with a session.
    pub fn session_address(&self, address: IpAddr) -> Option<String> {
        self.addresses.apply_to_session(address)
    }

    /// Counts one event.
    pub fn record(&self, subject: Subject, now: Timestamp) {
        self.lock().record(subject, now);
    }

    /// Stores the counts and logs them. Counts that could not be stored are added to the next
    /// flush.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let mut events = self.lock().take();
        while !events.is_empty() {
            let rest = events.split_off(events.len().min(BATCH));
            if let Err(error) = store.add_audit_counts(&events).await {
                events.extend(rest);
                self.lock().restore(events);
                return Err(error);
            }
            events.iter().for_each(log);
            events = rest;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Aggregator> {
        self.aggregator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log(event: &AggregatedEvent) {
    let Subject { kind, outcome, origin, account, app, address, detail } = &event.subject;
    tracing::info!(
        target: "belfry::audit",
        kind = kind.as_str(),
        outcome = outcome.as_str(),
        account,
        app,
        origin = origin.as_str(),
        address = address.as_deref(),
        detail = detail.as_deref(),
        count = event.count,
        "audit event"
    );
}
