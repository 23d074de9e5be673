//! What the store remembers of what it read, so that a warm read touches no database.
//!
//! A value is put in only if nothing it depends on was forgotten since its read began: a reader
//! that was overtaken by a write can never leave an old value behind.

mod change;
mod forgettings;
mod token;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::secret::Digest;
use quick_cache::Weighter;

pub(crate) use self::change::Change;
use self::forgettings::Forgettings;
use self::token::Kept;

use super::apps::App;
use super::rulesets::Rulesets;
use super::tokens::Token;

/// The bounded memory of the store.
pub(crate) struct Cache {
    tokens: quick_cache::sync::Cache<Digest, Kept, Bytes>,
    rules: quick_cache::sync::Cache<i64, Rulesets, Bytes>,
    /// Apps by their client ids.
    apps: quick_cache::sync::Cache<Box<str>, Arc<App>, Bytes>,
    /// The ids of accounts by their names. Neither changes; only disabled accounts are not here.
    accounts: quick_cache::sync::Cache<Box<str>, i64, Bytes>,
    /// How often a token was forgotten: apart from the rest, because to forget the tokens that an
    /// app has counts for all tokens, and rules must not pay for that.
    of_tokens: Forgettings,
    /// How often anything else was.
    of_others: Forgettings,
    /// While another node's writes cannot be heard of, nothing here may be believed.
    believed: AtomicBool,
}

