//! Conformance cases for tokens, grants and sessions beyond their maximum numbers.

use belfry_core::oauth::grant::CodeGrant;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{AuditFilter, NewToken, Session, Store};

use super::grants::{count_grants, device};
use super::last_use::{issue_app_token, use_token};
use super::{
    account, add_alice_and_app, add_app, add_session, app, grant, hashed_secret, issue_code,
    redeem, run_concurrently, session, timestamp, token,
};

const START: i64 = 1_800_000_000;

/// Deletes the rows beyond the maximum numbers and returns their number. An app may have
/// `max_app_tokens` app tokens.
async fn delete_excess(store: &Store, max_app_tokens: usize) -> usize {
    delete_excess_at(store, max_app_tokens, START).await
}

async fn delete_excess_at(store: &Store, max_app_tokens: usize, now: i64) -> usize {
    let deleted_counts = store.delete_excess(max_app_tokens, timestamp(now)).await.unwrap();
    deleted_counts.into_iter().map(|(_, count)| count).sum()
}

/// Returns whether a token is valid; `None` if it is unknown.
async fn is_valid(store: &Store, secret: &str) -> Option<bool> {
    let token = store.token(hashed_secret(secret)).await.unwrap()?;
    Some(token.revoked_at.is_none())
}

/// Returns the kinds, counts and reasons of alice's events.
async fn read_events(store: &Store) -> Vec<(String, i64, Option<String>)> {
    let filter = AuditFilter { account: Some(7), ..recorded_events() };
    let events = store.audit_events(filter, 1000).await.unwrap();
    events.into_iter().map(|event| (event.kind, event.count, event.detail)).collect()
}

fn expected_event(kind: &str, count: i64, reason: &str) -> (String, i64, Option<String>) {
    (kind.to_owned(), count, Some(reason.to_owned()))
}

pub(crate) async fn the_least_recently_used_app_tokens_are_deleted_beyond_a_maximum(store: Store) {
    add_alice_and_app(&store).await;
    add_app(&store, &app(2, "other")).await;
    for (secret, created_at) in [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 3000)] {
        issue_app_token(&store, 1, secret, START + created_at).await;
        // Fills the cache.
        assert!(store.token(hashed_secret(secret)).await.unwrap().is_some());
    }
    issue_app_token(&store, 2, "of a different app", START).await;
    store.add_token(&any_events(), &token("of a user", Some(7))).await.unwrap();
    // Uses are stored with a precision of one hour, so this token counts as used an hour later.
    use_token(&store, "b", START + 10).await;
    store.flush_uses().await.unwrap();

    let later = START + 7200;
    assert_eq!(delete_excess_at(&store, 3, later).await, 2);

    for (secret, remains) in [
        ("a", false),
        ("b", true),
        ("c", false),
        ("d", true),
        ("e", true),
        ("of a different app", true),
        ("of a user", true),
    ] {
        assert_eq!(
            store.token(hashed_secret(secret)).await.unwrap().is_some(),
            remains,
            "{secret}"
        );
    }
    assert_eq!(delete_excess(&store, 1).await, 0, "none was issued since the last deletion");
    issue_app_token(&store, 1, "f", START).await;
    assert_eq!(delete_excess_at(&store, 1, later).await, 3);
    assert!(store.token(hashed_secret("b")).await.unwrap().is_some());
}

