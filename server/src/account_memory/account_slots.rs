//! Limits expensive requests to one at a time per account.
//!
//! A large body stays in memory until it is complete and processed, and the client decides how fast
//! it arrives; an evaluation occupies a thread. Without this limit, an account could send as many
//! such requests as its rate limits allow.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, Default)]
pub struct AccountSlots(Arc<Mutex<HashSet<i64>>>);

/// An account's slot. Dropping it releases the slot.
#[derive(Debug)]
pub struct AccountSlot {
    account_id: i64,
    slots: AccountSlots,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another request from this account is in progress")]
pub struct AccountBusy;

impl AccountSlots {
    pub fn acquire(&self, account_id: i64) -> Result<AccountSlot, AccountBusy> {
        if !self.lock().insert(account_id) {
            return Err(AccountBusy);
        }
        Ok(AccountSlot { account_id, slots: self.clone() })
    }

    /// Returns the number of slots that are taken.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Locks the set. Ignores poisoning, because no panic can interrupt a change to the set.
    fn lock(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AccountSlot {
    fn drop(&mut self) {
        self.slots.lock().remove(&self.account_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_one_slot() {
        let slots = AccountSlots::default();
        let first_slot = slots.acquire(7).unwrap();
        assert_eq!(slots.acquire(7).err(), Some(AccountBusy));
        let other_slot = slots.acquire(8).unwrap();
        drop(first_slot);
        assert!(slots.acquire(7).is_ok());
        drop(other_slot);
        assert_eq!(slots.count(), 0, "accounts without a slot use no memory");
    }
}
