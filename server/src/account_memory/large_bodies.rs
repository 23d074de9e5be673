//! Large request bodies of users, one at a time for each account.
//!
//! A body stays in memory until it is complete and processed, and a client decides how fast it
//! arrives. Without a bound, an account could send as many as its rate limits allow.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The accounts that are sending a large body.
#[derive(Debug, Clone, Default)]
pub struct LargeBodies(Arc<Mutex<HashSet<i64>>>);

/// A large body in progress. Another one of the account is rejected until it is dropped.
#[derive(Debug)]
pub struct LargeBody {
    account: i64,
    bodies: LargeBodies,
}

/// The account is sending another large body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another large body of this account is in progress")]
pub struct LargeBodyInProgress;

impl LargeBodies {
    /// Begins to receive a large body of an account.
    pub fn begin(&self, account: i64) -> Result<LargeBody, LargeBodyInProgress> {
        if !self.lock().insert(account) {
            return Err(LargeBodyInProgress);
        }
        Ok(LargeBody { account, bodies: self.clone() })
    }

    /// Locks the set. A poisoned lock is used as well, because no panic can interrupt a change of
    /// the set.
    fn lock(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LargeBody {
    fn drop(&mut self) {
        self.bodies.lock().remove(&self.account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_one_large_body_at_a_time() {
        let bodies = LargeBodies::default();
        let first = bodies.begin(7).unwrap();
        assert_eq!(bodies.begin(7).err(), Some(LargeBodyInProgress));
        let other = bodies.begin(8).unwrap();
        drop(first);
        assert!(bodies.begin(7).is_ok());
        drop(other);
        assert!(bodies.lock().is_empty(), "accounts without a large body use no memory");
    }
}