pub(crate) async fn a_new_token_is_not_deleted_before_its_first_use(store: Store) {
    add_alice_and_app(&store).await;
    for (number, secret) in ["a", "b", "c"].into_iter().enumerate() {
        issue_app_token(&store, 1, secret, START).await;
        use_token(&store, secret, START + 100 + i64::try_from(number).unwrap()).await;
    }
    for number in 0..100 {
        let secret = format!("of alice {number}");
        store.add_token(&any_events(), &token(&secret, Some(7))).await.unwrap();
        use_token(&store, &secret, START + 100 + number).await;
    }
    store.flush_uses().await.unwrap();
    issue_app_token(&store, 1, "new", START + 120).await;
    let created_at = timestamp(START + 120);
    let new_token = NewToken { created_at, ..token("new of alice", Some(7)) };
    store.add_token(&any_events(), &new_token).await.unwrap();

    assert_eq!(delete_excess_at(&store, 2, START + 150).await, 3);
    for (secret, remains) in [
        ("a", false),
        ("b", false),
        ("c", true),
        ("new", true),
        ("of alice 0", false),
        ("of alice 1", true),
        ("new of alice", true),
    ] {
        let is_stored = store.token(hashed_secret(secret)).await.unwrap().is_some();
        assert_eq!(is_stored, remains, "{secret}");
    }
}

pub(crate) async fn tokens_issued_during_a_deletion_are_counted_by_the_next_deletion(store: Store) {
    add_alice_and_app(&store).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        for number in 0..3 {
            issue_app_token(&store, 1, &format!("{index} {number}"), START + number).await;
            delete_excess(&store, 10).await;
        }
    })
    .await;
    delete_excess(&store, 10).await;
    assert_eq!(store.app_tokens(1, timestamp(START)).await.unwrap().valid_count, 10);
}

