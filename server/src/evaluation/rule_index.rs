//! Cache of compiled rules, by the user for whom events were evaluated.
//!
//! Each user's rules are stored with the epoch at which they were read, and are used only while the
//! store reports that epoch as current. So an evaluation after a rule change uses the new rules, on
//! every node, without a notification to this cache. The rules are also used only until the first
//! of them expires.

use std::sync::Arc;

use belfry_core::rules::RuleExpiry;
use belfry_core::rules::index::IndexedRules;
use belfry_store::metrics::{CacheCounters, CacheStatus};
use belfry_store::{ReadEpoch, RulesetsSnapshot, Store};
use jiff::Timestamp;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The compiled rules by account, limited in memory and filled on demand.
pub struct RuleIndexCache {
    entries: Cache<i64, (ReadEpoch, CachedRules), ByteWeighter>,
    lookups: CacheCounters,
}

/// A user's compiled rules. Users without documents need no allocation.
#[derive(Clone)]
pub struct CachedRules {
    /// `None` for a user without documents.
    pub rules: Option<Arc<IndexedRules>>,
    pub bytes: usize,
    /// Time at which the first of the rules expires.
    next_expiry: Option<RuleExpiry>,
}

/// Weighs entries by the bytes they occupy.
#[derive(Clone)]
struct ByteWeighter;

impl Weighter<i64, (ReadEpoch, CachedRules)> for ByteWeighter {
    fn weight(&self, _: &i64, (_, rules): &(ReadEpoch, CachedRules)) -> u64 {
        rules.bytes as u64
    }
}

/// The approximate size of an entry without rules.
const ENTRY_BYTES: usize = 32 + size_of::<(i64, ReadEpoch, CachedRules)>();

/// The size of a large entry. The cache is divided into shards with space for at least 32 of them,
/// so that the rules of any user fit into a shard.
const LARGE_ENTRY_BYTES: usize = 256 * 1024;

impl RuleIndexCache {
    /// Creates an empty cache, limited to `max_bytes` of memory.
    pub fn new(max_bytes: usize) -> Self {
        let expected_entries = max_bytes / LARGE_ENTRY_BYTES;
        let entries = Cache::with_weighter(expected_entries, max_bytes as u64, ByteWeighter);
        Self { entries, lookups: CacheCounters::default() }
    }

    /// Returns an account's rules, if they are cached and current.
    pub fn get(&self, store: &Store, account_id: i64, now: Timestamp) -> Option<CachedRules> {
        let current_entry = self.entries.get(&account_id).filter(|(epoch, rules)| {
            store.are_rulesets_current(account_id, *epoch)
                && !rules.next_expiry.is_some_and(|expiry| expiry.is_reached(now))
        });
        self.lookups.record(current_entry.is_some());
        current_entry.map(|(_, rules)| rules)
    }

    pub fn insert(&self, account_id: i64, snapshot: &RulesetsSnapshot) -> CachedRules {
        let RulesetsSnapshot { rulesets, epoch } = snapshot;
        let compile = || Arc::new(IndexedRules::new(rulesets.documents()));
        let rules = (!rulesets.is_empty()).then(compile);
        let bytes = ENTRY_BYTES + rules.as_ref().map_or(0, |rules| rules.bytes());
        let cached_rules = CachedRules { rules, bytes, next_expiry: rulesets.next_expiry() };
        self.entries.insert(account_id, (*epoch, cached_rules.clone()));
        cached_rules
    }

    /// Returns the state of the cache, for metrics.
    pub(crate) fn status(&self) -> CacheStatus<'_> {
        let entries = self.entries.len();
        let bytes = self.entries.weight();
        CacheStatus { name: "rule_index", lookups: &self.lookups, entries, bytes }
    }
}
