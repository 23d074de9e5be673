//! The owners of new tokens, sessions and deliveries, each of which may have a limited number of
//! these rows.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of owners that are collected. Others are collected when they get their next row.
const MAX_OWNERS: usize = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowOwner {
    App(i64),
    Access { account: i64, app: i64 },
    Account(i64),
    Deliveries(i64),
}

/// The owners that got a row on this node since their rows were last counted.
#[derive(Debug, Default)]
pub(crate) struct NewRows(Mutex<BTreeSet<RowOwner>>);

impl NewRows {
    pub(crate) fn record(&self, owner: RowOwner) {
        let mut owners = self.lock();
        if owners.len() < MAX_OWNERS {
            owners.insert(owner);
        }
    }

    /// Returns the owners that got a row since the last call.
    pub(crate) fn take(&self) -> BTreeSet<RowOwner> {
        std::mem::take(&mut self.lock())
    }

    /// Puts back owners whose rows could not be counted.
    pub(crate) fn restore(&self, mut owners: BTreeSet<RowOwner>) {
        self.lock().append(&mut owners);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RowOwner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
