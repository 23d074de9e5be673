//! Tests of the cache.

use belfry_core::account::Role;
use belfry_core::oauth::token::{Token, TokenAccount};
use belfry_core::secret::{HashedSecret, SplitToken};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use quick_cache::Weighter;

use super::*;
use crate::engine::options::Options;

fn new_token(id: i64) -> (HashedSecret, Token) {
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
    (SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed_secret(), token)
}

fn stored_token(token: Token) -> Arc<StoredToken> {
    Arc::new(StoredToken::new(token, None, None))
}

fn insert_token(cache: &Cache, secret: HashedSecret, token: Token, epoch: ReadEpoch) {
    cache.tokens.insert(secret.lookup_key, (secret.digest, stored_token(token)), epoch);
}

#[test]
fn a_million_users_without_rules_fit_into_the_default_size() {
    const USERS: u64 = 1_000_000;
    let cache = Cache::new(Options::default().cache_bytes, true);
    let (secret, token) = new_token(999_999);
    let value = (secret.digest, stored_token(token));
    let slots = [0; 2];
    let invalidation_number = 0;
    let token_entry = Entry { value, slots, invalidation_number };
    let token_bytes = ByteWeighter.weight(&secret.lookup_key, &token_entry);
    let value = StoredRulesets::default();
    let rules_bytes = ByteWeighter.weight(&7, &Entry { value, slots, invalidation_number });
    assert!(token_bytes * USERS <= cache.tokens.entries.capacity(), "{token_bytes} bytes each");
    assert!(rules_bytes * USERS <= cache.rules.entries.capacity(), "{rules_bytes} bytes each");
}

#[test]
fn entries_are_evicted_when_the_cache_is_full() {
    let cache = Cache::new(128 * 1024, true);
    for id in 0..5000 {
        let (secret, token) = new_token(id);
        insert_token(&cache, secret, token, cache.tokens.epoch(&secret.lookup_key));
        cache.rules.insert(id, StoredRulesets::default(), cache.rules.epoch(&id));
        let name: Box<str> = format!("person_{id}").into();
        let epoch = cache.accounts.epoch(&name);
        cache.accounts.insert(name, id, epoch);
    }
    let Cache { tokens, rules, accounts, .. } = &cache;
    let weight = tokens.entries.weight() + rules.entries.weight() + accounts.entries.weight();
    assert!(weight <= 128 * 1024);
    assert!(tokens.entries.len() > 100 && rules.entries.len() > 100);
    assert!(accounts.entries.len() > 40);
}

#[test]
fn a_value_read_before_an_invalidation_is_not_inserted() {
    let cache = Cache::new(1 << 20, true);
    let epoch = cache.rules.epoch(&7);
    cache.invalidate(&[Invalidation::Rules(7)]);
    cache.rules.insert(7, StoredRulesets::default(), epoch);
    assert!(cache.rules.get(&7).is_none());
    cache.rules.insert(7, StoredRulesets::default(), epoch.after_write());
    assert!(cache.rules.get(&7).is_some());
    cache.invalidate(&[Invalidation::Everything]);
    assert!(cache.rules.get(&7).is_none());
}

/// Two readers miss the cache while a write is in progress: one reads the old value and one the
/// new one. If the first filled the cache, the second would see the old value next.
#[test]
fn nothing_is_cached_for_a_key_that_is_being_written() {
    for invalidation in [Invalidation::Rules(7), Invalidation::Account(7), Invalidation::Everything]
    {
        let cache = Cache::new(1 << 20, true);
        let epoch_before_write = cache.rules.epoch(&7);
        cache.rules.insert(7, StoredRulesets::default(), epoch_before_write);
        cache.begin_write(&[invalidation]);
        assert!(cache.rules.get(&7).is_none(), "an entry from before the write is bypassed");
        let epoch_during_write = cache.rules.epoch(&7);
        cache.rules.insert(7, StoredRulesets::default(), epoch_during_write);
        assert!(cache.rules.get(&7).is_none(), "a read during the write is not cached");
        cache.end_write(&[invalidation]);
        for stale_epoch in [epoch_before_write, epoch_during_write] {
            cache.rules.insert(7, StoredRulesets::default(), stale_epoch);
            assert!(cache.rules.get(&7).is_none(), "a stale read is not cached after the write");
        }
        cache.rules.insert(7, StoredRulesets::default(), cache.rules.epoch(&7));
        assert!(cache.rules.get(&7).is_some());
    }
}