/// What had been forgotten when a read began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The same moment, and one more forgetting: that of the reader's own write.
    pub(crate) fn after_own_write(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Weighs what is kept by the bytes it takes.
#[derive(Clone)]
struct Bytes;

/// What the cache itself needs for an entry, beside the key and the value.
const PLACE: usize = 32;

impl Weighter<Digest, Kept> for Bytes {
    fn weight(&self, _: &Digest, token: &Kept) -> u64 {
        (PLACE + size_of::<Digest>() + size_of::<Kept>() + token.bytes()) as u64
    }
}

impl Weighter<i64, Rulesets> for Bytes {
    fn weight(&self, _: &i64, rules: &Rulesets) -> u64 {
        (PLACE + 2 * size_of::<i64>() + rules.bytes_in_memory()) as u64
    }
}

impl Weighter<Box<str>, Arc<App>> for Bytes {
    fn weight(&self, client_id: &Box<str>, app: &Arc<App>) -> u64 {
        let texts = 2 * client_id.len() + app.name.len() + app.scopes.len();
        let uris = app.redirect_uris.iter().chain(&app.website);
        let uris: usize = uris.map(|uri| size_of::<String>() + uri.len()).sum();
        (PLACE + size_of::<Box<str>>() + size_of::<App>() + texts + uris) as u64
    }
}

impl Weighter<Box<str>, i64> for Bytes {
    fn weight(&self, name: &Box<str>, _: &i64) -> u64 {
        (PLACE + size_of::<Box<str>>() + name.len() + size_of::<i64>()) as u64
    }
}

impl Cache {
    /// A cache of at most so many bytes. Tokens get five eighths of them and rules a quarter: of a
    /// million people who have no rules of their own, both then fit into the 256 MiB that are the
    /// default.
    pub(crate) fn new(bytes: usize, believed: bool) -> Self {
        let (tokens, rules, names) = (bytes / 8 * 5, bytes / 4, bytes / 16);
        Self {
            tokens: quick_cache::sync::Cache::with_weighter(tokens / 256, tokens as u64, Bytes),
            rules: quick_cache::sync::Cache::with_weighter(rules / 1024, rules as u64, Bytes),
            apps: quick_cache::sync::Cache::with_weighter(names / 1024, names as u64, Bytes),
            accounts: quick_cache::sync::Cache::with_weighter(names / 1024, names as u64, Bytes),
            of_tokens: Forgettings::default(),
            of_others: Forgettings::default(),
            believed: AtomicBool::new(believed),
        }
    }

    /// To be called before a read whose outcome will be put in, from this very cache or from the
    /// database: what is read then is as new as anything that was forgotten until now.
    pub(crate) fn moment<K: Hash>(&self, key: &K) -> Moment {
        Moment(*self.of_others.of(key))
    }

    /// The same, for a token.
    pub(crate) fn token_moment(&self, digest: &Digest) -> Moment {
        Moment(*self.of_tokens.of(digest))
    }

    pub(crate) fn token(&self, digest: &Digest) -> Option<Token> {
        if self.is_believed() { self.tokens.get(digest).map(Kept::token) } else { None }
    }

    pub(crate) fn put_token(&self, digest: Digest, token: &Token, since: Moment) {
        let kept = Kept::new(token);
        let forgettings = self.of_tokens.of(&digest);
        if self.is_believed() && *forgettings == since.0 {
            self.tokens.insert(digest, kept);
        }
    }

    pub(crate) fn rules(&self, account: i64) -> Option<Rulesets> {
        if self.is_believed() { self.rules.get(&account) } else { None }
    }

    pub(crate) fn put_rules(&self, account: i64, rules: Rulesets, since: Moment) {
        let forgettings = self.of_others.of(&account);
        if self.is_believed() && *forgettings == since.0 {
            self.rules.insert(account, rules);
        }
    }

    pub(crate) fn app(&self, client_id: &str) -> Option<Arc<App>> {
        if self.is_believed() { self.apps.get(client_id) } else { None }
    }

    pub(crate) fn put_app(&self, app: &Arc<App>, since: Moment) {
        let client_id = app.client_id.as_str();
        let forgettings = self.of_others.of(&client_id);
        if self.is_believed() && *forgettings == since.0 {
            self.apps.insert(client_id.into(), Arc::clone(app));
        }
    }

    pub(crate) fn account(&self, name: &str) -> Option<i64> {
        if self.is_believed() { self.accounts.get(name) } else { None }
    }

    pub(crate) fn put_account(&self, name: &str, id: i64, since: Moment) {
        let forgettings = self.of_others.of(&name);
        if self.is_believed() && *forgettings == since.0 {
            self.accounts.insert(name.into(), id);
        }
    }

    /// Forgets what a write made stale.
    pub(crate) fn forget(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Token(digest) => {
                    *self.of_tokens.of(digest) += 1;
                    self.tokens.remove(digest);
                }
                Change::Access(account, app) => {
                    // First, so that whoever read such a token before cannot put it in after.
                    self.of_tokens.count_all();
                    self.tokens.retain(|_, token| !token.is_of(*account, *app));
                }
                Change::Rules(account) => {
                    // In one step: whoever takes a moment after it finds no old rules here.
                    let mut forgettings = self.of_others.of(account);
                    *forgettings += 1;
                    self.rules.remove(account);
                }
                Change::Everything => {
                    // Before, so that nobody puts in what is old; and after, so that nobody who
                    // still found it here can say that it was read since.
                    self.count_everything();
                    self.tokens.clear();
                    self.rules.clear();
                    self.apps.clear();
                    self.accounts.clear();
                    self.count_everything();
                }
            }
        }
    }

    fn count_everything(&self) {
        self.of_tokens.count_all();
        self.of_others.count_all();
    }

    /// Says whether all writes of other nodes are heard of. What was kept before a silence is
    /// forgotten.
    pub(crate) fn believe(&self, believed: bool) {
        if self.believed.swap(believed, Ordering::SeqCst) != believed {
            self.forget(&[Change::Everything]);
        }
    }

    /// Whether the cache is in use.
    pub(crate) fn is_believed(&self) -> bool {
        self.believed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::Secret;
    use jiff::Timestamp;

    use super::*;
    use crate::store::Options;
    use crate::store::tokens::TokenAccount;

    fn token(id: i64) -> (Digest, Token) {
        let name = format!("person_{id}").parse().unwrap();
        let token = Token {
            app: 1,
            account: Some(TokenAccount { id, name, disabled_at: None }),
            scopes: "read write push".parse().unwrap(),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            app_disabled_at: None,
        };
        (Secret::new(id.to_string()).digest(), token)
    }

    #[test]
    fn a_million_people_without_rules_fit_into_the_default() {
        const PEOPLE: u64 = 1_000_000;
        let cache = Cache::new(Options::default().cache_bytes, true);
        let (digest, token) = token(999_999);
        let token = Bytes.weight(&digest, &Kept::new(&token));
        let rules = Bytes.weight(&7, &Rulesets::default());
        assert!(token * PEOPLE <= cache.tokens.capacity(), "{token} bytes each");
        assert!(rules * PEOPLE <= cache.rules.capacity(), "{rules} bytes each");
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_bound_holds() {
        let cache = Cache::new(64 * 1024, true);
        for id in 0..5000 {
            let (digest, token) = token(id);
            cache.put_token(digest, &token, cache.token_moment(&digest));
            cache.put_rules(id, Rulesets::default(), cache.moment(&id));
            let name = format!("person_{id}");
            cache.put_account(&name, id, cache.moment(&name.as_str()));
        }
        let weight = cache.tokens.weight() + cache.rules.weight() + cache.accounts.weight();
        assert!(weight <= 64 * 1024);
        assert!(cache.tokens.len() > 100 && cache.rules.len() > 100);
        assert!(cache.accounts.len() > 50);
    }

    #[test]
    fn a_value_is_not_put_in_once_something_was_forgotten() {
        let cache = Cache::new(1 << 20, true);
        let moment = cache.moment(&7_i64);
        cache.forget(&[Change::Rules(7)]);
        cache.put_rules(7, Rulesets::default(), moment);
        assert!(cache.rules(7).is_none());
        cache.put_rules(7, Rulesets::default(), moment.after_own_write());
        assert!(cache.rules(7).is_some());
        cache.forget(&[Change::Everything]);
        assert!(cache.rules(7).is_none());
    }

    #[test]
    fn the_access_of_an_app_is_forgotten_alone_and_nobody_puts_it_in_again() {
        let cache = Cache::new(1 << 20, true);
        let put = |id: i64, app: i64| {
            let (digest, token) = token(id * 10 + app);
            let account = token.account.map(|account| TokenAccount { id, ..account });
            cache.put_token(digest, &Token { app, account, ..token }, cache.token_moment(&digest));
            digest
        };
        let [one, other, of_another] = [put(7, 1), put(7, 2), put(8, 1)];
        let (late, moment) = (put(7, 1), cache.token_moment(&one));
        let rules = cache.moment(&7_i64);
        let token = cache.token(&late).unwrap();

        cache.forget(&[Change::Access(7, Some(1))]);
        cache.put_token(late, &token, moment);
        assert!(cache.token(&one).is_none());
        assert!(cache.token(&other).is_some() && cache.token(&of_another).is_some());
        assert_eq!(cache.moment(&7_i64), rules, "rules do not pay for it");

        cache.forget(&[Change::Access(7, None)]);
        assert!(cache.token(&other).is_none() && cache.token(&of_another).is_some());
    }
}
