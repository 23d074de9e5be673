//! In-memory cache of tokens, rulesets, apps and account ids.
//!
//! A value is inserted only if none of its data was invalidated since its read began, so a reader
//! overtaken by a write never leaves a stale value behind.

mod epochs;
mod invalidation;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::oauth::token::Token;
use belfry_core::secret::{HashedSecret, LookupKey, Sha256Digest};
use quick_cache::Weighter;

pub(crate) use self::epochs::Epoch;
use self::epochs::InvalidationEpochs;
pub(crate) use self::invalidation::Invalidation;

use super::apps::StoredApp;
use super::rulesets::StoredRulesets;

/// The store's cache, bounded in bytes.
pub(crate) struct Cache {
    /// Tokens by lookup key, with the digest that the secret must have.
    tokens: quick_cache::sync::Cache<LookupKey, (Sha256Digest, Arc<Token>), ByteWeighter>,
    /// Rulesets by account id.
    rules: quick_cache::sync::Cache<i64, StoredRulesets, ByteWeighter>,
    /// Apps by client id.
    apps: quick_cache::sync::Cache<Box<str>, Arc<StoredApp>, ByteWeighter>,
    /// Ids of enabled accounts by name.
    accounts: quick_cache::sync::Cache<Box<str>, i64, ByteWeighter>,
    /// Separate from `other_epochs`, because revoking an app's access advances the epochs of all
    /// tokens, which must not affect rulesets.
    token_epochs: InvalidationEpochs,
    other_epochs: InvalidationEpochs,
    /// False while notifications of other nodes' writes cannot be received.
    enabled: AtomicBool,
}

/// Weighs entries by the bytes they occupy.
#[derive(Clone)]
struct ByteWeighter;

/// Bytes that the cache needs for an entry besides key and value.
const ENTRY_OVERHEAD: usize = 32;
/// Reference counts of an `Arc`.
const ARC_OVERHEAD: usize = 16;

