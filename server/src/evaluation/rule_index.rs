//! Cache of the compiled rules of users for whom events were evaluated.
//!
//! Each user's rules are stored with the epoch at which they were read, and are used only while the
//! store reports that epoch as current. So an evaluation after a change of rules uses the changed
//! rules, on every node, without a notification to this cache. Likewise they are used only until
//! one of them ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use belfry_core::rules::RuleExpiry;
use belfry_core::rules::index::IndexedRules;
use belfry_store::{RulesetsSnapshot, SnapshotEpoch, Store};
use jiff::Timestamp;

use belfry_store::metrics::{CacheCounters, CacheStatus};

/// A bounded cache that is filled on demand, and cleared when it is full.
pub struct RuleIndexCache {
    max_bytes: usize,
    state: Mutex<CacheState>,
    lookups: CacheCounters,
}

/// The compiled rules of a user. Users without documents need no allocation.
#[derive(Clone)]
pub struct CachedRules {
    /// The rules.
    pub rules: Option<Arc<IndexedRules>>,
    /// Their size in memory.
    pub bytes: usize,
    /// The next time at which one of them ends.
    next_expiry: Option<RuleExpiry>,
}

#[derive(Default)]
struct CacheState {
    entries: HashMap<i64, (SnapshotEpoch, CachedRules)>,
    /// The size of all entries.
    bytes: usize,
}

/// The approximate size of an entry without rules.
const ENTRY_BYTES: usize = 64;

impl RuleIndexCache {
    /// An empty cache. `max_bytes` limits its size in memory.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default(), lookups: CacheCounters::default() }
    }

    /// For each of these accounts its rules, if they are cached and current.
    pub fn get(&self, store: &Store, accounts: &[i64], now: Timestamp) -> Vec<Option<CachedRules>> {
        let state = self.lock();
        let get = |account: &i64| {
            let entry = state.entries.get(account);
            let current = entry.filter(|(epoch, rules)| {
                store.is_current(*account, *epoch)
                    && !rules.next_expiry.is_some_and(|expiry| expiry.is_reached(now))
            });
            self.lookups.record(current.is_some());
            current.map(|(_, rules)| rules.clone())
        };
        accounts.iter().map(get).collect()
    }

    /// Compiles and caches the rules of an account.
    pub fn insert(&self, account: i64, snapshot: &RulesetsSnapshot) -> CachedRules {
        let RulesetsSnapshot { rulesets, epoch } = snapshot;
        let compile = || Arc::new(IndexedRules::new(rulesets.documents()));
        let rules = (!rulesets.is_empty()).then(compile);
        let bytes = ENTRY_BYTES + rules.as_ref().map_or(0, |rules| rules.bytes());
        let rules = CachedRules { rules, bytes, next_expiry: rulesets.next_expiry() };
        let mut state = self.lock();
        if let Some((_, old)) = state.entries.remove(&account) {
            state.bytes -= old.bytes;
        }
        if state.bytes + bytes > self.max_bytes {
            *state = CacheState::default();
        }
        if bytes <= self.max_bytes {
            state.bytes += bytes;
            state.entries.insert(account, (*epoch, rules.clone()));
        }
        rules
    }

    /// The state of the cache, for metrics.
    pub(crate) fn status(&self) -> CacheStatus<'_> {
        let state = self.lock();
        let (entries, bytes) = (state.entries.len(), state.bytes as u64);
        CacheStatus { name: "rule_index", lookups: &self.lookups, entries, bytes }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // The size may be wrong after a panic.
            let mut state = poisoned.into_inner();
            *state = CacheState::default();
            self.state.clear_poison();
            state
        })
    }
}
