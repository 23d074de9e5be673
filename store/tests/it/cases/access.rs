//! Conformance cases for the apps with access to an account.

use belfry_core::oauth::client::Registrar;
use belfry_core::oauth::grant::CodeGrant;
use belfry_store::test::any_events;
use belfry_store::{AuthorizedApp, NewToken, Store};

use super::{
    add_alice_and_app, add_app, grant, hashed_secret, issue_code, run_concurrently, timestamp,
    token,
};

/// Adds the apps 1 and 2, and account 7.
async fn add_alice_and_two_apps(store: &Store) {
    add_alice_and_app(store).await;
    let mut other_app = super::app(2, "other");
    "Other".clone_into(&mut other_app.app.details.name);
    other_app.app.details.website = None;
    add_app(store, &other_app).await;
}

async fn issue_token(store: &Store, secret: &str, app: i64, account: Option<i64>) {
    store
        .add_token(&any_events(), &NewToken { app_id: app, ..token(secret, account) })
        .await
        .unwrap();
}

fn code_grant(app: i64, account: i64) -> CodeGrant {
    CodeGrant { app_id: app, account_id: account, ..grant() }
}

async fn authorized_app_ids(store: &Store, account: i64, now: i64) -> Vec<i64> {
    store
        .authorized_apps(account, timestamp(now))
        .await
        .unwrap()
        .iter()
        .map(|app| app.app_id)
        .collect()
}

pub(crate) async fn authorized_apps_are_those_with_valid_tokens(store: Store) {
    add_alice_and_two_apps(&store).await;
    assert!(authorized_app_ids(&store, 7, 1).await.is_empty());
    issue_token(&store, "one", 1, Some(7)).await;
    let expiring_token =
        NewToken { app_id: 2, expires_at: Some(timestamp(100)), ..token("two", Some(7)) };
    store.add_token(&any_events(), &expiring_token).await.unwrap();
    issue_token(&store, "app only", 2, None).await;
    issue_token(&store, "other account", 1, Some(8)).await;

    assert_eq!(authorized_app_ids(&store, 7, 99).await, [1, 2]);
    assert_eq!(authorized_app_ids(&store, 7, 100).await, [1]);
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(1))).await.unwrap();
    assert_eq!(authorized_app_ids(&store, 7, 99).await, [2]);
    store.set_app_disabled_at(&any_events(), 1, None).await.unwrap();
    store.revoke_token(&any_events(), hashed_secret("one").lookup_key, timestamp(1)).await.unwrap();
    assert_eq!(authorized_app_ids(&store, 7, 99).await, [2]);
}

