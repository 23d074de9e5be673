//! Audit events of changes that a test makes itself.

use belfry_core::audit::{AuditEntry, AuditKind, Events};
use jiff::Timestamp;

use crate::AuditFilter;

/// Returns the event of a change that the test is not about. It is later than all others, so that
/// sweeps do not delete it.
pub fn any_events() -> Events {
    AuditEntry::from_server(far_future(), AuditKind::AccountNote).into()
}

/// Returns all events except [`any_events`].
pub fn recorded_events() -> AuditFilter<'static> {
    AuditFilter { before: Some(far_future()), ..AuditFilter::default() }
}

fn far_future() -> Timestamp {
    Timestamp::from_second(9_000_000_000).unwrap()
}
