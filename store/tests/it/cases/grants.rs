//! Conformance cases for grants.

use belfry_core::matrix::{Device, LoginRequest};
use belfry_core::oauth::grant::{Binding, CodeGrant};
use belfry_store::test::any_events;
use belfry_store::{NewToken, RetentionSettings, Store, SweepOutcome, WriteOutcome};
use serde_json::json;

use super::retention::settle;
use super::{
    CONCURRENT_TASKS, account, add_alice_and_app, add_app, app, ensure_session, grant,
    hashed_secret, issue_code, redeem, run_concurrently, timestamp, token,
};

const START: i64 = 1_800_000_000;
const DAY: i64 = 24 * 3600;

pub(crate) fn device(id: &str, name: &str) -> Device {
    let body = json!({
        "type": "m.login.password",
        "user": "alice",
        "password": "p",
        "device_id": id,
        "initial_device_display_name": name,
    });
    LoginRequest::parse(body.to_string().as_bytes()).unwrap().device.into_device([0; 10])
}

/// Returns the number of stored grants, active or not.
pub(crate) async fn count_grants(store: &Store) -> usize {
    store.count_grants().await
}

/// Returns the number of alice's active grants to app 1.
async fn count_active_grants(store: &Store, now: i64) -> usize {
    store.active_grants(7, 1, timestamp(now)).await.unwrap().len()
}

/// Returns the number of valid tokens with a grant from alice to app 1.
async fn count_tokens(store: &Store, now: i64) -> i64 {
    i64::try_from(store.account_app_tokens(7, 1, timestamp(now)).await.unwrap().len()).unwrap()
}

/// Returns the time since which app 1 has access, as Unix time in seconds.
async fn authorized_since(store: &Store, now: i64) -> i64 {
    store.authorized_apps(7, timestamp(now)).await.unwrap()[0].since.as_second()
}

async fn revoke_token(store: &Store, secret: &str) {
    store
        .revoke_token(&any_events(), hashed_secret(secret).lookup_key, timestamp(30))
        .await
        .unwrap();
}

pub(crate) async fn a_grant_is_created_with_a_code_and_is_active_with_its_token(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!((count_grants(&store).await, count_active_grants(&store, 20).await), (1, 0));
    assert!(redeem(&store, "c", "t").await);
    assert_eq!((count_grants(&store).await, count_active_grants(&store, 20).await), (1, 1));
    assert_eq!(
        authorized_since(&store, 20).await,
        1,
        "access begins when the user consents, not when the code is redeemed"
    );
    store.add_app_token(&token("app", None)).await.unwrap();
    assert_eq!(count_grants(&store).await, 1, "an app token has no grant");
}

