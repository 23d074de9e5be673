//! Conformance cases for the last use of tokens and apps.

use belfry_store::test::any_events;
use belfry_store::{NewToken, Store};
use jiff::Timestamp;

use super::{add_alice_and_app, hashed_secret, run_concurrently, timestamp, token};

const START: i64 = 1_800_000_000;

pub(crate) async fn use_token(store: &Store, secret: &str, now: i64) {
    let token = store.token(hashed_secret(secret)).await.unwrap().unwrap();
    store.record_use(hashed_secret(secret).lookup_key, &token, timestamp(now));
}

/// Returns the stored last use of a token. Revoking it invalidates the cache.
async fn last_use(store: &Store, secret: &str) -> Option<Timestamp> {
    store
        .revoke_token(&any_events(), hashed_secret(secret).lookup_key, timestamp(1))
        .await
        .unwrap();
    store.token(hashed_secret(secret)).await.unwrap().unwrap().last_used_at()
}

pub(crate) async fn issue_app_token(store: &Store, app_id: i64, secret: &str, created_at: i64) {
    let new_token = NewToken { app_id, created_at: timestamp(created_at), ..token(secret, None) };
    store.add_app_token(&new_token).await.unwrap();
}

pub(crate) async fn the_last_use_of_a_token_and_its_app_is_stored_once_an_hour(store: Store) {
    add_alice_and_app(&store).await;
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
        assert_eq!(last_use(&store, "t").await, Some(timestamp(expected)), "{name}");
        let app = store.app(1).await.unwrap().unwrap();
        assert_eq!(app.last_used_at, Some(timestamp(expected)), "{name}");
    }
}

pub(crate) async fn issuing_an_app_token_counts_as_a_use_of_the_app(store: Store) {
    add_alice_and_app(&store).await;
    issue_app_token(&store, 1, "t", START).await;
    store.flush_uses().await.unwrap();
    assert_eq!(store.app(1).await.unwrap().unwrap().last_used_at, Some(timestamp(START)));
    assert_eq!(last_use(&store, "t").await, None);
}

pub(crate) async fn uses_recorded_during_a_flush_are_not_lost(store: Store) {
    add_alice_and_app(&store).await;
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
        assert_eq!(last_use(&store, &name).await, Some(timestamp(START + number)), "{name}");
    }
}
