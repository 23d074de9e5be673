//! Conformance cases for grants.

use belfry_core::matrix::{Device, LoginRequest};
use belfry_core::oauth::grant::{Binding, Grant};
use belfry_store::test_support::{RecordedBatch, RecordedStatement, any_events};
use belfry_store::{NewToken, RetentionSettings, Store, SweepOutcome};
use serde_json::json;

use super::retention::settle;
use super::{
    MANY, account, add_alice_and_app, add_app, app, at, ensure_session, grant, hashed, issue_code,
    redeem, run_concurrently, token,
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
    LoginRequest::read(body.to_string().as_bytes()).unwrap().device.with_random_id([0; 10])
}

/// Returns the number of stored grants, active or not.
pub(crate) async fn count(store: &Store) -> usize {
    let sql = "select id from grants".to_owned();
    let select = RecordedStatement { sql, values: Vec::new(), rows: Vec::new() };
    match store.run_recorded(&RecordedBatch::Read(select)).await.unwrap() {
        RecordedBatch::Read(read) => read.rows.len(),
        RecordedBatch::Write(_) => panic!("it was read"),
    }
}

/// Returns the number of alice's active grants to app 1.
async fn active(store: &Store, now: i64) -> usize {
    store.active_grants(7, 1, at(now)).await.unwrap().len()
}

/// Returns the number of valid tokens with a grant from alice to app 1.
async fn tokens(store: &Store, now: i64) -> i64 {
    i64::try_from(store.tokens_of(7, 1, at(now)).await.unwrap().len()).unwrap()
}

/// Returns since when app 1 has access, in seconds.
async fn authorized_since(store: &Store, now: i64) -> i64 {
    store.authorized_apps(7, at(now)).await.unwrap()[0].since.as_second()
}

async fn revoke(store: &Store, secret: &str) {
    store.revoke_token(&any_events(), hashed(secret).lookup, at(30)).await.unwrap();
}

pub(crate) async fn a_grant_begins_with_a_code_and_is_active_with_its_token(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!((count(&store).await, active(&store, 20).await), (1, 0));
    assert!(redeem(&store, "c", "t").await);
    assert_eq!((count(&store).await, active(&store, 20).await), (1, 1));
    assert_eq!(
        authorized_since(&store, 20).await,
        1,
        "when the user consented, not when the code was redeemed"
    );
    store.add_app_token(&token("app", None)).await.unwrap();
    assert_eq!(count(&store).await, 1, "an app token has no grant");
}

pub(crate) async fn a_grant_is_identified_by_scopes_redirect_uri_and_device(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_app(&store, &app(2, "other")).await;
    let code = async |name: &str, scopes: &str, redirect_uri: &str| {
        let binding = Binding { redirect_uri: redirect_uri.to_owned(), challenge: None };
        let grant = Grant { scopes: scopes.parse().unwrap(), binding, ..grant() };
        issue_code(&store, name, &grant).await;
        assert!(redeem(&store, name, &format!("token of {name}")).await);
    };
    let issue = async |name: &str, device, app_id, account| {
        let new = NewToken { device, app_id, ..token(name, Some(account)) };
        store.add_token(&any_events(), &new).await.unwrap();
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
        code(name, scopes, uri).await;
        assert_eq!((count(&store).await, active(&store, 20).await), (expected, expected), "{name}");
    }
    // Tokens without a code have no redirect URI, like codes for https.
    issue("without a code", None, 1, 7).await;
    assert_eq!(active(&store, 20).await, 4);
    issue("device", Some(device("A", "")), 1, 7).await;
    issue("different device", Some(device("B", "")), 1, 7).await;
    issue("same device", Some(device("A", "named")), 1, 7).await;
    assert_eq!(active(&store, 20).await, 6);
    issue("different app", None, 2, 7).await;
    issue("different account", None, 1, 8).await;
    assert_eq!((count(&store).await, active(&store, 20).await), (8, 6));
}