pub(crate) async fn a_grant_is_identified_by_scopes_redirect_uri_and_device(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_app(&store, &app(2, "other")).await;
    let redeem_code = async |name: &str, scopes: &str, redirect_uri: &str| {
        let binding = Binding { redirect_uri: redirect_uri.to_owned(), challenge: None };
        let grant = CodeGrant { scopes: scopes.parse().unwrap(), binding, ..grant() };
        issue_code(&store, name, &grant).await;
        assert!(redeem(&store, name, &format!("token of {name}")).await);
    };
    let issue_token = async |name: &str, device, app_id, account| {
        let new_token = NewToken { device, app_id, ..token(name, Some(account)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    };
    for (name, scopes, uri, expected) in [
        ("first", "read push", "https://tusky.app/cb", 1),
        ("in a different order", "push read", "https://tusky.app/cb", 1),
        ("a different https URI", "read push", "HTTPS://tusky.app/other", 1),
        ("different scopes", "read", "https://tusky.app/cb", 2),
        ("an app URI", "read push", "tusky://oauth", 3),
        ("a different app URI", "read push", "tusky://other", 4),
        ("the same app URI", "read push", "tusky://oauth", 4),
    ] {
        redeem_code(name, scopes, uri).await;
        assert_eq!(
            (count_grants(&store).await, count_active_grants(&store, 20).await),
            (expected, expected),
            "{name}"
        );
    }
    // Tokens without a code have no redirect URI, like codes for https.
    issue_token("without a code", None, 1, 7).await;
    assert_eq!(count_active_grants(&store, 20).await, 4);
    issue_token("device", Some(device("A", "")), 1, 7).await;
    issue_token("different device", Some(device("B", "")), 1, 7).await;
    issue_token("same device", Some(device("A", "named")), 1, 7).await;
    assert_eq!(count_active_grants(&store, 20).await, 6);
    issue_token("different app", None, 2, 7).await;
    issue_token("different account", None, 1, 8).await;
    assert_eq!((count_grants(&store).await, count_active_grants(&store, 20).await), (8, 6));
}

pub(crate) async fn a_grant_without_a_valid_token_is_inactive(store: Store) {
    add_alice_and_app(&store).await;
    for (secret, created_at, expires_at) in [("a", 10, None), ("b", 20, None), ("c", 5, Some(60))] {
        let created_at = timestamp(created_at);
        let expires_at = expires_at.map(timestamp);
        let new_token = NewToken { created_at, expires_at, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    assert_eq!(
        (count_active_grants(&store, 30).await, authorized_since(&store, 30).await),
        (1, 10)
    );
    revoke_token(&store, "a").await;
    assert_eq!(
        (count_active_grants(&store, 30).await, authorized_since(&store, 30).await),
        (1, 10),
        "the grant continues"
    );
    revoke_token(&store, "b").await;
    assert_eq!(
        (count_active_grants(&store, 59).await, count_active_grants(&store, 60).await),
        (1, 0)
    );
    assert!(store.authorized_apps(7, timestamp(60)).await.unwrap().is_empty());

    let new_token = NewToken { created_at: timestamp(70), ..token("d", Some(7)) };
    store.add_token(&any_events(), &new_token).await.unwrap();
    assert_eq!(
        (count_active_grants(&store, 70).await, authorized_since(&store, 70).await),
        (1, 70),
        "the grant gets a new creation time"
    );
}

pub(crate) async fn revoking_access_deletes_only_the_apps_grants(store: Store) {
    add_alice_and_app(&store).await;
    add_app(&store, &app(2, "other")).await;
    issue_code(&store, "pending", &grant()).await;
    for (secret, app_id) in [("a", 1), ("b", 2)] {
        let new_token = NewToken { app_id, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    assert_eq!(count_grants(&store).await, 3);
    store.revoke_access(&any_events(), 7, 1, timestamp(30)).await.unwrap();
    assert_eq!(count_grants(&store).await, 1);
    assert_eq!(store.active_grants(7, 2, timestamp(30)).await.unwrap().len(), 1);
    store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
    assert_eq!(count_grants(&store).await, 0);
}

pub(crate) async fn grants_are_deleted_with_their_app(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "pending", &grant()).await;
    store.delete_app(&any_events(), 1).await.unwrap();
    assert_eq!(count_grants(&store).await, 0);
}

pub(crate) async fn a_login_revokes_earlier_tokens_for_its_device(store: Store) {
    add_alice_and_app(&store).await;
    let login = async |secret: &str, id: &str, name: &str, credential_version: i64| {
        let new_token = NewToken { device: Some(device(id, name)), ..token(secret, Some(7)) };
        store.add_token_for_password(&any_events(), &new_token, credential_version).await.unwrap()
    };
    let device_names = async || {
        let tokens = store.account_app_tokens(7, 1, timestamp(START)).await.unwrap();
        let mut names: Vec<_> = tokens.into_iter().filter_map(|token| token.device_name).collect();
        names.sort();
        names
    };
    assert_eq!(login("a", "PHONE", "Element on Pixel", 0).await, WriteOutcome::Written);
    assert_eq!(login("b", "LAPTOP", "", 0).await, WriteOutcome::Written);
    assert_eq!(device_names().await, ["Element on Pixel"]);
    // Fills the cache.
    assert!(store.token(hashed_secret("a")).await.unwrap().unwrap().revoked_at.is_none());

    assert_eq!(login("rejected", "PHONE", "", 1).await, WriteOutcome::NotFound);
    assert!(store.token(hashed_secret("a")).await.unwrap().unwrap().revoked_at.is_none());
    assert_eq!(
        login("c", "PHONE", "a known device keeps its name", 0).await,
        WriteOutcome::Written
    );
    assert!(store.token(hashed_secret("a")).await.unwrap().unwrap().revoked_at.is_some());
    assert_eq!(device_names().await, ["Element on Pixel"]);
    for (secret, id) in [("b", Some("LAPTOP")), ("c", Some("PHONE")), ("none", None)] {
        let device_id = store.token_device_id(hashed_secret(secret).lookup_key).await.unwrap();
        assert_eq!(device_id.as_deref(), id, "{secret}");
    }

    revoke_token(&store, "c").await;
    assert_eq!(login("d", "PHONE", "FluffyChat", 0).await, WriteOutcome::Written);
    assert_eq!(device_names().await, ["FluffyChat"], "after a logout the device is new");
}

pub(crate) async fn a_sweep_deletes_a_grant_with_its_last_code_or_token(store: Store) {
    add_alice_and_app(&store).await;
    let grant_with_scopes = |scopes: &str, expires_at| CodeGrant {
        scopes: scopes.parse().unwrap(),
        expires_at: timestamp(expires_at),
        ..grant()
    };
    issue_code(&store, "expired", &grant_with_scopes("read", START - 600)).await;
    issue_code(&store, "renewed", &grant_with_scopes("push", START - 600)).await;
    issue_code(&store, "pending", &grant_with_scopes("push", START + DAY)).await;
    let tokens = [
        ("write", "old", Some(START - 31 * DAY), false),
        ("follow", "revoked", None, true),
        ("profile", "old with a young one", Some(START - 31 * DAY), false),
        ("profile", "young", Some(START - 29 * DAY), false),
        ("write:media", "revoked with a valid one", None, true),
        ("write:media", "valid", None, false),
    ];
    for (scopes, secret, expires_at, is_revoked) in tokens {
        let scopes = scopes.parse().unwrap();
        let expires_at = expires_at.map(timestamp);
        let new_token = NewToken { scopes, expires_at, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
        if is_revoked {
            revoke_token(&store, secret).await;
        }
    }
    assert_eq!(count_grants(&store).await, 6);
    let now = settle(&store, START).await;
    assert_eq!(
        count_grants(&store).await,
        3,
        "the grants of the pending code, the young token and the valid token remain"
    );
    assert_eq!(count_active_grants(&store, now).await, 1);
}

pub(crate) async fn concurrent_codes_and_tokens_with_one_identity_share_a_grant(store: Store) {
    add_alice_and_app(&store).await;
    ensure_session(&store, 7).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        let name = format!("{index}");
        if index % 2 == 0 {
            let binding = Binding { redirect_uri: "https://a.example/".into(), challenge: None };
            issue_code(&store, &name, &CodeGrant { binding, ..grant() }).await;
            assert!(redeem(&store, &name, &name).await);
        } else {
            store.add_token(&any_events(), &token(&name, Some(7))).await.unwrap();
        }
    })
    .await;
    assert_eq!((count_grants(&store).await, count_active_grants(&store, 20).await), (1, 1));
    assert_eq!(count_tokens(&store, 20).await, CONCURRENT_TASKS);
}

/// The sweep deletes the codes that created the grants.
pub(crate) async fn no_grant_renewed_during_a_sweep_is_lost(store: Store) {
    add_alice_and_app(&store).await;
    // An app that a user has authorized is not deleted as unused.
    issue_code(&store, "first", &grant()).await;
    // The session expires at the start.
    let now = settle(&store, START - DAY).await + 60;
    for index in 0..CONCURRENT_TASKS {
        let scopes = ["read", "write", "push", "follow"][usize::try_from(index % 4).unwrap()];
        let expired_grant = CodeGrant {
            scopes: scopes.parse().unwrap(),
            expires_at: timestamp(now - 600),
            ..grant()
        };
        issue_code(&store, &format!("old {index}"), &expired_grant).await;
    }
    let (store, sweep_counts) = run_concurrently(store, move |store, index| async move {
        if index == 0 {
            let outcome = store.sweep(&RetentionSettings::default(), timestamp(now)).await.unwrap();
            return usize::from(matches!(outcome, SweepOutcome::Swept(_)));
        }
        let scopes = ["read", "write", "push", "follow"][usize::try_from(index % 4).unwrap()];
        let new_grant = CodeGrant {
            scopes: scopes.parse().unwrap(),
            expires_at: timestamp(now + 600),
            ..grant()
        };
        issue_code(&store, &format!("new {index}"), &new_grant).await;
        assert!(redeem(&store, &format!("new {index}"), &format!("t{index}")).await);
        0
    })
    .await;
    assert_eq!(sweep_counts.iter().sum::<usize>(), 1, "the sweep ran");
    assert_eq!(count_tokens(&store, now).await, CONCURRENT_TASKS - 1, "every token has its grant");
    assert_eq!((count_grants(&store).await, count_active_grants(&store, now).await), (4, 4));
}