fn cache_token(cache: &Cache, account: i64, app_id: i64) -> LookupKey {
    let (secret, token) = new_token(account * 10 + app_id);
    let account = token.account.map(|owner| TokenAccount { id: account, ..owner });
    let epoch = cache.tokens.epoch(&secret.lookup_key);
    insert_token(cache, secret, Token { app_id, account, ..token }, epoch);
    secret.lookup_key
}

#[test]
fn invalidating_an_account_or_app_affects_only_its_entries() {
    let cache = Cache::new(1 << 20, true);
    let tokens =
        [(7, 1), (7, 2), (8, 1), (8, 2)].map(|(account, app)| cache_token(&cache, account, app));
    for (name, id) in [("alice", 7), ("bob", 8)] {
        cache.accounts.insert(name.into(), id, cache.accounts.epoch(name));
        cache.rules.insert(id, StoredRulesets::default(), cache.rules.epoch(&id));
    }
    let cached_entries = || {
        let tokens = tokens.map(|lookup| cache.tokens.get(&lookup).is_some());
        let accounts = ["alice", "bob"].map(|name| cache.accounts.get(name).is_some());
        (tokens, accounts, [7, 8].map(|id| cache.rules.get(&id).is_some()))
    };
    assert_eq!(cached_entries(), ([true; 4], [true; 2], [true; 2]));
    let rules_epoch = cache.rules.epoch(&7);
    cache.invalidate(&[Invalidation::AppSecret(1), Invalidation::App(99)]);
    assert_eq!(cached_entries(), ([true; 4], [true; 2], [true; 2]));
    cache.invalidate(&[Invalidation::App(2)]);
    assert_eq!(cached_entries(), ([true, false, true, false], [true; 2], [true; 2]));
    assert!(rules_epoch.is_same(cache.rules.epoch(&7)));
    cache.invalidate(&[Invalidation::Account(7)]);
    assert_eq!(cached_entries(), ([false, false, true, false], [false, true], [false, true]));
    assert!(!rules_epoch.is_same(cache.rules.epoch(&7)), "compiled rules are stale too");
}

#[test]
fn a_read_that_began_before_its_account_was_invalidated_is_not_cached() {
    let cache = Cache::new(1 << 20, true);
    let (secret, token) = new_token(7);
    let is_cached = || cache.tokens.get(&secret.lookup_key).is_some();
    let epoch_before_write = cache.tokens.epoch(&secret.lookup_key);
    cache.begin_write(&[Invalidation::Account(7)]);
    let epoch_during_write = cache.tokens.epoch(&secret.lookup_key);
    insert_token(&cache, secret, token.clone(), epoch_during_write);
    assert!(!is_cached(), "the account is being written");
    // A second write of the account ends first.
    cache.invalidate(&[Invalidation::Account(7)]);
    insert_token(&cache, secret, token.clone(), cache.tokens.epoch(&secret.lookup_key));
    assert!(!is_cached(), "the account is still being written");
    cache.end_write(&[Invalidation::Account(7)]);
    for stale_epoch in [epoch_before_write, epoch_during_write] {
        insert_token(&cache, secret, token.clone(), stale_epoch);
        assert!(!is_cached());
    }
    insert_token(&cache, secret, token, cache.tokens.epoch(&secret.lookup_key));
    assert!(is_cached());
}

