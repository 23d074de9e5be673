//! Conformance cases for deleting accounts and apps.

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::oauth::grant::CodeGrant;
use belfry_store::Consent;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    AccountDeletionOutcome, AddAccountError, DeletedAccount, DeletedRows, NewToken, Store,
    StoredRequest, WriteOutcome,
};

use super::deliveries::{delivery, enqueue};
use super::receivers::{add_receiver, pusher};
use super::rulesets::save_rule;
use super::{
    CONCURRENT_TASKS, account, add_alice_and_app, add_app, add_session, app, grant, hashed_secret,
    issue_code, run_concurrently, session, timestamp, token,
};

fn request(app_id: i64, account_id: i64) -> StoredRequest {
    let browser_cookie = hashed_secret("b");
    let parameters = Vec::new();
    let expires_at = timestamp(100);
    StoredRequest { app_id, browser_cookie, account_id: Some(account_id), parameters, expires_at }
}

/// Adds sessions for alice and bob, and for each of them a code, token and request for the apps 1
/// and 2.
async fn add_two_of_each(store: &Store) {
    add_alice_and_app(store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    add_app(store, &app(2, "other")).await;
    for account_id in [7, 8] {
        add_session(store, hashed_secret(&format!("s{account_id}")), &session(account_id, 100))
            .await;
        for app_id in [1, 2] {
            let name = format!("{account_id} {app_id}");
            issue_code(store, &name, &CodeGrant { app_id, account_id, ..grant() }).await;
            let new_token = NewToken { app_id, ..token(&name, Some(account_id)) };
            store.add_token(&any_events(), &new_token).await.unwrap();
            store.add_request(hashed_secret(&name), &request(app_id, account_id)).await.unwrap();
            // Fills the cache.
            assert!(store.token(hashed_secret(&name)).await.unwrap().is_some());
        }
    }
}

/// Returns whether the code, token and request of this account and app exist.
async fn rows_exist(store: &Store, account_id: i64, app_id: i64) -> [bool; 3] {
    let secret = hashed_secret(&format!("{account_id} {app_id}"));
    [
        store.code(secret).await.unwrap().is_some(),
        store.token(secret).await.unwrap().is_some(),
        store.request(secret, hashed_secret("b"), timestamp(1)).await.unwrap().is_some(),
    ]
}

pub(crate) async fn a_deleted_account_leaves_nothing_behind(store: Store) {
    add_two_of_each(&store).await;
    assert!(save_rule(&store, "global", Some("a")).await);
    for account_id in [7, 8] {
        add_receiver(&store, &pusher(account_id, 5, "a")).await;
        enqueue(&store, &[delivery(account_id, 5, &format!("${account_id}"))]).await;
    }

    let outcome = store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();

    // One session was added by the test, the other to issue the codes.
    let expected = DeletedRows {
        sessions: 2,
        codes: 2,
        tokens: 2,
        rulesets: 1,
        requests: 2,
        receivers: 1,
        deliveries: 1,
    };
    assert_eq!(outcome, AccountDeletionOutcome::Deleted(expected));
    assert_eq!(store.account(7).await.unwrap(), None);
    assert_eq!(store.account_ids(&["alice"]).await.unwrap(), [None]);
    assert!(store.token_account("alice").await.unwrap().is_none());
    assert!(store.session(hashed_secret("s7"), timestamp(1)).await.unwrap().is_none());
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
    assert_eq!(store.receiver(7, 5).await.unwrap(), None);
    assert_eq!(store.delivery_log(7, None, 10).await.unwrap(), []);
    assert!(store.receiver(8, 5).await.unwrap().is_some());
    assert_eq!(store.delivery_log(8, None, 10).await.unwrap().len(), 1);
    for app_id in [1, 2] {
        assert_eq!(rows_exist(&store, 7, app_id).await, [false; 3]);
        assert_eq!(rows_exist(&store, 8, app_id).await, [true; 3]);
    }
    assert!(store.session(hashed_secret("s8"), timestamp(1)).await.unwrap().is_some());
    assert_eq!(
        store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap(),
        AccountDeletionOutcome::NotFound
    );
}

pub(crate) async fn the_deletion_event_contains_the_account_name(store: Store) {
    add_two_of_each(&store).await;
    let event = NewAuditEvent::for_command(timestamp(50), AuditKind::AccountDelete);
    store.delete_account(&event.clone().into(), 7, timestamp(50)).await.unwrap();
    let by_admin =
        NewAuditEvent { at: timestamp(60), detail: Some("by root; why".to_owned()), ..event };
    store.delete_account(&by_admin.into(), 8, timestamp(60)).await.unwrap();
    let events = store.audit_events(recorded_events(), 10).await.unwrap();
    let details = events.iter().map(|event| (event.account_id, event.detail.as_deref()));
    let expected = [(Some(7), Some("name alice")), (Some(8), Some("name bob; by root; why"))];
    assert_eq!(details.collect::<Vec<_>>(), expected);
    let deleted_account = |id, name: &str| DeletedAccount { id, name: name.to_owned() };
    let both_accounts = [deleted_account(7, "alice"), deleted_account(8, "bob")];
    assert_eq!(store.deleted_accounts(timestamp(50)).await.unwrap(), both_accounts);
    assert_eq!(store.deleted_accounts(timestamp(51)).await.unwrap(), both_accounts[1..]);
}

pub(crate) async fn the_name_of_a_deleted_account_is_reserved_until_it_is_released(store: Store) {
    add_alice_and_app(&store).await;
    store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
    let same_name = account(9, "alice");
    assert!(matches!(
        store.add_account(&any_events(), &same_name).await,
        Err(AddAccountError::NameReserved)
    ));
    assert_eq!(store.account(9).await.unwrap(), None);
    store.release_name("alice").await.unwrap();
    store.add_account(&any_events(), &same_name).await.unwrap();
    assert_eq!(store.account_by_name("alice").await.unwrap(), Some(same_name));
}

pub(crate) async fn a_deleted_app_leaves_nothing_behind(store: Store) {
    add_two_of_each(&store).await;
    // Fills the cache.
    assert!(store.app_by_client_id("client").await.unwrap().is_some());

    let deleted_rows = store.delete_app(&any_events(), 1).await.unwrap();

    let expected = DeletedRows { codes: 2, tokens: 2, requests: 2, ..DeletedRows::default() };
    assert_eq!(deleted_rows, Some(expected));
    assert_eq!(store.app(1).await.unwrap(), None);
    assert!(store.app_by_client_id("client").await.unwrap().is_none());
    for account_id in [7, 8] {
        assert_eq!(rows_exist(&store, account_id, 1).await, [false; 3]);
        assert_eq!(rows_exist(&store, account_id, 2).await, [true; 3]);
    }
    assert_eq!(store.delete_app(&any_events(), 1).await.unwrap(), None);
}

/// Simulates requests that read the account or app before its deletion and write afterwards.
pub(crate) async fn nothing_is_added_for_a_deleted_account_or_app(store: Store) {
    add_two_of_each(&store).await;
    let bob_session = hashed_secret("s8").lookup_key;
    store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
    store.delete_app(&any_events(), 1).await.unwrap();

    for (app_id, account_id) in [(1, None), (1, Some(8)), (2, Some(7))] {
        let late_token = NewToken { app_id, ..token("late", account_id) };
        assert_eq!(
            store.add_token(&any_events(), &late_token).await.unwrap(),
            WriteOutcome::NotFound
        );
        let outcome = store.add_token_for_password(&any_events(), &late_token, 0).await.unwrap();
        assert_eq!(outcome, WriteOutcome::NotFound);
        assert!(store.token(hashed_secret("late")).await.unwrap().is_none());
    }
    for (app_id, account_id) in [(1, 8), (2, 7)] {
        let request = request(app_id, account_id);
        let outcome = store.add_request(hashed_secret("late"), &request).await.unwrap();
        assert_eq!(outcome, WriteOutcome::NotFound);
        let consent = Consent { session: bob_session, at: timestamp(1), is_implied: false };
        let grant = CodeGrant { app_id, account_id, ..grant() };
        let outcome =
            store.add_code(&any_events(), hashed_secret("late"), &grant, consent).await.unwrap();
        assert_eq!(outcome, WriteOutcome::NotFound);
        assert!(store.code(hashed_secret("late")).await.unwrap().is_none());
        assert!(
            store
                .request(hashed_secret("late"), hashed_secret("b"), timestamp(1))
                .await
                .unwrap()
                .is_none()
        );
    }
    let rebind = async |account| {
        store
            .rebind_request(hashed_secret("8 2"), hashed_secret("b"), hashed_secret("c"), account)
            .await
            .unwrap()
    };
    assert_eq!(rebind(Some(7)).await, WriteOutcome::NotFound);
    assert_eq!(rebind(Some(8)).await, WriteOutcome::Written);
    let outcome =
        store.add_session(&any_events(), hashed_secret("late"), &session(7, 100), 0).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
}

pub(crate) async fn no_sign_in_concurrent_with_an_account_deletion_survives_it(store: Store) {
    add_alice_and_app(&store).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == CONCURRENT_TASKS / 2 {
            let outcome = store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
            assert!(matches!(outcome, AccountDeletionOutcome::Deleted(_)));
            return;
        }
        let secret = hashed_secret(&format!("s{index}"));
        if index % 2 == 0 {
            let _ = store.add_session(&any_events(), secret, &session(7, 1000), 0).await.unwrap();
        } else {
            let token = token(&format!("s{index}"), Some(7));
            let outcome = store.add_token_for_password(&any_events(), &token, 0).await.unwrap();
            if outcome == WriteOutcome::Written {
                store.token(secret).await.unwrap();
            }
        }
    })
    .await;
    for index in 0..CONCURRENT_TASKS {
        let secret = hashed_secret(&format!("s{index}"));
        assert!(store.session(secret, timestamp(1)).await.unwrap().is_none(), "session {index}");
        assert!(store.token(secret).await.unwrap().is_none(), "token {index}");
    }
}
