//! Per-account memory limits: one expensive request at a time, and a maximum size of unread
//! responses.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Responses up to this size are not counted: rate limits restrict their number.
const MAX_UNCOUNTED_BYTES: usize = 64 * 1024;

/// The maximum total size of an account's counted responses; a single one may be larger.
const MAX_BYTES_PER_ACCOUNT: usize = 8 * 1024 * 1024;

/// Limits expensive requests to one at a time per account. A large body stays in memory until it is
/// complete and processed, and the client decides how fast it arrives; an evaluation occupies a
/// thread. Without this limit, an account could send as many such requests as its rate limits allow.
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

/// Limits the total size of each account's large responses that have not been sent yet. A response
/// stays in memory until it is sent, and an HTTP/2 client decides when that is. Without this limit,
/// an account could request its rules as often as its rate limits allow, and read nothing.
#[derive(Debug, Clone, Default)]
pub struct UnreadResponses(Arc<Mutex<HashMap<i64, usize>>>);

/// The account's unread responses are too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the account's unread responses are too large")]
pub struct TooManyUnreadResponses;

impl UnreadResponses {
    /// Counts a response against an account until its bytes are dropped, when they have been sent
    /// or the connection has closed. Small responses are not counted.
    pub fn count(&self, account_id: i64, response: Bytes) -> Result<Bytes, TooManyUnreadResponses> {
        if response.len() <= MAX_UNCOUNTED_BYTES {
            return Ok(response);
        }
        let mut accounts = self.lock();
        let unread_bytes = accounts.entry(account_id).or_default();
        if *unread_bytes > 0 && *unread_bytes + response.len() > MAX_BYTES_PER_ACCOUNT {
            return Err(TooManyUnreadResponses);
        }
        *unread_bytes += response.len();
        drop(accounts);
        Ok(Bytes::from_owner(CountedResponse { response, account_id, responses: self.clone() }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a response that counts against an account.
struct CountedResponse {
    response: Bytes,
    account_id: i64,
    responses: UnreadResponses,
}

impl AsRef<[u8]> for CountedResponse {
    fn as_ref(&self) -> &[u8] {
        &self.response
    }
}

impl Drop for CountedResponse {
    fn drop(&mut self) {
        let mut accounts = self.responses.lock();
        if let Some(unread_bytes) = accounts.get_mut(&self.account_id) {
            *unread_bytes -= self.response.len();
            if *unread_bytes == 0 {
                accounts.remove(&self.account_id);
            }
        }
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

    fn response(bytes: usize) -> Bytes {
        vec![b'x'; bytes].into()
    }

    #[test]
    fn a_response_is_counted_until_its_last_slice_is_dropped() {
        let responses = UnreadResponses::default();
        let count_mebibyte = || responses.count(7, response(1024 * 1024));
        let mut unread: Vec<Bytes> = std::iter::from_fn(|| count_mebibyte().ok()).collect();
        assert_eq!(unread.len(), 8);
        assert_eq!(count_mebibyte(), Err(TooManyUnreadResponses));
        assert!(
            responses.count(8, response(1024 * 1024)).is_ok(),
            "other accounts are not limited"
        );
        assert!(
            responses.count(7, response(MAX_UNCOUNTED_BYTES)).is_ok(),
            "small responses are not limited"
        );

        let slice = unread.pop().unwrap().slice(10..20);
        assert_eq!(count_mebibyte(), Err(TooManyUnreadResponses));
        drop(slice);
        assert!(count_mebibyte().is_ok());
        drop(unread);
        assert!(responses.lock().is_empty(), "accounts without unread responses use no memory");
    }

    #[test]
    fn a_single_response_may_have_any_size() {
        let responses = UnreadResponses::default();
        let large = responses.count(7, response(2 * MAX_BYTES_PER_ACCOUNT)).unwrap();
        assert_eq!(large.len(), 2 * MAX_BYTES_PER_ACCOUNT);
        assert_eq!(
            responses.count(7, response(MAX_UNCOUNTED_BYTES + 1)),
            Err(TooManyUnreadResponses)
        );
        drop(large);
        assert!(responses.count(7, response(MAX_UNCOUNTED_BYTES + 1)).is_ok());
    }
}
