//! Logs the end of a database outage.

use std::sync::atomic::{AtomicU8, Ordering};

use belfry_runtime::log_throttled;

use crate::error::StoreError;

/// The operations that were unavailable at their last attempt.
#[derive(Default)]
pub(crate) struct Outage {
    unavailable: AtomicU8,
}

/// A kind of operation. Each has its own bit, because on a full disk reads succeed while writes
/// fail.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Read = 1,
    Write = 2,
}

impl Outage {
    /// Records the outcome of an operation. Logs the end of an outage when all operations are
    /// available again.
    pub(crate) fn record(&self, operation: Operation, error: Option<&StoreError>) {
        if self.update_state(operation, error) {
            log_throttled!(info, "database available again");
        }
    }

    /// Updates the state, and returns whether that ended an outage.
    fn update_state(&self, operation: Operation, error: Option<&StoreError>) -> bool {
        let bit = operation as u8;
        if let Some(StoreError::Unavailable(_)) = error {
            self.unavailable.fetch_or(bit, Ordering::Relaxed);
            return false;
        }
        // The usual case costs only a load.
        self.unavailable.load(Ordering::Relaxed) & bit != 0
            && self.unavailable.fetch_and(!bit, Ordering::Relaxed) == bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_when_every_operation_succeeds_again() {
        use Operation::{Read, Write};
        let outage = Outage::default();
        let unavailable = StoreError::Unavailable("no disk space".to_owned());
        let failed = StoreError::Failed("syntax error".to_owned());
        for (operation, error, has_ended) in [
            (Read, None, false),
            (Write, Some(&unavailable), false),
            (Read, None, false),
            (Read, Some(&unavailable), false),
            (Read, None, false),
            (Write, None, true),
            (Write, None, false),
            (Read, Some(&unavailable), false),
            // An error of a statement shows that the database has responded.
            (Read, Some(&failed), true),
            (Read, None, false),
        ] {
            assert_eq!(outage.update_state(operation, error), has_ended, "{operation:?} {error:?}");
        }
    }
}
