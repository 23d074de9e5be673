//! Limits the memory that an account's unread responses occupy.
//!
//! A response stays in memory until it is sent, and an HTTP/2 client decides when that is. Without
//! this limit, an account could request its rules as often as its rate limits allow, and read
//! nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Responses up to this size are not counted: rate limits restrict their number.
const MAX_UNCOUNTED_BYTES: usize = 64 * 1024;

/// The maximum total size of an account's counted responses; a single one may be larger.
const MAX_BYTES_PER_ACCOUNT: usize = 8 * 1024 * 1024;

/// The total size of each account's large responses that have not been sent yet.
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