pub(crate) async fn the_100_most_recently_used_valid_tokens_of_a_grant_remain(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_app(&store, &app(2, "other")).await;
    let names: Vec<String> = (0..103).map(|number| format!("t{number:03}")).collect();
    for (number, name) in names.iter().enumerate() {
        let created_at = timestamp(START + i64::try_from(number).unwrap());
        let new_token = NewToken { created_at, ..token(name, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    for (name, app_id, account, scopes) in [
        ("of a different app", 2, 7, "read push"),
        ("of a different account", 1, 8, "read push"),
        ("of a different grant", 1, 7, "read"),
    ] {
        let scopes = scopes.parse().unwrap();
        let new_token = NewToken { app_id, scopes, ..token(name, Some(account)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    use_token(&store, "t000", START + 1000).await;
    store.flush_uses().await.unwrap();
    // Fills the cache.
    assert_eq!(is_valid(&store, "t001").await, Some(true));

    assert_eq!(delete_excess(&store, 1).await, 3);

    for name in &names {
        let remains = !["t001", "t002", "t003"].contains(&name.as_str());
        assert_eq!(is_valid(&store, name).await.is_some(), remains, "{name}");
    }
    for name in ["of a different app", "of a different account", "of a different grant"] {
        assert_eq!(is_valid(&store, name).await, Some(true), "{name}");
    }
    let expected = [expected_event("token_revoke", 3, "more than 100 tokens of a grant")];
    assert_eq!(read_events(&store).await, expected);
    assert_eq!(delete_excess(&store, 1).await, 0, "none was issued since the last deletion");
}

pub(crate) async fn a_redeemed_code_counts_like_an_issued_token(store: Store) {
    add_alice_and_app(&store).await;
    for number in 0..101 {
        let (code, token) = (format!("c{number}"), format!("t{number}"));
        issue_code(&store, &code, &grant()).await;
        assert!(redeem(&store, &code, &token).await);
    }
    assert_eq!(delete_excess(&store, 1).await, 1);
}

pub(crate) async fn at_most_100_invalid_tokens_per_account_and_app_remain(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("valid", Some(7))).await.unwrap();
    for number in 0..120 {
        let scopes = if number % 2 == 0 { "read push" } else { "read" }.parse().unwrap();
        // Those of one grant were revoked, those of the other have expired.
        let expires_at = (number % 2 == 1).then(|| timestamp(START));
        let created_at = timestamp(START - 1000 + number);
        let name = format!("t{number}");
        let new_token = NewToken { scopes, expires_at, created_at, ..token(&name, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
        if number % 2 == 0 {
            store
                .revoke_token(&any_events(), hashed_secret(&name).lookup_key, timestamp(START))
                .await
                .unwrap();
        }
    }
    assert_eq!(delete_excess(&store, 1).await, 20);
    assert_eq!(is_valid(&store, "valid").await, Some(true));
    assert_eq!(is_valid(&store, "t19").await, None);
    assert_eq!(is_valid(&store, "t20").await, Some(false));
    assert_eq!(read_events(&store).await, [], "they were invalid already");
    assert_eq!(count_grants(&store).await, 2);
}

pub(crate) async fn a_grant_is_deleted_when_its_last_token_exceeds_the_maximum(store: Store) {
    add_alice_and_app(&store).await;
    let add_token = async |name: &str, scopes: &str, expires_at: i64| {
        let scopes = scopes.parse().unwrap();
        let created_at = timestamp(expires_at - 10);
        let expires_at = Some(timestamp(expires_at));
        let new_token = NewToken { scopes, expires_at, created_at, ..token(name, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    };
    add_token("old", "read", START - 500).await;
    for number in 0..100 {
        add_token(&format!("t{number}"), "write", START - number).await;
    }
    assert_eq!(count_grants(&store).await, 2);
    assert_eq!(delete_excess(&store, 1).await, 1);
    assert_eq!(is_valid(&store, "old").await, None);
    assert_eq!(count_grants(&store).await, 1);
}

pub(crate) async fn the_500_most_recently_used_grants_of_an_account_remain(store: Store) {
    add_alice_and_app(&store).await;
    let names: Vec<String> = (0..502).map(|number| format!("t{number:03}")).collect();
    for (number, name) in names.iter().enumerate() {
        let created_at = timestamp(START + i64::try_from(number).unwrap());
        let device = Some(device(name, ""));
        let new_token = NewToken { created_at, device, ..token(name, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    use_token(&store, "t000", START + 1000).await;
    store.flush_uses().await.unwrap();
    let pending_grant = CodeGrant { expires_at: timestamp(START + 600), ..grant() };
    issue_code(&store, "new", &pending_grant).await;
    assert_eq!(count_grants(&store).await, 503);
    // Fills the cache.
    assert_eq!(is_valid(&store, "t001").await, Some(true));

    assert_eq!(delete_excess(&store, 1).await, 3);

    assert_eq!(count_grants(&store).await, 500);
    // The code's grant is the oldest, because it was created at the time of the consent.
    for (name, expected) in [("t000", true), ("t001", false), ("t002", false), ("t003", true)] {
        assert_eq!(is_valid(&store, name).await, Some(expected), "{name}");
    }
    let expected = expected_event("token_revoke", 1, "more than 500 grants");
    assert_eq!(read_events(&store).await, [expected.clone(), expected]);
}

pub(crate) async fn the_50_most_recently_used_sessions_of_an_account_remain(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_session(&store, hashed_secret("of bob"), &session(8, START + 600)).await;
    for number in 0..53 {
        let seen_at = timestamp(START + number);
        let new_session = Session { seen_at, ..session(7, START + 600) };
        add_session(&store, hashed_secret(&format!("s{number}")), &new_session).await;
    }
    store
        .record_session_use(
            hashed_secret("s0").lookup_key,
            timestamp(START + 100),
            timestamp(START + 600),
        )
        .await
        .unwrap();

    assert_eq!(delete_excess(&store, 1).await, 3);

    let is_stored = async |name: &str| {
        store.session(hashed_secret(name), timestamp(START)).await.unwrap().is_some()
    };
    for (name, remains) in
        [("s0", true), ("s1", false), ("s2", false), ("s3", false), ("s4", true), ("of bob", true)]
    {
        assert_eq!(is_stored(name).await, remains, "{name}");
    }
    assert_eq!(read_events(&store).await, [expected_event("sign_out", 3, "more than 50 sessions")]);
}
