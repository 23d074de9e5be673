//! Cached values: their subjects and their size.

use std::sync::Arc;

use belfry_core::secret::{LookupKey, Sha256Digest};
use quick_cache::Weighter;

use crate::apps::StoredApp;
use crate::rulesets::StoredRulesets;
use crate::subjects::{CacheSubject, Slots};
use crate::tokens::StoredToken;

/// A value in the cache.
pub(crate) trait CacheValue<K> {
    /// Returns the subjects whose invalidation makes the value stale. A value with only one subject
    /// returns it twice.
    fn subjects(&self, key: &K) -> [CacheSubject; 2];

    /// Returns the number of bytes on the heap that key and value own.
    fn heap_bytes(&self, key: &K) -> usize;
}

/// A value, and the state of the cache when it was read.
#[derive(Clone)]
pub(super) struct Entry<V> {
    pub(super) value: V,
    pub(super) slots: Slots,
    /// Number of the last invalidation when the read began.
    pub(super) invalidation_number: u64,
}

/// Weighs entries by the bytes they occupy.
#[derive(Clone)]
pub(super) struct ByteWeighter;

/// Bytes that the cache needs for an entry in addition to key and value.
const ENTRY_OVERHEAD: usize = 32;
/// Bytes that the reference counts of an `Arc` need.
const ARC_OVERHEAD: usize = 16;

impl<K, V: CacheValue<K>> Weighter<K, Entry<V>> for ByteWeighter {
    fn weight(&self, key: &K, entry: &Entry<V>) -> u64 {
        (ENTRY_OVERHEAD + size_of::<(K, Entry<V>)>() + entry.value.heap_bytes(key)) as u64
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
        ARC_OVERHEAD + size_of::<StoredToken>() + name_bytes + self.1.scopes.heap_bytes()
    }
}

impl CacheValue<i64> for StoredRulesets {
    fn subjects(&self, account: &i64) -> [CacheSubject; 2] {
        [CacheSubject::Account(*account); 2]
    }

    fn heap_bytes(&self, _: &i64) -> usize {
        self.bytes_in_memory()
    }
}

impl<K> CacheValue<K> for Arc<StoredApp> {
    fn subjects(&self, _: &K) -> [CacheSubject; 2] {
        [CacheSubject::App(self.app.id), CacheSubject::AppSecret(self.app.id)]
    }

    fn heap_bytes(&self, _: &K) -> usize {
        let details = &self.app.details;
        let website_bytes = details.website.as_ref().map_or(0, String::len);
        let string_bytes = 2 * self.app.client_id.len()
            + details.name.len()
            + details.scopes.heap_bytes()
            + website_bytes;
        let uri_bytes: usize =
            details.redirect_uris.iter().map(|uri| size_of::<String>() + uri.as_str().len()).sum();
        ARC_OVERHEAD + size_of::<StoredApp>() + string_bytes + uri_bytes
    }
}

/// An account id, cached by account name.
impl CacheValue<Box<str>> for i64 {
    fn subjects(&self, _: &Box<str>) -> [CacheSubject; 2] {
        [CacheSubject::Account(*self); 2]
    }

    fn heap_bytes(&self, name: &Box<str>) -> usize {
        name.len()
    }
}
