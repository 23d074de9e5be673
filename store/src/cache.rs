//! In-memory cache of tokens, rulesets, apps and account ids.
//!
//! A value is inserted only if its key was not invalidated since its read began, so a read that is
//! concurrent with a write never inserts a stale value. While a write of a key is in progress, the
//! cache has no entry for it: a reader that got the new value from the database could otherwise get
//! the old one from the cache afterwards.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::secret::{LookupKey, Sha256Digest};
use belfry_runtime::metrics::Counter;
use belfry_runtime::metrics::exposition::Exposition;
use quick_cache::{Equivalent, Weighter};

use super::apps::StoredApp;
use super::epochs::{Epoch, InvalidationEpochs};
use super::invalidation::Invalidation;
use super::rulesets::StoredRulesets;
use super::tokens::StoredToken;
use crate::metrics::{CacheCounters, CacheStatus, families};

/// The store's cache, bounded in bytes.
pub(crate) struct Cache {
    /// Tokens by lookup key, with the digest that the secret must have.
    pub(super) tokens: EpochCache<LookupKey, (Sha256Digest, Arc<StoredToken>)>,
    /// Rulesets by account id.
    pub(super) rules: EpochCache<i64, StoredRulesets>,
    /// Apps by client id.
    pub(super) apps: EpochCache<Box<str>, Arc<StoredApp>>,
    /// Ids of enabled accounts by name.
    pub(super) accounts: EpochCache<Box<str>, i64>,
    /// False while notifications of other nodes' writes cannot be received.
    enabled: Arc<AtomicBool>,
    /// Invalidations by this process, and because of others, by [`Invalidation::index`].
    invalidations: [[Counter; Invalidation::NAMES.len()]; 2],
}

impl Cache {
    /// A cache of at most this many bytes: five eighths for tokens, a quarter for rulesets. With
    /// the default of 512 MiB both have space for a million users without user-defined rules.
    pub(crate) fn new(bytes: usize, enabled: bool) -> Self {
        let enabled = Arc::new(AtomicBool::new(enabled));
        Self {
            tokens: EpochCache::new(bytes / 8 * 5, 256, &enabled),
            rules: EpochCache::new(bytes / 4, 1024, &enabled),
            apps: EpochCache::new(bytes / 16, 1024, &enabled),
            accounts: EpochCache::new(bytes / 16, 1024, &enabled),
            enabled,
            invalidations: Default::default(),
        }
    }

    /// Removes the entries that a write of another process made stale.
    pub(crate) fn invalidate(&self, invalidations: &[Invalidation]) {
        self.count(1, invalidations);
        self.advance(invalidations, Epoch::next);
    }

    /// Bypasses the cache for the entries that a write will make stale. Call it before the write is
    /// sent, and [`Cache::end_write`] when its outcome is known.
    pub(crate) fn begin_write(&self, invalidations: &[Invalidation]) {
        self.count(0, invalidations);
        self.advance(invalidations, Epoch::begin_write);
    }

    /// Ends the bypass that [`Cache::begin_write`] began.
    pub(crate) fn end_write(&self, invalidations: &[Invalidation]) {
        self.advance(invalidations, Epoch::end_write);
    }

    fn advance(&self, invalidations: &[Invalidation], advance: fn(Epoch) -> Epoch) {
        for invalidation in invalidations {
            match invalidation {
                Invalidation::Token(lookup) => self.tokens.invalidate(lookup, advance),
                Invalidation::Access(account, app) => {
                    let is_stale = |(_, token): &(Sha256Digest, Arc<StoredToken>)| {
                        token.account.as_ref().is_some_and(|owner| owner.id == *account)
                            && app.is_none_or(|app| app == token.app_id)
                    };
                    self.tokens.invalidate_where(is_stale, advance);
                }
                Invalidation::Rules(account) => self.rules.invalidate(account, advance),
                Invalidation::Apps => self.apps.clear(advance),
                Invalidation::Everything => {
                    self.tokens.clear(advance);
                    self.rules.clear(advance);
                    self.apps.clear(advance);
                    self.accounts.clear(advance);
                }
            }
        }
    }