/// A collision costs only one more read, after which the other account is cached again.
#[test]
fn accounts_that_share_a_slot_are_invalidated_together() {
    let cache = Cache::new(1 << 20, true);
    let slot = |account| cache.shared.subjects.hash_slots([CacheSubject::Account(account); 2]);
    let other_account = (8..i64::MAX).find(|&account| slot(account) == slot(7)).unwrap();
    let lookup = cache_token(&cache, other_account, 1);
    cache.invalidate(&[Invalidation::Account(7)]);
    assert!(cache.tokens.get(&lookup).is_none());
    cache_token(&cache, other_account, 1);
    assert!(cache.tokens.get(&lookup).is_some());
}

/// A step of a reader or writer of one of two accounts.
#[derive(Debug, Clone, Copy)]
enum Step {
    BeginRead(usize),
    Query(usize),
    EndRead(usize),
    BeginWrite(usize),
    Commit(usize),
    EndWrite(usize),
}

proptest! {
    /// Readers and writers in any interleaving. Each account has two tokens, whose creation time is
    /// the account's version.
    #[test]
    fn cached_reads_are_monotonic(steps in vec((0..6, 0..4_usize), 0..60)) {
        let steps = steps.into_iter().map(|(step, index)| match step {
            0 => Step::BeginRead(index),
            1 => Step::Query(index),
            2 => Step::EndRead(index),
            3 => Step::BeginWrite(index),
            4 => Step::Commit(index),
            _ => Step::EndWrite(index),
        });
        let cache = Cache::new(1 << 20, true);
        let tokens = [0, 1, 2, 3].map(new_token);
        let account_index = |index: usize| index % 2;
        let account_id = |index| i64::try_from(account_index(index)).unwrap();
        let invalidation = |index| [Invalidation::Account(account_id(index))];
        let mut stored_versions = [0; 2];
        let mut returned_versions = [0; 2];
        let mut reads = [None; 4];
        let mut writes = [None; 4];
        for step in steps {
            match step {
                Step::BeginRead(index) => {
                    let (secret, _) = &tokens[index];
                    if let Some((_, cached_token)) = cache.tokens.get(&secret.lookup_key) {
                        let version = cached_token.created_at.as_second();
                        let returned_version = &mut returned_versions[account_index(index)];
                        prop_assert!(version >= *returned_version, "{version}");
                        *returned_version = version;
                    } else {
                        reads[index] = Some((cache.tokens.epoch(&secret.lookup_key), None));
                    }
                }
                Step::Query(index) => {
                    if let Some((_, version @ None)) = &mut reads[index] {
                        *version = Some(stored_versions[account_index(index)]);
                    }
                }
                Step::EndRead(index) => {
                    if let Some((epoch, Some(version))) = reads[index] {
                        let (secret, token) = tokens[index].clone();
                        let account = token.account.map(|owner| {
                            TokenAccount { id: account_id(index), ..owner }
                        });
                        let created_at = Timestamp::from_second(version).unwrap();
                        insert_token(&cache, secret, Token { account, created_at, ..token }, epoch);
                        reads[index] = None;
                        let newest = &mut returned_versions[account_index(index)];
                        *newest = version.max(*newest);
                    }
                }
                Step::BeginWrite(index) if writes[index].is_none() => {
                    cache.begin_write(&invalidation(index));
                    writes[index] = Some(false);
                }
                Step::Commit(index) if writes[index] == Some(false) => {
                    stored_versions[account_index(index)] += 1;
                    writes[index] = Some(true);
                }
                Step::EndWrite(index) if writes[index].is_some() => {
                    cache.end_write(&invalidation(index));
                    if writes[index].take() == Some(true) {
                        let newest = &mut returned_versions[account_index(index)];
                        *newest = stored_versions[account_index(index)].max(*newest);
                    }
                }
                _ => {}
            }
        }
    }
}
