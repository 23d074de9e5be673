//! Conformance cases for deleting accounts and apps.

use belfry_core::audit::{AuditEntry, AuditKind};
use belfry_core::oauth::grant::Grant;
use belfry_store::test_support::{any_events, recorded_events};
use belfry_store::{
    AccountDeletionOutcome, AddAccountError, DeletedAccount, DeletedRows, NewToken, SignInOutcome,
    Store, StoredRequest,
};
use belfry_store::{CodeOutcome, Consent, UpdateOutcome};

use super::rulesets::save;
use super::{
    MANY, account, add_alice_and_app, add_app, add_session, app, at, grant, hashed, issue_code,
    run_concurrently, session, token,
};

fn request(app_id: i64, account_id: i64) -> StoredRequest {
    let (browser, parameters, expires_at) = (hashed("b"), Vec::new(), at(100));
    StoredRequest { app_id, browser, account_id: Some(account_id), parameters, expires_at }
}

/// Adds sessions for alice and bob, and for each of them a code, token and request for the apps 1
/// and 2.
async fn add_two_of_each(store: &Store) {
    add_alice_and_app(store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_app(store, &app(2, "other")).await;
    for account_id in [7, 8] {
        add_session(store, hashed(&format!("s{account_id}")), &session(account_id, 100)).await;
        for app_id in [1, 2] {
            let name = format!("{account_id} {app_id}");
            issue_code(store, &name, &Grant { app_id, account_id, ..grant() }).await;
            let new = NewToken { app_id, ..token(&name, Some(account_id)) };
            store.add_token(&any_events(), &new).await.unwrap();
            store.add_request(hashed(&name), &request(app_id, account_id)).await.unwrap();
            assert!(store.token(hashed(&name)).await.unwrap().is_some(), "this fills the cache");
        }
    }
}

/// Returns whether the code, token and request of this account and app exist.
async fn exists(store: &Store, account_id: i64, app_id: i64) -> [bool; 3] {
    let name = hashed(&format!("{account_id} {app_id}"));
    [
        store.code(name).await.unwrap().is_some(),
        store.token(name).await.unwrap().is_some(),
        store.request(name, hashed("b"), at(1)).await.unwrap().is_some(),
    ]
}

pub(crate) async fn a_deleted_account_leaves_nothing_behind(store: Store) {
    add_two_of_each(&store).await;
    assert!(save(&store, "global", Some("a")).await);

    let deleted = store.delete_account(&any_events(), 7, at(50)).await.unwrap();

    // One session was added by the test, the other to issue the codes.
    let expected = DeletedRows { sessions: 2, codes: 2, tokens: 2, rulesets: 1, requests: 2 };
    assert_eq!(deleted, AccountDeletionOutcome::Deleted(expected));
    assert_eq!(store.account(7).await.unwrap(), None);
    assert_eq!(store.account_ids(&["alice"]).await.unwrap(), [None]);
    assert!(store.token_account("alice").await.unwrap().is_none());
    assert!(store.session(hashed("s7"), at(1)).await.unwrap().is_none());
    assert!(store.rulesets(7, at(5)).await.unwrap().is_empty());
    for app_id in [1, 2] {
        assert_eq!(exists(&store, 7, app_id).await, [false; 3]);
        assert_eq!(exists(&store, 8, app_id).await, [true; 3]);
    }
    assert!(store.session(hashed("s8"), at(1)).await.unwrap().is_some());
    assert_eq!(
        store.delete_account(&any_events(), 7, at(50)).await.unwrap(),
        AccountDeletionOutcome::NotFound
    );
}

pub(crate) async fn the_deletion_event_contains_the_account_name(store: Store) {
    add_two_of_each(&store).await;
    let entry = AuditEntry::from_command(at(50), AuditKind::AccountDelete);
    store.delete_account(&entry.clone().into(), 7, at(50)).await.unwrap();
    let by_admin = AuditEntry { at: at(60), detail: Some("by root; why".to_owned()), ..entry };
    store.delete_account(&by_admin.into(), 8, at(60)).await.unwrap();
    let events = store.audit_events(recorded_events(), 10).await.unwrap();
    let details = events.iter().map(|event| (event.account_id, event.detail.as_deref()));
    let expected = [(Some(7), Some("name alice")), (Some(8), Some("name bob; by root; why"))];
    assert_eq!(details.collect::<Vec<_>>(), expected);
    let deleted = |id, name: &str| DeletedAccount { id, name: name.to_owned() };
    let both = [deleted(7, "alice"), deleted(8, "bob")];
    assert_eq!(store.deleted_accounts(at(50)).await.unwrap(), both);
    assert_eq!(store.deleted_accounts(at(51)).await.unwrap(), both[1..]);
}

pub(crate) async fn the_name_of_a_deleted_account_is_reserved_until_it_is_released(store: Store) {
    add_alice_and_app(&store).await;
    store.delete_account(&any_events(), 7, at(50)).await.unwrap();
    let again = account(9, "alice");
    assert!(matches!(
        store.add_account(&any_events(), &again).await,
        Err(AddAccountError::NameReserved)
    ));
    assert_eq!(store.account(9).await.unwrap(), None);
    store.release_name("alice").await.unwrap();
    store.add_account(&any_events(), &again).await.unwrap();
    assert_eq!(store.account_by_name("alice").await.unwrap(), Some(again));
}

pub(crate) async fn a_deleted_app_leaves_nothing_behind(store: Store) {
    add_two_of_each(&store).await;
    assert!(store.app_by_client_id("client").await.unwrap().is_some(), "this fills the cache");

    let deleted = store.delete_app(&any_events(), 1).await.unwrap();

    let expected = DeletedRows { codes: 2, tokens: 2, requests: 2, ..DeletedRows::default() };
    assert_eq!(deleted, Some(expected));
    assert_eq!(store.app(1).await.unwrap(), None);
    assert!(store.app_by_client_id("client").await.unwrap().is_none());
    for account_id in [7, 8] {
        assert_eq!(exists(&store, account_id, 1).await, [false; 3]);
        assert_eq!(exists(&store, account_id, 2).await, [true; 3]);
    }
    assert_eq!(store.delete_app(&any_events(), 1).await.unwrap(), None);
}

/// Simulates requests that read the account or app before its deletion and write afterwards.
pub(crate) async fn nothing_is_added_for_a_deleted_account_or_app(store: Store) {
    add_two_of_each(&store).await;
    let session_of_bob = hashed("s8").lookup;
    store.delete_account(&any_events(), 7, at(50)).await.unwrap();
    store.delete_app(&any_events(), 1).await.unwrap();

    for (app_id, account_id) in [(1, None), (1, Some(8)), (2, Some(7))] {
        let late = NewToken { app_id, ..token("late", account_id) };
        assert_eq!(store.add_token(&any_events(), &late).await.unwrap(), UpdateOutcome::NotFound);
        let outcome = store.add_token_for_password(&any_events(), &late, 0).await.unwrap();
        assert_eq!(outcome, SignInOutcome::PasswordChanged);
        assert!(store.token(hashed("late")).await.unwrap().is_none());
    }
    for (app_id, account_id) in [(1, 8), (2, 7)] {
        let request = request(app_id, account_id);
        let outcome = store.add_request(hashed("late"), &request).await.unwrap();
        assert_eq!(outcome, UpdateOutcome::NotFound);
        let consent = Consent { session: session_of_bob, at: at(1), is_implied: false };
        let grant = Grant { app_id, account_id, ..grant() };
        let outcome = store.add_code(&any_events(), hashed("late"), &grant, consent).await.unwrap();
        assert_eq!(outcome, CodeOutcome::ConsentEnded);
        assert!(store.code(hashed("late")).await.unwrap().is_none());
        assert!(store.request(hashed("late"), hashed("b"), at(1)).await.unwrap().is_none());
    }
    let rebind = async |account| {
        store.rebind_request(hashed("8 2"), hashed("b"), hashed("c"), account).await.unwrap()
    };
    assert_eq!(rebind(Some(7)).await, UpdateOutcome::NotFound);
    assert_eq!(rebind(Some(8)).await, UpdateOutcome::Updated);
    let outcome =
        store.add_session(&any_events(), hashed("late"), &session(7, 100), 0).await.unwrap();
    assert_eq!(outcome, SignInOutcome::PasswordChanged);
}

pub(crate) async fn no_sign_in_concurrent_with_the_deletion_survives_it(store: Store) {
    add_alice_and_app(&store).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == MANY / 2 {
            let deleted = store.delete_account(&any_events(), 7, at(50)).await.unwrap();
            assert!(matches!(deleted, AccountDeletionOutcome::Deleted(_)));
            return;
        }
        let secret = hashed(&format!("s{index}"));
        if index % 2 == 0 {
            store.add_session(&any_events(), secret, &session(7, 1000), 0).await.unwrap();
        } else {
            let token = token(&format!("s{index}"), Some(7));
            let outcome = store.add_token_for_password(&any_events(), &token, 0).await.unwrap();
            if outcome == SignInOutcome::SignedIn {
                store.token(secret).await.unwrap();
            }
        }
    })
    .await;
    for index in 0..MANY {
        let secret = hashed(&format!("s{index}"));
        assert!(store.session(secret, at(1)).await.unwrap().is_none(), "session {index}");
        assert!(store.token(secret).await.unwrap().is_none(), "token {index}");
    }
}
