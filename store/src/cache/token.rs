//! Cached tokens.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use belfry_core::oauth::token::{Token, TokenError};
use belfry_core::oauth::token_family::TokenFamily;
use belfry_core::secret::{LookupKey, Sha256Digest};
use jiff::Timestamp;

use super::entry::{ARC_OVERHEAD, CacheValue};
use super::subjects::CacheSubject;

/// Age in seconds at which a stored last use is replaced by a later one.
pub(crate) const PRECISION_SECONDS: i64 = 3600;

/// A stored token, and when it was last used.
#[derive(Debug)]
pub struct StoredToken {
    token: Token,
    pub(crate) last_use: LastUse,
    /// Boxed, because most tokens have none.
    pub(crate) family: Option<Box<CachedFamily>>,
}

/// A token family, and whether the use of its newest access token is recorded.
#[derive(Debug)]
pub(crate) struct CachedFamily {
    pub(crate) state: TokenFamily,
    pub(crate) is_use_recorded: AtomicBool,
}

/// A token as a client presented it. Tokens of a family expire before their row does.
#[derive(Debug, Clone, PartialEq)]
pub struct PresentedToken {
    stored: Arc<StoredToken>,
    pub expires_at: Option<Timestamp>,
}

impl PresentedToken {
    pub(crate) fn new(stored: Arc<StoredToken>, expires_at: Option<Timestamp>) -> Self {
        Self { stored, expires_at }
    }

    /// Checks that the token is valid at `now`.
    pub fn check_validity(&self, now: Timestamp) -> Result<(), TokenError> {
        self.stored.check_validity_until(self.expires_at, now)
    }
}

impl Deref for PresentedToken {
    type Target = StoredToken;

    fn deref(&self) -> &StoredToken {
        &self.stored
    }
}

impl StoredToken {
    pub(crate) fn new(
        token: Token,
        last_used_at: Option<Timestamp>,
        family: Option<TokenFamily>,
    ) -> Self {
        let family = family.map(|state| {
            let is_use_recorded = AtomicBool::new(state.is_used);
            Box::new(CachedFamily { state, is_use_recorded })
        });
        Self { token, last_use: LastUse::new(last_used_at), family }
    }

    /// Returns whether the tokens of the row are computed.
    pub fn is_family(&self) -> bool {
        self.family.is_some()
    }

    /// Returns when it was last used, to the hour, including uses on this node that are not stored
    /// yet.
    pub fn last_used_at(&self) -> Option<Timestamp> {
        self.last_use.get()
    }
}

impl PartialEq for StoredToken {
    fn eq(&self, other: &Self) -> bool {
        self.token == other.token && self.last_used_at() == other.last_used_at()
    }
}

impl Deref for StoredToken {
    type Target = Token;

    fn deref(&self) -> &Token {
        &self.token
    }
}

/// The last use of a token that this node knows, as Unix time in seconds.
#[derive(Debug)]
pub(crate) struct LastUse(pub(crate) AtomicI64);

impl LastUse {
    pub(crate) fn new(last_used_at: Option<Timestamp>) -> Self {
        Self(AtomicI64::new(last_used_at.map_or(i64::MIN, Timestamp::as_second)))
    }

    pub(crate) fn get(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).ok()
    }

    /// Returns whether a use at `now` must be stored, because it is at least an hour later, or at
    /// least an hour earlier after the clock was set back.
    pub(crate) fn is_outdated(&self, now: Timestamp) -> bool {
        now.as_second().abs_diff(self.0.load(Ordering::Relaxed)) >= PRECISION_SECONDS.unsigned_abs()
    }
}

impl CacheValue<LookupKey> for (Sha256Digest, Arc<StoredToken>) {
    fn subjects(&self, _: &LookupKey) -> [CacheSubject; 2] {
        let app = CacheSubject::App(self.1.app_id);
        let account = self.1.account.as_ref().map(|account| CacheSubject::Account(account.id));
        [app, account.unwrap_or(app)]
    }

    fn heap_bytes(&self, _: &LookupKey) -> usize {
        let name_bytes = self.1.account.as_ref().map_or(0, |account| account.name.len());
        let family_bytes = self.1.family.as_ref().map_or(0, |_| size_of::<CachedFamily>());
        let row_bytes = ARC_OVERHEAD + size_of::<StoredToken>();
        row_bytes + family_bytes + name_bytes + self.1.scopes.heap_bytes()
    }
}
