//! Conformance cases for the last use of tokens and apps, and for tokens that an app has too many
//! of.

use belfry_store::test_support::any_events;
use belfry_store::{NewToken, Store};
use jiff::Timestamp;

use super::{add_app, app, at, hashed, run_concurrently, token, with_alice};

const START: i64 = 1_800_000_000;

/// Uses a token at this time, as a request does.
pub(crate) async fn use_token(store: &Store, secret: &str, now: i64) {
    let token = store.token(hashed(secret)).await.unwrap().unwrap();
    store.record_use(hashed(secret).lookup, &token, at(now));
}

/// The stored last use of a token. Revoking it invalidates the cache.
async fn last_use(store: &Store, secret: &str) -> Option<Timestamp> {
    store.revoke_token(&any_events(), hashed(secret).lookup, at(1)).await.unwrap();
    store.token(hashed(secret)).await.unwrap().unwrap().last_used_at()
}

/// Issues a token to an app itself at this time.
async fn issue(store: &Store, app_id: i64, secret: &str, created_at: i64) {
    let new = NewToken { app_id, created_at: at(created_at), ..token(secret, None) };
    store.add_app_token(&new).await.unwrap();
}

pub(crate) async fn the_last_use_of_a_token_and_its_app_is_stored_once_an_hour(store: Store) {
    with_alice(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert_eq!(last_use(&store, "t").await, None);
    assert_eq!(store.app(1).await.unwrap().unwrap().last_used_at, None);
    for (now, expected, name) in [
        (START, START, "the first use"),
        (START + 3599, START, "within an hour"),
        (START + 3600, START + 3600, "an hour later"),
        (START - 3600, START - 3600, "the clock was set back"),
    ] {
        use_token(&store, "t", now).await;
        store.flush_uses().await.unwrap();
        assert_eq!(last_use(&store, "t").await, Some(at(expected)), "{name}");
        let app = store.app(1).await.unwrap().unwrap();
        assert_eq!(app.last_used_at, Some(at(expected)), "{name}");
    }
}

pub(crate) async fn issuing_a_token_without_a_user_is_a_use_of_the_app(store: Store) {
    with_alice(&store).await;
    issue(&store, 1, "t", START).await;
    store.flush_uses().await.unwrap();
    assert_eq!(store.app(1).await.unwrap().unwrap().last_used_at, Some(at(START)));
    assert_eq!(last_use(&store, "t").await, None);
}

pub(crate) async fn uses_recorded_during_a_flush_are_not_lost(store: Store) {
    with_alice(&store).await;
    let (store, names) = run_concurrently(store, |store, index| async move {
        let name = index.to_string();
        store.add_token(&any_events(), &token(&name, Some(7))).await.unwrap();
        use_token(&store, &name, START + index).await;
        store.flush_uses().await.unwrap();
        name
    })
    .await;
    store.flush_uses().await.unwrap();
    for name in names {
        let number: i64 = name.parse().unwrap();
        assert_eq!(last_use(&store, &name).await, Some(at(START + number)), "{name}");
    }
}

pub(crate) async fn the_least_recently_used_tokens_of_an_app_are_deleted_beyond_a_maximum(
    store: Store,
) {
    with_alice(&store).await;
    add_app(&store, &app(2, "other")).await;
    for (secret, created_at) in [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 3000)] {
        issue(&store, 1, secret, START + created_at).await;
        // Now it is cached.
        assert!(store.token(hashed(secret)).await.unwrap().is_some());
    }
    issue(&store, 2, "of another app", START).await;
    store.add_token(&any_events(), &token("of a user", Some(7))).await.unwrap();
    // It may have been used until an hour later.
    use_token(&store, "b", START + 10).await;
    store.flush_uses().await.unwrap();

    assert_eq!(store.delete_excess_app_tokens(3).await.unwrap(), 2);

    for (secret, remains) in [
        ("a", false),
        ("b", true),
        ("c", false),
        ("d", true),
        ("e", true),
        ("of another app", true),
        ("of a user", true),
    ] {
        assert_eq!(store.token(hashed(secret)).await.unwrap().is_some(), remains, "{secret}");
    }
    assert_eq!(store.delete_excess_app_tokens(1).await.unwrap(), 0, "none was issued since");
    issue(&store, 1, "f", START).await;
    assert_eq!(store.delete_excess_app_tokens(1).await.unwrap(), 3);
    assert!(store.token(hashed("b")).await.unwrap().is_some());
}

pub(crate) async fn tokens_issued_during_a_deletion_are_counted_by_the_next(store: Store) {
    with_alice(&store).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        for number in 0..3 {
            issue(&store, 1, &format!("{index} {number}"), START + number).await;
            store.delete_excess_app_tokens(10).await.unwrap();
        }
    })
    .await;
    store.delete_excess_app_tokens(10).await.unwrap();
    assert_eq!(store.app_tokens(1, at(START)).await.unwrap().valid, 10);
}
