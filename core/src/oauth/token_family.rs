//! Token families: the access and refresh tokens that a sign-in of a client without a secret gets
//! one after the other.
//!
//! A family is one row. It stores generations, not tokens: the two tokens of a generation (a pair)
//! are computed from the row's key and the generation, with a MAC. So a response that was lost can
//! be given again, and a backup that is older than the client's tokens is no obstacle.
//!
//! An access token is valid until it expires or the family ends, whatever its generation: several
//! processes may use one family, and some clients sign their user out if a token is refused early.

use jiff::Timestamp;

use crate::secret::{CONTENT_BYTES, LookupKey};

/// The lifetime of an access token of a family, in seconds.
pub const ACCESS_LIFETIME_SECONDS: i64 = 300;

/// Time after the issue of a pair, in seconds, in which the refresh token before it still gets the
/// same pair: the response may have been lost, or two processes may share the token. It is longer
/// than the time until the use of an access token is stored.
pub const REPEAT_SECONDS: i64 = 30;

/// Time after which a family ends if it is not refreshed, in seconds: 180 days.
pub const IDLE_SECONDS: i64 = 180 * 24 * 3600;

/// The generations of a family that its clients may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenFamily {
    /// The generation whose refresh token was last exchanged.
    pub base: u32,
    /// The generation that was issued last.
    pub newest: u32,
    /// True if an access token of the newest generation was used, so the client has received it.
    pub is_used: bool,
    /// Time when the newest generation was issued.
    pub issued_at: Timestamp,
}

/// The decision on a refresh token of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Store this state, and return its newest pair.
    Advance(TokenFamily),
    /// Return the newest pair again.
    Repeat,
    /// The token was used before, and the client has received a later pair. Either the client or
    /// somebody else has a copy of the token, so the family ends.
    Reuse,
}

impl TokenFamily {
    pub fn new(issued_at: Timestamp) -> Self {
        Self { base: 0, newest: 0, is_used: false, issued_at }
    }

    /// Decides on a refresh token of this generation, whose MAC is correct.
    pub fn refresh(self, generation: u32, now: Timestamp) -> Refresh {
        let next_newest =
            // The database is older than the token, after a restore or a failover.
            if generation >= self.newest {
                generation.checked_add(1)
            } else if generation != self.base {
                None
            } else if now.as_second().saturating_sub(self.issued_at.as_second()) <= REPEAT_SECONDS {
                return Refresh::Repeat;
            } else if self.is_used {
                None
            } else {
                // The last response was lost.
                self.newest.checked_add(1)
            };
        next_newest.map_or(Refresh::Reuse, |newest| {
            Refresh::Advance(Self { base: generation, newest, is_used: false, issued_at: now })
        })
    }

    /// Returns the time at which the newest access token expires.
    pub fn access_expires_at(self) -> Timestamp {
        after(self.issued_at, ACCESS_LIFETIME_SECONDS)
    }

    /// Returns the time at which the family ends, unless it is refreshed.
    pub fn ends_at(self) -> Timestamp {
        after(self.issued_at, IDLE_SECONDS)
    }
}

/// Returns a whole second, because tokens and rows contain seconds.
fn after(time: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(time.as_second().saturating_add(seconds)).unwrap_or(Timestamp::MAX)
}

/// The content of a token of a family, without its MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyToken {
    /// The key of the family's row.
    pub lookup_key: LookupKey,
    pub generation: u32,
    /// The expiry time of an access token; `None` for a refresh token.
    pub expires_at: Option<Timestamp>,
}

impl FamilyToken {
    /// Returns the bytes between the lookup key and the MAC.
    pub fn content(self) -> [u8; CONTENT_BYTES] {
        let seconds = self.expires_at.map_or(0, Timestamp::as_second);
        let expiry = u32::try_from(seconds).unwrap_or(u32::MAX);
        let mut bytes = [0; CONTENT_BYTES];
        bytes[..4].copy_from_slice(&self.generation.to_be_bytes());
        bytes[4..].copy_from_slice(&expiry.to_be_bytes());
        bytes
    }

    /// Reads the output of [`FamilyToken::content`].
    pub fn from_content(lookup_key: LookupKey, bytes: [u8; CONTENT_BYTES]) -> Self {
        let [a, b, c, d, expiry @ ..] = bytes;
        let seconds = i64::from(u32::from_be_bytes(expiry));
        Self {
            lookup_key,
            generation: u32::from_be_bytes([a, b, c, d]),
            expires_at: (seconds > 0).then(|| Timestamp::from_second(seconds)).and_then(Result::ok),
        }
    }
}

#[cfg(test)]
mod tests;