pub(crate) async fn an_authorized_app_has_the_scopes_and_the_earliest_time_of_its_valid_tokens(
    store: Store,
) {
    add_alice_and_two_apps(&store).await;
    for (secret, scopes, created_at) in
        [("d", "write", 5), ("c", "read", 10), ("b", "push", 20), ("a", "read", 30)]
    {
        let scopes = scopes.parse().unwrap();
        let created_at = timestamp(created_at);
        let new_token = NewToken { scopes, created_at, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    store.revoke_token(&any_events(), hashed_secret("d").lookup_key, timestamp(40)).await.unwrap();
    let expected = AuthorizedApp {
        app_id: 1,
        client_id: "client".to_owned(),
        registered_by: Registrar::Api,
        name: "Tusky".to_owned(),
        website: Some("https://tusky.app".to_owned()),
        scopes: "push read".parse().unwrap(),
        since: timestamp(10),
    };
    let apps = store.authorized_apps(7, timestamp(50)).await.unwrap();
    assert_eq!(apps[0].scopes.to_string(), "push read");
    assert_eq!(apps, [expected]);
}

pub(crate) async fn revoking_access_revokes_the_tokens_immediately_and_nothing_else(store: Store) {
    add_alice_and_two_apps(&store).await;
    store.add_account(&any_events(), &super::account(8, "bob")).await.unwrap();
    let other_tokens = [("other app", 2, Some(7)), ("other", 1, Some(8)), ("app only", 1, None)];
    for (secret, app, account) in
        other_tokens.into_iter().chain([("a", 1, Some(7)), ("b", 1, Some(7))])
    {
        issue_token(&store, secret, app, account).await;
        // Fills the cache.
        assert!(store.token(hashed_secret(secret)).await.unwrap().is_some());
    }
    let expired_token = NewToken { expires_at: Some(timestamp(5)), ..token("expired", Some(7)) };
    store.add_token(&any_events(), &expired_token).await.unwrap();
    store.revoke_token(&any_events(), hashed_secret("b").lookup_key, timestamp(9)).await.unwrap();

    assert_eq!(
        store.revoke_access(&any_events(), 7, 1, timestamp(10)).await.unwrap(),
        1,
        "one token was still valid"
    );

    let revoked_at =
        async |secret| store.token(hashed_secret(secret)).await.unwrap().unwrap().revoked_at;
    assert_eq!(revoked_at("a").await, Some(timestamp(10)));
    assert_eq!(
        revoked_at("b").await,
        Some(timestamp(9)),
        "the time of the first revocation remains"
    );
    for (secret, ..) in other_tokens {
        assert_eq!(revoked_at(secret).await, None, "{secret}");
    }
    assert_eq!(
        (authorized_app_ids(&store, 7, 11).await, authorized_app_ids(&store, 8, 11).await),
        (vec![2], vec![1])
    );
}

pub(crate) async fn revoking_access_deletes_unredeemed_codes(store: Store) {
    add_alice_and_two_apps(&store).await;
    for (secret, app, account) in
        [("a", 1, 7), ("redeemed", 1, 7), ("other app", 2, 7), ("b", 1, 8)]
    {
        issue_code(&store, secret, &code_grant(app, account)).await;
    }
    let redeem =
        async |secret: &str| super::redeem(&store, secret, &format!("token of {secret}")).await;
    assert!(redeem("redeemed").await);

    assert_eq!(store.revoke_access(&any_events(), 7, 1, timestamp(20)).await.unwrap(), 1);

    assert!(!redeem("a").await);
    assert!(redeem("other app").await && redeem("b").await);
    // The token of a redeemed code remains, so that a replay can be detected.
    let redeemed_code = store.code(hashed_secret("redeemed")).await.unwrap().unwrap();
    assert_eq!(redeemed_code.token, Some(hashed_secret("token of redeemed").lookup_key));
}

pub(crate) async fn revoking_access_that_does_not_exist_has_no_effect(store: Store) {
    add_alice_and_two_apps(&store).await;
    issue_token(&store, "t", 1, Some(7)).await;
    for (account, app) in [(8, 1), (7, 2), (7, 99), (0, 0), (i64::MIN, i64::MAX)] {
        assert_eq!(
            store.revoke_access(&any_events(), account, app, timestamp(10)).await.unwrap(),
            0
        );
    }
    assert_eq!(store.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at, None);
    for count in [1, 0, 0] {
        assert_eq!(store.revoke_access(&any_events(), 7, 1, timestamp(10)).await.unwrap(), count);
    }
}

pub(crate) async fn no_code_redeemed_concurrently_with_a_revocation_leaves_a_valid_token(
    store: Store,
) {
    add_alice_and_two_apps(&store).await;
    for index in 0..super::CONCURRENT_TASKS {
        issue_code(&store, &format!("c{index}"), &code_grant(1, 7)).await;
    }
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == super::CONCURRENT_TASKS / 2 {
            store.revoke_access(&any_events(), 7, 1, timestamp(20)).await.unwrap();
            return;
        }
        let token = format!("t{index}");
        if super::redeem(&store, &format!("c{index}"), &token).await {
            // Fills the cache concurrently with the invalidation.
            store.token(hashed_secret(&token)).await.unwrap();
        }
    })
    .await;
    assert!(authorized_app_ids(&store, 7, 21).await.is_empty());
    for index in 0..super::CONCURRENT_TASKS {
        let token = store.token(hashed_secret(&format!("t{index}"))).await.unwrap();
        assert!(token.is_none_or(|token| token.revoked_at.is_some()), "{index}");
    }
}
