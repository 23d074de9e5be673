//! In-memory cache of tokens, rulesets, apps and account ids.
//!
//! A value is inserted only if its key was not invalidated since its read began, so a read that is
//! concurrent with a write never inserts a stale value. While a write of a key is in progress, the
//! cache returns no entry for it: a reader that got the new value from the database could otherwise
//! get the old one from the cache afterwards.

mod app;
mod entry;
mod epochs;
mod invalidation;
mod rulesets;
mod subjects;
#[cfg(test)]
mod tests;
mod token;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::secret::{LookupKey, Sha256Digest};
use belfry_runtime::metrics::Counter;
use belfry_runtime::metrics::exposition::Exposition;
use quick_cache::Equivalent;

pub use self::app::StoredApp;
use self::entry::{ByteWeighter, CacheValue, Entry};
pub use self::epochs::ReadEpoch;
use self::epochs::{Epoch, InvalidationEpochs, Phase};
pub(crate) use self::invalidation::Invalidation;
pub use self::rulesets::StoredRulesets;
pub(crate) use self::rulesets::VersionedDocument;
use self::subjects::{CacheSubject, SubjectSlots};
pub(crate) use self::token::{LastUse, PRECISION_SECONDS};
pub use self::token::{PresentedToken, StoredToken};
use crate::metrics::{CacheCounters, CacheStatus, families};

/// The store's cache, bounded in bytes.
pub(crate) struct Cache {
    /// Tokens by lookup key, with the digest that the secret must have.
    pub(crate) tokens: EpochCache<LookupKey, (Sha256Digest, Arc<StoredToken>)>,
    pub(crate) rules: EpochCache<i64, StoredRulesets>,
    pub(crate) apps_by_client_id: EpochCache<Box<str>, Arc<StoredApp>>,
    pub(crate) apps_by_id: EpochCache<i64, Arc<StoredApp>>,
    /// Ids of enabled accounts by name.
    pub(crate) accounts: EpochCache<Box<str>, i64>,
    shared: Arc<SharedState>,
    /// The number of invalidations by [`InvalidationOrigin`] and [`Invalidation::index`].
    invalidations: [[Counter; Invalidation::NAMES.len()]; 2],
}

#[derive(Clone, Copy)]
enum InvalidationOrigin {
    Local,
    /// A write by another node or command, or enabling or disabling the cache.
    Remote,
}

struct SharedState {
    /// False while notifications about writes by other nodes cannot be received.
    is_enabled: AtomicBool,
    subjects: SubjectSlots,
}

impl Cache {
    /// Creates a cache of at most this many bytes: about two thirds for tokens, almost a quarter
    /// for rulesets. With the default of 512 MiB, there is space for the tokens and rulesets of a
    /// million users without user rules.
    pub(crate) fn new(max_bytes: usize, is_enabled: bool) -> Self {
        let is_enabled = AtomicBool::new(is_enabled);
        let shared = Arc::new(SharedState { is_enabled, subjects: SubjectSlots::default() });
        Self {
            tokens: EpochCache::new(max_bytes / 64 * 43, 256, &shared),
            rules: EpochCache::new(max_bytes / 64 * 15, 1024, &shared),
            apps_by_client_id: EpochCache::new(max_bytes / 32, 1024, &shared),
            apps_by_id: EpochCache::new(max_bytes / 32, 1024, &shared),
            accounts: EpochCache::new(max_bytes / 32, 1024, &shared),
            shared,
            invalidations: Default::default(),
        }
    }

    /// Invalidates the entries that a write by another node or command made stale, or all entries
    /// when the cache is enabled or disabled.
    pub(crate) fn invalidate(&self, invalidations: &[Invalidation]) {
        self.count_invalidations(InvalidationOrigin::Remote, invalidations);
        self.advance_epochs(invalidations, Phase::Begin);
        self.advance_epochs(invalidations, Phase::End);
    }

    /// Bypasses the cache for the entries that a write will make stale. Call it before the write is
    /// sent, and [`Cache::end_write`] when its outcome is known.
    pub(crate) fn begin_write(&self, invalidations: &[Invalidation]) {
        self.count_invalidations(InvalidationOrigin::Local, invalidations);
        self.advance_epochs(invalidations, Phase::Begin);
    }

    /// Ends the bypass that [`Cache::begin_write`] began.
    pub(crate) fn end_write(&self, invalidations: &[Invalidation]) {
        self.advance_epochs(invalidations, Phase::End);
    }

    /// Begins or ends the invalidation of entries.
    fn advance_epochs(&self, invalidations: &[Invalidation], phase: Phase) {
        let record_phase = |subject| self.shared.subjects.record_phase(subject, phase);
        for invalidation in invalidations {
            match *invalidation {
                Invalidation::Token(lookup) => self.tokens.invalidate(&lookup, phase),
                Invalidation::Rules(account) => self.rules.invalidate(&account, phase),
                Invalidation::Account(account) => {
                    record_phase(CacheSubject::Account(account));
                    self.rules.invalidate(&account, phase);
                }
                Invalidation::App(app) => record_phase(CacheSubject::App(app)),
                Invalidation::AppSecret(app) => record_phase(CacheSubject::AppSecret(app)),
                Invalidation::Everything => {
                    self.tokens.clear(phase);
                    self.rules.clear(phase);
                    self.apps_by_client_id.clear(phase);
                    self.apps_by_id.clear(phase);
                    self.accounts.clear(phase);
                }
            }
        }
    }

