//! Cached values: their subjects and their size.

use quick_cache::Weighter;

use super::subjects::{CacheSubject, Slots};

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
pub(super) const ARC_OVERHEAD: usize = 16;

impl<K, V: CacheValue<K>> Weighter<K, Entry<V>> for ByteWeighter {
    fn weight(&self, key: &K, entry: &Entry<V>) -> u64 {
        (ENTRY_OVERHEAD + size_of::<(K, Entry<V>)>() + entry.value.heap_bytes(key)) as u64
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
