//! Audit events of changes that tests make.

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use jiff::Timestamp;

use crate::audit::AuditFilter;

/// Returns events for a change in a test that does not check them. They are later than all others,
/// so that sweeps do not delete them.
pub fn any_events() -> NewAuditEvents {
    NewAuditEvent::for_server(far_future(), AuditKind::AccountNote).into()
}

pub fn recorded_events() -> AuditFilter<'static> {
    AuditFilter { before: Some(far_future()), ..AuditFilter::default() }
}

fn far_future() -> Timestamp {
    Timestamp::from_second(9_000_000_000).unwrap()
}