impl Weighter<LookupKey, (Sha256Digest, Arc<Token>)> for ByteWeighter {
    fn weight(&self, _: &LookupKey, (_, token): &(Sha256Digest, Arc<Token>)) -> u64 {
        let name = token.account.as_ref().map_or(0, |account| account.name.len());
        let heap = name + token.scopes.iter().len();
        let entry = size_of::<(LookupKey, Sha256Digest, Arc<Token>)>();
        (ENTRY_OVERHEAD + entry + ARC_OVERHEAD + size_of::<Token>() + heap) as u64
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

impl Cache {
    /// A cache of at most this many bytes: five eighths for tokens, a quarter for rulesets. With
    /// the default of 512 MiB both hold a million users without rules of their own.
    pub(crate) fn new(bytes: usize, enabled: bool) -> Self {
        let (tokens, rules, names) = (bytes / 8 * 5, bytes / 4, bytes / 16);
        Self {
            tokens: new_cache(tokens, 256),
            rules: new_cache(rules, 1024),
            apps: new_cache(names, 1024),
            accounts: new_cache(names, 1024),
            token_epochs: InvalidationEpochs::default(),
            other_epochs: InvalidationEpochs::default(),
            enabled: AtomicBool::new(enabled),
        }
    }

    /// The current epoch of a ruleset, app or account. Call it before the read whose result will
    /// be inserted.
    pub(crate) fn epoch<K: Hash>(&self, key: &K) -> Epoch {
        Epoch(*self.other_epochs.lock(key))
    }

    /// The current epoch of a token.
    pub(crate) fn token_epoch(&self, lookup: LookupKey) -> Epoch {
        Epoch(*self.token_epochs.lock(&lookup))
    }

    /// The token with this lookup key, if the digest is right.
    pub(crate) fn token(&self, secret: &HashedSecret) -> Option<Arc<Token>> {
        let (digest, token) = self.tokens.get(&secret.lookup).filter(|_| self.is_enabled())?;
        (digest == secret.digest).then_some(token)
    }

    pub(crate) fn insert_token(&self, secret: HashedSecret, token: &Arc<Token>, since: Epoch) {
        let epoch = self.token_epochs.lock(&secret.lookup);
        if self.is_enabled() && *epoch == since.0 {
            self.tokens.insert(secret.lookup, (secret.digest, Arc::clone(token)));
        }
    }

    pub(crate) fn rules(&self, account: i64) -> Option<StoredRulesets> {
        if self.is_enabled() { self.rules.get(&account) } else { None }
    }

    pub(crate) fn insert_rules(&self, account: i64, rules: StoredRulesets, since: Epoch) {
        let epoch = self.other_epochs.lock(&account);
        if self.is_enabled() && *epoch == since.0 {
            self.rules.insert(account, rules);
        }
    }

    pub(crate) fn app(&self, client_id: &str) -> Option<Arc<StoredApp>> {
        if self.is_enabled() { self.apps.get(client_id) } else { None }
    }

    pub(crate) fn insert_app(&self, app: &Arc<StoredApp>, since: Epoch) {
        let client_id = app.app.client_id.as_str();
        let epoch = self.other_epochs.lock(&client_id);
        if self.is_enabled() && *epoch == since.0 {
            self.apps.insert(client_id.into(), Arc::clone(app));
        }
    }

    pub(crate) fn account(&self, name: &str) -> Option<i64> {
        if self.is_enabled() { self.accounts.get(name) } else { None }
    }

    pub(crate) fn insert_account(&self, name: &str, id: i64, since: Epoch) {
        let epoch = self.other_epochs.lock(&name);
        if self.is_enabled() && *epoch == since.0 {
            self.accounts.insert(name.into(), id);
        }
    }

    /// Removes what a write made stale.
    pub(crate) fn invalidate(&self, invalidations: &[Invalidation]) {
        for invalidation in invalidations {
            match invalidation {
                Invalidation::Token(lookup) => {
                    *self.token_epochs.lock(lookup) += 1;
                    self.tokens.remove(lookup);
                }
                Invalidation::Access(account, app) => {
                    // Epochs first, so that a token read before this cannot be inserted after it.
                    self.token_epochs.advance_all();
                    let is_stale = |token: &Token| {
                        token.account.as_ref().is_some_and(|owner| owner.id == *account)
                            && app.is_none_or(|app| app == token.app_id)
                    };
                    self.tokens.retain(|_, (_, token)| !is_stale(token));
                }
                Invalidation::Rules(account) => {
                    // Removed under the lock: a reader that sees the new epoch finds no old rules.
                    let mut epoch = self.other_epochs.lock(account);
                    *epoch += 1;
                    self.rules.remove(account);
                }
                Invalidation::Everything => {
                    // Before clearing, so that no value read earlier is inserted; and after it, so
                    // that no value still found in the cache counts as read since.
                    self.advance_all_epochs();
                    self.tokens.clear();
                    self.rules.clear();
                    self.apps.clear();
                    self.accounts.clear();
                    self.advance_all_epochs();
                }
            }
        }
    }

    fn advance_all_epochs(&self) {
        self.token_epochs.advance_all();
        self.other_epochs.advance_all();
    }

    /// Enables or disables the cache. A switch clears it, because notifications may have been
    /// missed.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        if self.enabled.swap(enabled, Ordering::SeqCst) != enabled {
            self.invalidate(&[Invalidation::Everything]);
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }
}

/// A cache of this many bytes, with entries of about `entry` bytes each.
fn new_cache<K: Eq + Hash, V: Clone>(
    bytes: usize,
    entry: usize,
) -> quick_cache::sync::Cache<K, V, ByteWeighter>
where
    ByteWeighter: Weighter<K, V>,
{
    quick_cache::sync::Cache::with_weighter(bytes / entry, bytes as u64, ByteWeighter)
}

#[cfg(test)]
mod tests {
    use belfry_core::oauth::token::TokenAccount;
    use belfry_core::secret::SplitToken;
    use jiff::Timestamp;