pub(crate) async fn a_grant_without_a_valid_token_is_inactive(store: Store) {
    add_alice_and_app(&store).await;
    for (secret, created_at, expires_at) in [("a", 10, None), ("b", 20, None), ("c", 5, Some(60))] {
        let (created_at, expires_at) = (at(created_at), expires_at.map(at));
        let new = NewToken { created_at, expires_at, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new).await.unwrap();
    }
    assert_eq!((active(&store, 30).await, authorized_since(&store, 30).await), (1, 10));
    revoke(&store, "a").await;
    assert_eq!(
        (active(&store, 30).await, authorized_since(&store, 30).await),
        (1, 10),
        "it continues"
    );
    revoke(&store, "b").await;
    assert_eq!((active(&store, 59).await, active(&store, 60).await), (1, 0));
    assert!(store.authorized_apps(7, at(60)).await.unwrap().is_empty());

    let new = NewToken { created_at: at(70), ..token("d", Some(7)) };
    store.add_token(&any_events(), &new).await.unwrap();
    assert_eq!(
        (active(&store, 70).await, authorized_since(&store, 70).await),
        (1, 70),
        "it begins anew"
    );
}

pub(crate) async fn revoking_access_deletes_only_the_grants_of_the_app(store: Store) {
    add_alice_and_app(&store).await;
    add_app(&store, &app(2, "other")).await;
    issue_code(&store, "pending", &grant()).await;
    for (secret, app_id) in [("a", 1), ("b", 2)] {
        let new = NewToken { app_id, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new).await.unwrap();
    }
    assert_eq!(count(&store).await, 3);
    store.revoke_access(&any_events(), 7, 1, at(30)).await.unwrap();
    assert_eq!(count(&store).await, 1);
    assert_eq!(store.active_grants(7, 2, at(30)).await.unwrap().len(), 1);
    store.delete_account(&any_events(), 7, at(50)).await.unwrap();
    assert_eq!(count(&store).await, 0);
}

pub(crate) async fn grants_are_deleted_with_their_app(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "pending", &grant()).await;
    store.delete_app(&any_events(), 1).await.unwrap();
    assert_eq!(count(&store).await, 0);
}

pub(crate) async fn a_login_replaces_the_tokens_of_its_device(store: Store) {
    add_alice_and_app(&store).await;
    let login = async |secret: &str, id: &str, name: &str, version: i64| {
        let new = NewToken { device: Some(device(id, name)), ..token(secret, Some(7)) };
        store.add_token_for_password(&any_events(), &new, version).await.unwrap();
    };
    let names = async || {
        let tokens = store.tokens_of(7, 1, at(START)).await.unwrap();
        let mut names: Vec<_> = tokens.into_iter().filter_map(|token| token.device).collect();
        names.sort();
        names
    };
    login("a", "PHONE", "Element on Pixel", 0).await;
    login("b", "LAPTOP", "", 0).await;
    assert_eq!(names().await, ["Element on Pixel"]);
    assert!(store.token(hashed("a")).await.unwrap().unwrap().revoked_at.is_none(), "cached now");

    login("rejected", "PHONE", "", 1).await;
    assert!(store.token(hashed("a")).await.unwrap().unwrap().revoked_at.is_none());
    login("c", "PHONE", "a known device keeps its name", 0).await;
    assert!(store.token(hashed("a")).await.unwrap().unwrap().revoked_at.is_some());
    assert_eq!(names().await, ["Element on Pixel"]);
    for (secret, id) in [("b", Some("LAPTOP")), ("c", Some("PHONE")), ("none", None)] {
        let device_id = store.device_id_of(hashed(secret).lookup).await.unwrap();
        assert_eq!(device_id.as_deref(), id, "{secret}");
    }

    revoke(&store, "c").await;
    login("d", "PHONE", "FluffyChat", 0).await;
    assert_eq!(names().await, ["FluffyChat"], "after a logout the device is new");
}