    /// Enables or disables the cache. Either change clears it, because notifications may have been
    /// missed.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        if self.enabled.swap(enabled, Ordering::SeqCst) != enabled {
            self.invalidate(&[Invalidation::Everything]);
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    fn count(&self, origin: usize, invalidations: &[Invalidation]) {
        for invalidation in invalidations {
            self.invalidations[origin][invalidation.index()].inc();
        }
    }

    /// The state of each cache, for metrics.
    pub(crate) fn status(&self) -> [CacheStatus<'_>; 4] {
        [
            self.tokens.status("tokens"),
            self.rules.status("rules"),
            self.apps.status("apps"),
            self.accounts.status("accounts"),
        ]
    }

    /// Writes the number of invalidations.
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
pub(super) struct EpochCache<K, V> {
    entries: quick_cache::sync::Cache<K, V, ByteWeighter>,
    epochs: InvalidationEpochs,
    enabled: Arc<AtomicBool>,
    lookups: CacheCounters,
}

impl<K: Eq + Hash, V: Clone> EpochCache<K, V>
where
    ByteWeighter: Weighter<K, V>,
{
    /// A map of this many bytes, with entries of about `entry` bytes each.
    fn new(bytes: usize, entry: usize, enabled: &Arc<AtomicBool>) -> Self {
        Self {
            entries: quick_cache::sync::Cache::with_weighter(
                bytes / entry,
                bytes as u64,
                ByteWeighter,
            ),
            epochs: InvalidationEpochs::default(),
            enabled: Arc::clone(enabled),
            lookups: CacheCounters::default(),
        }
    }

    fn status(&self, name: &'static str) -> CacheStatus<'_> {
        let (entries, bytes) = (self.entries.len(), self.entries.weight());
        CacheStatus { name, lookups: &self.lookups, entries, bytes }
    }

    fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    pub(super) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        let found = if self.is_enabled() { self.entries.get(key) } else { None };
        self.lookups.record(found.is_some());
        found
    }

    /// The current epoch of a key. Call it before the read whose result will be inserted.
    pub(super) fn epoch<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Epoch {
        *self.epochs.lock(key)
    }

    /// Inserts a value that was read at the epoch `since`, unless it was invalidated after that or
    /// is being written.
    pub(super) fn insert(&self, key: K, value: V, since: Epoch) {
        let epoch = self.epochs.lock(&key);
        if self.is_enabled() && *epoch == since && !epoch.is_writing() {
            self.entries.insert(key, value);
        }
    }

    /// Removes an entry under the lock of its epoch, so that a reader with the new epoch does not
    /// get the old entry.
    fn invalidate(&self, key: &K, advance: fn(Epoch) -> Epoch) {
        let mut epoch = self.epochs.lock(key);
        *epoch = advance(*epoch);
        self.entries.remove(key);
    }

    /// Removes entries by value. The epochs advance first, so that no value read earlier is
    /// inserted afterwards.
    fn invalidate_where(&self, is_stale: impl Fn(&V) -> bool, advance: fn(Epoch) -> Epoch) {
        self.epochs.advance_all(advance);
        self.entries.retain(|_, value| !is_stale(value));
    }

    /// Removes all entries. The epochs advance before that, so that no value read earlier is
    /// inserted, and after that, so that no value that was still in the cache counts as current.
    fn clear(&self, advance: fn(Epoch) -> Epoch) {
        self.epochs.advance_all(advance);
        self.entries.clear();
        self.epochs.advance_all(Epoch::next);
    }
}

/// Weighs entries by the bytes they occupy.
#[derive(Clone)]
pub(super) struct ByteWeighter;

/// Bytes that the cache needs for an entry besides key and value.
const ENTRY_OVERHEAD: usize = 32;
/// Reference counts of an `Arc`.
const ARC_OVERHEAD: usize = 16;

impl Weighter<LookupKey, (Sha256Digest, Arc<StoredToken>)> for ByteWeighter {
    fn weight(&self, _: &LookupKey, (_, token): &(Sha256Digest, Arc<StoredToken>)) -> u64 {
        let name = token.account.as_ref().map_or(0, |account| account.name.len());
        let heap = name + token.scopes.iter().len();
        let entry = size_of::<(LookupKey, Sha256Digest, Arc<StoredToken>)>();
        (ENTRY_OVERHEAD + entry + ARC_OVERHEAD + size_of::<StoredToken>() + heap) as u64
    }
}

impl Weighter<i64, StoredRulesets> for ByteWeighter {
    fn weight(&self, _: &i64, rules: &StoredRulesets) -> u64 {
        (ENTRY_OVERHEAD + 2 * size_of::<i64>() + rules.bytes_in_memory()) as u64
    }
}

impl Weighter<Box<str>, Arc<StoredApp>> for ByteWeighter {
    fn weight(&self, client_id: &Box<str>, app: &Arc<StoredApp>) -> u64 {
        let details = &app.app.details;
        let website = details.website.as_ref().map_or(0, String::len);
        let texts =
            2 * client_id.len() + details.name.len() + details.scopes.iter().len() + website;
        let uris = details.redirect_uris.iter();
        let uris: usize = uris.map(|uri| size_of::<String>() + uri.as_str().len()).sum();
        (ENTRY_OVERHEAD + size_of::<Box<str>>() + size_of::<StoredApp>() + texts + uris) as u64
    }
}

impl Weighter<Box<str>, i64> for ByteWeighter {
    fn weight(&self, name: &Box<str>, _: &i64) -> u64 {
        (ENTRY_OVERHEAD + size_of::<Box<str>>() + name.len() + size_of::<i64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::oauth::account::Role;
    use belfry_core::oauth::token::{Token, TokenAccount};
    use belfry_core::secret::{HashedSecret, SplitToken};
    use jiff::Timestamp;

    use super::*;
    use crate::Options;

    fn token(id: i64) -> (HashedSecret, Token) {
        let name = format!("person_{id}");
        let token = Token {
            app_id: 1,
            account: Some(TokenAccount { id, name, role: Role::User, disabled_at: None }),
            scopes: "read write push".parse().unwrap(),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            app_disabled_at: None,
        };
        let mut random = [0; SplitToken::RANDOM_BYTES];
        random[..8].copy_from_slice(&id.to_be_bytes());
        (SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed(), token)
    }

    fn stored(token: Token) -> Arc<StoredToken> {
        Arc::new(StoredToken::new(token, None))
    }

    fn insert_token(cache: &Cache, secret: HashedSecret, token: Token, since: Epoch) {
        cache.tokens.insert(secret.lookup, (secret.digest, stored(token)), since);
    }

    #[test]
    fn a_million_users_without_rules_fit_into_the_default_size() {
        const USERS: u64 = 1_000_000;
        let cache = Cache::new(Options::default().cache_bytes, true);
        let (secret, token) = token(999_999);
        let token = ByteWeighter.weight(&secret.lookup, &(secret.digest, stored(token)));
        let rules = ByteWeighter.weight(&7, &StoredRulesets::default());
        assert!(token * USERS <= cache.tokens.entries.capacity(), "{token} bytes each");
        assert!(rules * USERS <= cache.rules.entries.capacity(), "{rules} bytes each");
    }

    #[test]
    fn entries_are_evicted_when_the_cache_is_full() {
        let cache = Cache::new(64 * 1024, true);
        for id in 0..5000 {
            let (secret, token) = token(id);
            insert_token(&cache, secret, token, cache.tokens.epoch(&secret.lookup));
            cache.rules.insert(id, StoredRulesets::default(), cache.rules.epoch(&id));
            let name: Box<str> = format!("person_{id}").into();
            let epoch = cache.accounts.epoch(&name);
            cache.accounts.insert(name, id, epoch);
        }
        let Cache { tokens, rules, accounts, .. } = &cache;
        let weight = tokens.entries.weight() + rules.entries.weight() + accounts.entries.weight();
        assert!(weight <= 64 * 1024);
        assert!(tokens.entries.len() > 100 && rules.entries.len() > 100);
        assert!(accounts.entries.len() > 50);
    }

    #[test]
    fn a_value_read_before_an_invalidation_is_not_inserted() {
        let cache = Cache::new(1 << 20, true);
        let epoch = cache.rules.epoch(&7);
        cache.invalidate(&[Invalidation::Rules(7)]);
        cache.rules.insert(7, StoredRulesets::default(), epoch);
        assert!(cache.rules.get(&7).is_none());
        cache.rules.insert(7, StoredRulesets::default(), epoch.next());
        assert!(cache.rules.get(&7).is_some());
        cache.invalidate(&[Invalidation::Everything]);
        assert!(cache.rules.get(&7).is_none());
    }

    /// Two readers miss the cache while a write is in progress: one reads the old value and one the
    /// new one. If the first filled the cache, the second would see the old value next.
    #[test]
    fn nothing_is_cached_for_a_key_that_is_being_written() {
        for invalidation in [Invalidation::Rules(7), Invalidation::Everything] {
            let cache = Cache::new(1 << 20, true);
            let before = cache.rules.epoch(&7);
            cache.rules.insert(7, StoredRulesets::default(), before);
            cache.begin_write(&[invalidation]);
            assert!(cache.rules.get(&7).is_none(), "an entry from before the write is bypassed");
            let during = cache.rules.epoch(&7);
            cache.rules.insert(7, StoredRulesets::default(), during);
            assert!(cache.rules.get(&7).is_none(), "a read during the write is not cached");
            cache.end_write(&[invalidation]);
            for stale in [before, during] {
                cache.rules.insert(7, StoredRulesets::default(), stale);
                assert!(cache.rules.get(&7).is_none(), "nor afterwards");
            }
            cache.rules.insert(7, StoredRulesets::default(), cache.rules.epoch(&7));
            assert!(cache.rules.get(&7).is_some());
        }
    }

    #[test]
    fn revoking_an_apps_access_invalidates_only_its_tokens_and_blocks_stale_inserts() {
        let cache = Cache::new(1 << 20, true);
        let insert = |id: i64, app: i64| {
            let (secret, token) = token(id * 10 + app);
            let account = token.account.map(|account| TokenAccount { id, ..account });
            let token = Token { app_id: app, account, ..token };
            insert_token(&cache, secret, token, cache.tokens.epoch(&secret.lookup));
            secret.lookup
        };
        let [one, other_app, other_account] = [insert(7, 1), insert(7, 2), insert(8, 1)];
        let (late, epoch) = (insert(7, 1), cache.tokens.epoch(&one));
        let rules_epoch = cache.rules.epoch(&7);
        let late_token = cache.tokens.get(&late).unwrap();

        cache.invalidate(&[Invalidation::Access(7, Some(1))]);
        cache.tokens.insert(late, late_token, epoch);
        assert!(cache.tokens.get(&one).is_none());
        assert!(
            cache.tokens.get(&other_app).is_some() && cache.tokens.get(&other_account).is_some()
        );
        assert_eq!(cache.rules.epoch(&7), rules_epoch, "rulesets are not affected");

        cache.invalidate(&[Invalidation::Access(7, None)]);
        assert!(
            cache.tokens.get(&other_app).is_none() && cache.tokens.get(&other_account).is_some()
        );
    }
}