    use super::*;
    use crate::store::Options;

    fn token(id: i64) -> (HashedSecret, Arc<Token>) {
        let name = format!("person_{id}");
        let token = Token {
            app_id: 1,
            account: Some(TokenAccount { id, name, disabled_at: None }),
            scopes: "read write push".parse().unwrap(),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            app_disabled_at: None,
        };
        let mut random = [0; SplitToken::RANDOM_BYTES];
        random[..8].copy_from_slice(&id.to_be_bytes());
        (SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed(), Arc::new(token))
    }

    #[test]
    fn a_million_users_without_rules_fit_into_the_default_size() {
        const USERS: u64 = 1_000_000;
        let cache = Cache::new(Options::default().cache_bytes, true);
        let (secret, token) = token(999_999);
        let token = ByteWeighter.weight(&secret.lookup, &(secret.digest, token));
        let rules = ByteWeighter.weight(&7, &StoredRulesets::default());
        assert!(token * USERS <= cache.tokens.capacity(), "{token} bytes each");
        assert!(rules * USERS <= cache.rules.capacity(), "{rules} bytes each");
    }

    #[test]
    fn entries_are_evicted_when_the_cache_is_full() {
        let cache = Cache::new(64 * 1024, true);
        for id in 0..5000 {
            let (secret, token) = token(id);
            cache.insert_token(secret, &token, cache.token_epoch(secret.lookup));
            cache.insert_rules(id, StoredRulesets::default(), cache.epoch(&id));
            let name = format!("person_{id}");
            cache.insert_account(&name, id, cache.epoch(&name.as_str()));
        }
        let weight = cache.tokens.weight() + cache.rules.weight() + cache.accounts.weight();
        assert!(weight <= 64 * 1024);
        assert!(cache.tokens.len() > 100 && cache.rules.len() > 100);
        assert!(cache.accounts.len() > 50);
    }

    #[test]
    fn a_value_read_before_an_invalidation_is_not_inserted() {
        let cache = Cache::new(1 << 20, true);
        let epoch = cache.epoch(&7_i64);
        cache.invalidate(&[Invalidation::Rules(7)]);
        cache.insert_rules(7, StoredRulesets::default(), epoch);
        assert!(cache.rules(7).is_none());
        cache.insert_rules(7, StoredRulesets::default(), epoch.after_own_write());
        assert!(cache.rules(7).is_some());
        cache.invalidate(&[Invalidation::Everything]);
        assert!(cache.rules(7).is_none());
    }

    #[test]
    fn revoking_an_apps_access_invalidates_only_its_tokens_and_blocks_stale_inserts() {
        let cache = Cache::new(1 << 20, true);
        let insert = |id: i64, app: i64| {
            let (secret, token) = token(id * 10 + app);
            let token = Arc::unwrap_or_clone(token);
            let account = token.account.map(|account| TokenAccount { id, ..account });
            let token = Arc::new(Token { app_id: app, account, ..token });
            cache.insert_token(secret, &token, cache.token_epoch(secret.lookup));
            secret
        };
        let [one, other_app, other_account] = [insert(7, 1), insert(7, 2), insert(8, 1)];
        let (late, epoch) = (insert(7, 1), cache.token_epoch(one.lookup));
        let rules_epoch = cache.epoch(&7_i64);
        let token = cache.token(&late).unwrap();

        cache.invalidate(&[Invalidation::Access(7, Some(1))]);
        cache.insert_token(late, &token, epoch);
        assert!(cache.token(&one).is_none());
        assert!(cache.token(&other_app).is_some() && cache.token(&other_account).is_some());
        assert_eq!(cache.epoch(&7_i64), rules_epoch, "rulesets are not affected");

        cache.invalidate(&[Invalidation::Access(7, None)]);
        assert!(cache.token(&other_app).is_none() && cache.token(&other_account).is_some());
    }
}