pub(crate) async fn a_sweep_deletes_a_grant_with_its_last_code_or_token(store: Store) {
    add_alice_and_app(&store).await;
    let with_scopes = |scopes: &str, expires_at| Grant {
        scopes: scopes.parse().unwrap(),
        expires_at: at(expires_at),
        ..grant()
    };
    issue_code(&store, "expired", &with_scopes("read", START - 600)).await;
    issue_code(&store, "renewed", &with_scopes("push", START - 600)).await;
    issue_code(&store, "pending", &with_scopes("push", START + DAY)).await;
    let tokens = [
        ("write", "old", Some(START - 31 * DAY), false),
        ("follow", "revoked", None, true),
        ("profile", "old with a young one", Some(START - 31 * DAY), false),
        ("profile", "young", Some(START - 29 * DAY), false),
        ("write:media", "revoked with a valid one", None, true),
        ("write:media", "valid", None, false),
    ];
    for (scopes, secret, expires_at, is_revoked) in tokens {
        let (scopes, expires_at) = (scopes.parse().unwrap(), expires_at.map(at));
        let new = NewToken { scopes, expires_at, ..token(secret, Some(7)) };
        store.add_token(&any_events(), &new).await.unwrap();
        if is_revoked {
            revoke(&store, secret).await;
        }
    }
    assert_eq!(count(&store).await, 6);
    let now = settle(&store, START).await;
    assert_eq!(count(&store).await, 3, "of the pending code, the young and the valid token");
    assert_eq!(active(&store, now).await, 1);
}

pub(crate) async fn concurrent_codes_and_tokens_of_one_identity_have_one_grant(store: Store) {
    add_alice_and_app(&store).await;
    ensure_session(&store, 7).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        let name = format!("{index}");
        if index % 2 == 0 {
            let binding = Binding { redirect_uri: "https://a.example/".into(), challenge: None };
            issue_code(&store, &name, &Grant { binding, ..grant() }).await;
            assert!(redeem(&store, &name, &name).await);
        } else {
            store.add_token(&any_events(), &token(&name, Some(7))).await.unwrap();
        }
    })
    .await;
    assert_eq!((count(&store).await, active(&store, 20).await), (1, 1));
    assert_eq!(tokens(&store, 20).await, MANY);
}

/// The sweep deletes the codes with which the grants began.
pub(crate) async fn no_grant_renewed_during_a_sweep_is_lost(store: Store) {
    add_alice_and_app(&store).await;
    // An app that a user has authorised is not deleted as unused.
    issue_code(&store, "first", &grant()).await;
    // The session expires at the start.
    let now = settle(&store, START - DAY).await + 60;
    for index in 0..MANY {
        let scopes = ["read", "write", "push", "follow"][usize::try_from(index % 4).unwrap()];
        let expired =
            Grant { scopes: scopes.parse().unwrap(), expires_at: at(now - 600), ..grant() };
        issue_code(&store, &format!("old {index}"), &expired).await;
    }
    let (store, swept) = run_concurrently(store, move |store, index| async move {
        if index == 0 {
            let swept = store.sweep(&RetentionSettings::default(), at(now)).await.unwrap();
            return usize::from(matches!(swept, SweepOutcome::Swept(_)));
        }
        let scopes = ["read", "write", "push", "follow"][usize::try_from(index % 4).unwrap()];
        let new = Grant { scopes: scopes.parse().unwrap(), expires_at: at(now + 600), ..grant() };
        issue_code(&store, &format!("new {index}"), &new).await;
        assert!(redeem(&store, &format!("new {index}"), &format!("t{index}")).await);
        0
    })
    .await;
    assert_eq!(swept.iter().sum::<usize>(), 1, "the sweep ran");
    assert_eq!(tokens(&store, now).await, MANY - 1, "every token has its grant");
    assert_eq!((count(&store).await, active(&store, now).await), (4, 4));
}