    /// Enables or disables the cache. Either change clears it, because notifications may have been
    /// missed; the metrics count that as an invalidation by another node.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        if self.shared.is_enabled.swap(enabled, Ordering::SeqCst) != enabled {
            self.invalidate(&[Invalidation::Everything]);
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.shared.is_enabled.load(Ordering::Relaxed)
    }

    fn count_invalidations(&self, origin: InvalidationOrigin, invalidations: &[Invalidation]) {
        for invalidation in invalidations {
            self.invalidations[origin as usize][invalidation.index()].inc();
        }
    }

    /// Returns the state of each map, for metrics.
    pub(crate) fn status(&self) -> [CacheStatus<'_>; 5] {
        [
            self.tokens.status("tokens"),
            self.rules.status("rules"),
            self.apps_by_client_id.status("apps"),
            self.apps_by_id.status("apps_by_id"),
            self.accounts.status("accounts"),
        ]
    }

    pub(crate) fn write_invalidations(&self, out: &mut Exposition) {
        let mut family = out.family(&families::CACHE_INVALIDATIONS);
        for (origin, counters) in ["local", "remote"].iter().zip(&self.invalidations) {
            for (kind, counter) in Invalidation::NAMES.iter().zip(counters) {
                family.value(&[kind, origin], counter.get());
            }
        }
    }
}

/// A bounded map with the invalidation epochs of its keys.
pub(crate) struct EpochCache<K, V> {
    entries: quick_cache::sync::Cache<K, Entry<V>, ByteWeighter>,
    epochs: InvalidationEpochs,
    shared: Arc<SharedState>,
    lookups: CacheCounters,
}

impl<K: Eq + Hash, V: CacheValue<K> + Clone> EpochCache<K, V> {
    /// Creates a map of at most this many bytes, with entries of about `entry_bytes` each.
    fn new(max_bytes: usize, entry_bytes: usize, shared: &Arc<SharedState>) -> Self {
        Self {
            entries: quick_cache::sync::Cache::with_weighter(
                max_bytes / entry_bytes,
                max_bytes as u64,
                ByteWeighter,
            ),
            epochs: InvalidationEpochs::default(),
            shared: Arc::clone(shared),
            lookups: CacheCounters::default(),
        }
    }

    fn status(&self, name: &'static str) -> CacheStatus<'_> {
        let entries = self.entries.len();
        let bytes = self.entries.weight();
        CacheStatus { name, lookups: &self.lookups, entries, bytes }
    }

    fn is_enabled(&self) -> bool {
        self.shared.is_enabled.load(Ordering::Relaxed)
    }

    /// Returns the current value of a key, if there is one and the cache is enabled, and counts the
    /// lookup.
    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        let entry = if self.is_enabled() { self.entries.get(key) } else { None }.filter(|entry| {
            self.shared.subjects.is_current(entry.slots, entry.invalidation_number)
        });
        self.lookups.record(entry.is_some());
        entry.map(|entry| entry.value)
    }

    /// Returns the current epoch of a key. Call it before the read whose result will be inserted.
    pub(crate) fn epoch<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> ReadEpoch {
        let invalidation_number = self.shared.subjects.last_invalidation_number();
        let key_epoch = *self.epochs.lock(key);
        ReadEpoch { key_epoch, invalidation_number, is_enabled: self.is_enabled() }
    }

    /// Inserts a value that was read at `read_epoch`, unless its key or one of its subjects
    /// was invalidated after that or is being written, or the cache is disabled.
    pub(crate) fn insert(&self, key: K, value: V, read_epoch: ReadEpoch) {
        let ReadEpoch { key_epoch, invalidation_number, .. } = read_epoch;
        let slots = self.shared.subjects.hash_slots(value.subjects(&key));
        let epoch = self.epochs.lock(&key);
        if self.is_enabled()
            && *epoch == key_epoch
            && !epoch.is_writing()
            && self.shared.subjects.is_current(slots, invalidation_number)
        {
            self.entries.insert(key, Entry { value, slots, invalidation_number });
        }
    }

    /// Advances the epoch of a key and removes its entry, under the same lock. Without the lock, a
    /// reader could take the advanced epoch, get the old entry before its removal, and consider it
    /// current.
    fn invalidate(&self, key: &K, phase: Phase) {
        let mut epoch = self.epochs.lock(key);
        *epoch = epoch.advance(phase);
        self.entries.remove(key);
    }

    /// Removes all entries. The epochs advance before the removal, so that no value read earlier is
    /// inserted, and again after it, so that no value that was still in the cache counts as
    /// current.
    fn clear(&self, phase: Phase) {
        self.epochs.advance_all(|epoch| epoch.advance(phase));
        self.entries.clear();
        self.epochs.advance_all(Epoch::next);
    }
}
