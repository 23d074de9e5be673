//! Conformance cases for an account's security: its password, sessions and tokens, and its
//! deletion by its owner.

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::oauth::grant::CodeGrant;
use belfry_core::user_agent::UserAgent;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    Account, AccountSession, AccountToken, AccountUpdateOutcome, AuditFilter, ExistingAccess,
    NewToken, RetentionSettings, Session, Store, SweepOutcome, WriteOutcome,
};

use super::last_use::use_token;
use super::{
    PASSWORD_HASH, account, add_alice_and_app, add_app, add_session, app, grant, hashed_secret,
    issue_code, run_concurrently, session, timestamp, token,
};

const NOW: i64 = 1_800_000_000;
const DAY: i64 = 86_400;

async fn add_alice_and_bob(store: &Store) -> [Account; 2] {
    add_alice_and_app(store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    [account(7, "alice"), account(8, "bob")]
}

fn audit_event(kind: AuditKind) -> NewAuditEvents {
    NewAuditEvent::for_command(timestamp(NOW), kind).into()
}

/// Returns the kinds and counts of an account's events.
async fn event_counts(store: &Store, account: i64) -> Vec<(String, i64)> {
    let filter = AuditFilter { account: Some(account), ..recorded_events() };
    let events = store.audit_events(filter, 100).await.unwrap();
    events.into_iter().map(|event| (event.kind, event.count)).collect()
}

pub(crate) async fn a_changed_password_invalidates_sessions_codes_and_tokens_except_the_current_session(
    store: Store,
) {
    let [alice, _] = add_alice_and_bob(&store).await;
    for (name, id) in [("this", 7), ("other", 7), ("bob", 8)] {
        add_session(&store, hashed_secret(name), &session(id, NOW + DAY)).await;
        store.add_token(&any_events(), &token(name, Some(id))).await.unwrap();
        // Fills the cache.
        assert!(store.token(hashed_secret(name)).await.unwrap().is_some());
        let expires_at = timestamp(NOW + DAY);
        issue_code(&store, name, &CodeGrant { account_id: id, expires_at, ..grant() }).await;
    }
    let password_change = audit_event(AuditKind::PasswordChange);
    let change_password = async |account: &Account, new_hash: &str| {
        store
            .change_password(
                &password_change,
                account,
                new_hash,
                hashed_secret("this").lookup_key,
                timestamp(NOW),
            )
            .await
            .unwrap()
    };
    // A request that verified a different password changes nothing.
    let stale_account = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(change_password(&stale_account, "new").await, WriteOutcome::NotFound);
    for name in ["this", "other", "bob"] {
        assert!(
            store.session(hashed_secret(name), timestamp(NOW)).await.unwrap().is_some(),
            "{name}"
        );
        assert!(store.code(hashed_secret(name)).await.unwrap().is_some(), "{name}");
        let token = store.token(hashed_secret(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at, None, "{name}");
    }
    assert_eq!(event_counts(&store, 7).await, []);

    assert_eq!(change_password(&alice, "new").await, WriteOutcome::Written);
    assert_eq!(store.account(7).await.unwrap().unwrap().password_hash, "new");
    for (name, has_session, has_access) in
        [("this", true, false), ("other", false, false), ("bob", true, true)]
    {
        let stored_session = store.session(hashed_secret(name), timestamp(NOW)).await.unwrap();
        assert_eq!(stored_session.is_some(), has_session, "{name}");
        assert_eq!(store.code(hashed_secret(name)).await.unwrap().is_some(), has_access, "{name}");
        let token = store.token(hashed_secret(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at.is_none(), has_access, "{name}");
    }
    let mut counts = event_counts(&store, 7).await;
    counts.sort();
    assert_eq!(counts, [("password_change".to_owned(), 1), ("token_revoke".to_owned(), 2)]);
    assert_eq!(event_counts(&store, 8).await, []);
}

pub(crate) async fn a_new_password_records_the_apps_that_lose_access(store: Store) {
    let [alice, _] = add_alice_and_bob(&store).await;
    add_app(&store, &app(2, "second")).await;
    add_app(&store, &app(3, "without tokens")).await;
    let issue_tokens = async |round: &str| {
        for (name, app_id, id) in [("a", 1, 7), ("b", 1, 7), ("c", 2, 7), ("d", 3, 8)] {
            let new_token = NewToken { app_id, ..token(&format!("{name} {round}"), Some(id)) };
            store.add_token(&any_events(), &new_token).await.unwrap();
        }
        let expired_token = NewToken {
            expires_at: Some(timestamp(NOW)),
            ..token(&format!("old {round}"), Some(7))
        };
        store.add_token(&any_events(), &expired_token).await.unwrap();
    };
    let revocation_counts = async || {
        let filter = AuditFilter { kind: Some(AuditKind::TokenRevoke), ..recorded_events() };
        let events = store.audit_events(filter, 100).await.unwrap();
        let mut apps: Vec<_> = events
            .iter()
            .map(|event| {
                assert_eq!((event.account_id, event.at), (Some(7), timestamp(NOW)));
                assert_eq!(event.detail.as_deref(), Some("password change"));
                assert_eq!(event.origin, "command-line");
                (event.app_id.unwrap(), event.count)
            })
            .collect();
        apps.sort_unstable();
        apps
    };
    let password_change = audit_event(AuditKind::PasswordChange);
    let set_password =
        async |access| store.set_password(&password_change, 7, "new", access).await.unwrap();

    issue_tokens("first").await;
    let current_session = hashed_secret("this").lookup_key;
    let outcome = store
        .change_password(&password_change, &alice, "new", current_session, timestamp(NOW))
        .await
        .unwrap();
    assert_eq!(outcome, WriteOutcome::Written);
    assert_eq!(revocation_counts().await, [(1, 2), (2, 1)]);
    issue_tokens("second").await;
    assert_eq!(set_password(ExistingAccess::Keep).await, WriteOutcome::Written);
    assert_eq!(revocation_counts().await, [(1, 2), (2, 1)]);
    assert_eq!(set_password(ExistingAccess::RevokeAt(timestamp(NOW))).await, WriteOutcome::Written);
    assert_eq!(revocation_counts().await, [(1, 2), (1, 2), (2, 1), (2, 1)]);
}

pub(crate) async fn only_one_concurrent_password_change_succeeds(store: Store) {
    let [alice, _] = add_alice_and_bob(&store).await;
    let (store, new_hashes) = run_concurrently(store, move |store, index| {
        let alice = alice.clone();
        async move {
            let new_hash = format!("new {index}");
            let outcome = store
                .change_password(
                    &any_events(),
                    &alice,
                    &new_hash,
                    hashed_secret("s").lookup_key,
                    timestamp(NOW),
                )
                .await;
            (outcome.unwrap() == WriteOutcome::Written).then_some(new_hash)
        }
    })
    .await;
    let stored_hashes: Vec<String> = new_hashes.into_iter().flatten().collect();
    assert_eq!(stored_hashes, [store.account(7).await.unwrap().unwrap().password_hash]);
}

pub(crate) async fn a_changed_email_address_is_unverified(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    let email_change = audit_event(AuditKind::EmailChange);
    let change_email = async |account: &Account, email| {
        store.change_email(&email_change, account, email).await.unwrap()
    };
    // A request that verified a different password changes nothing.
    let stale_account = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(change_email(&stale_account, Some("new@a.example")).await, WriteOutcome::NotFound);
    assert_eq!(store.account(7).await.unwrap(), Some(alice.clone()));
    assert_eq!(event_counts(&store, 7).await, []);

    for (email, unverified_email) in
        [(Some("New@A.example"), Some("new@a.example".to_owned())), (None, None)]
    {
        assert_eq!(change_email(&alice, email).await, WriteOutcome::Written);
        let changed_account = Account { email: None, unverified_email, ..alice.clone() };
        assert_eq!(store.account(7).await.unwrap(), Some(changed_account));
    }
    assert_eq!(store.account_by_email("new@a.example").await.unwrap(), None);
    assert_eq!(store.account(8).await.unwrap(), Some(bob));
    assert_eq!(event_counts(&store, 7).await.len(), 2);
}

pub(crate) async fn sessions_are_listed_with_their_browser_most_recently_used_first(store: Store) {
    add_alice_and_bob(&store).await;
    let browser = UserAgent::from_text("Firefox/Linux");
    for (name, id, seen_at, expires_at) in [
        ("a", 7, 10, 100),
        ("b", 7, 30, 100),
        ("c", 7, 20, 100),
        ("old", 7, 5, 50),
        ("d", 8, 9, 100),
    ] {
        let address = Some("192.0.2.x".to_owned());
        let new_session =
            Session { seen_at: timestamp(seen_at), browser, address, ..session(id, expires_at) };
        add_session(&store, hashed_secret(name), &new_session).await;
    }
    assert_eq!(
        store.session(hashed_secret("a"), timestamp(60)).await.unwrap().unwrap().browser,
        browser
    );
    let expected_session = |name: &str, seen_at| AccountSession {
        lookup_key: hashed_secret(name).lookup_key,
        created_at: timestamp(1),
        seen_at: timestamp(seen_at),
        expires_at: timestamp(100),
        browser,
        address: Some("192.0.2.x".to_owned()),
    };
    let expected =
        [expected_session("b", 30), expected_session("c", 20), expected_session("a", 10)];
    assert_eq!(store.account_sessions(7, timestamp(60), 10).await.unwrap(), expected);
    assert_eq!(store.account_sessions(7, timestamp(60), 2).await.unwrap(), expected[..2]);
    assert_eq!(store.account_sessions(7, timestamp(100), 10).await.unwrap(), []);
}

pub(crate) async fn a_session_is_ended_only_by_its_account(store: Store) {
    add_alice_and_bob(&store).await;
    for (name, id) in [("this", 7), ("other", 7), ("third", 7), ("bob", 8)] {
        add_session(&store, hashed_secret(name), &session(id, 100)).await;
    }
    add_session(&store, hashed_secret("expired"), &session(7, 40)).await;
    let sign_out = audit_event(AuditKind::SignOut);
    let end_session = async |name: &str| {
        store.end_session(&sign_out, 7, hashed_secret(name).lookup_key).await.unwrap()
    };
    assert_eq!(end_session("bob").await, WriteOutcome::NotFound);
    assert_eq!(end_session("nobody").await, WriteOutcome::NotFound);
    assert_eq!(event_counts(&store, 7).await, []);
    assert_eq!(end_session("other").await, WriteOutcome::Written);
    assert_eq!(end_session("other").await, WriteOutcome::NotFound);
    assert_eq!(event_counts(&store, 7).await, [("sign_out".to_owned(), 1)]);

    add_session(&store, hashed_secret("fourth"), &session(7, 100)).await;
    let current_session = hashed_secret("this").lookup_key;
    assert_eq!(
        store.end_other_sessions(&sign_out, 7, current_session, timestamp(50)).await.unwrap(),
        2
    );
    assert_eq!(
        store.end_other_sessions(&sign_out, 7, current_session, timestamp(50)).await.unwrap(),
        0
    );
    for (name, remains) in [("this", true), ("third", false), ("fourth", false), ("bob", true)] {
        let stored_session = store.session(hashed_secret(name), timestamp(50)).await.unwrap();
        assert_eq!(stored_session.is_some(), remains, "{name}");
    }
    let expected = [("sign_out".to_owned(), 1), ("sign_out".to_owned(), 2)];
    let mut counts = event_counts(&store, 7).await;
    counts.sort();
    assert_eq!(counts, expected);
    assert_eq!(event_counts(&store, 8).await, []);
}

pub(crate) async fn an_apps_tokens_are_listed_most_recently_used_first(store: Store) {
    add_alice_and_bob(&store).await;
    add_app(&store, &app(2, "second")).await;
    for (name, app_id, id, created_at, expires_at) in [
        ("a", 1, 7, 10, None),
        ("b", 1, 7, 20, None),
        ("c", 1, 7, 30, Some(NOW + DAY)),
        ("d", 2, 7, 40, None),
        ("bob's", 1, 8, 10, None),
        ("revoked", 1, 7, 10, None),
        ("expired", 1, 7, 10, Some(NOW)),
    ] {
        let created_at = timestamp(created_at);
        let expires_at = expires_at.map(timestamp);
        let new_token = NewToken { app_id, created_at, expires_at, ..token(name, Some(id)) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    store
        .revoke_token(&any_events(), hashed_secret("revoked").lookup_key, timestamp(NOW))
        .await
        .unwrap();
    use_token(&store, "a", NOW - 50).await;
    store.flush_uses().await.unwrap();
    let expected_token =
        |name: &str, app_id, created_at, expires_at: Option<i64>, last_used_at: Option<i64>| {
            AccountToken {
                lookup_key: hashed_secret(name).lookup_key,
                app_id,
                scopes: "read push".parse().unwrap(),
                created_at: timestamp(created_at),
                expires_at: expires_at.map(timestamp),
                last_used_at: last_used_at.map(timestamp),
                device_name: None,
            }
        };
    let [a, c] = [
        expected_token("a", 1, 10, None, Some(NOW - 50)),
        expected_token("c", 1, 30, Some(NOW + DAY), None),
    ];
    let [b, d] = [expected_token("b", 1, 20, None, None), expected_token("d", 2, 40, None, None)];
    assert_eq!(store.account_app_tokens(7, 1, timestamp(NOW)).await.unwrap(), [a, c, b]);
    assert_eq!(store.account_app_tokens(7, 2, timestamp(NOW)).await.unwrap(), [d]);
}

pub(crate) async fn a_token_is_revoked_only_by_its_account(store: Store) {
    add_alice_and_bob(&store).await;
    for (name, id) in [("a", 7), ("b", 7), ("bob's", 8)] {
        store.add_token(&any_events(), &token(name, Some(id))).await.unwrap();
        // Fills the cache.
        assert!(store.token(hashed_secret(name)).await.unwrap().is_some());
    }
    let token_revocation = audit_event(AuditKind::TokenRevoke);
    let revoke_token = async |name: &str| {
        store
            .revoke_account_token(
                &token_revocation,
                7,
                hashed_secret(name).lookup_key,
                timestamp(NOW),
            )
            .await
            .unwrap()
    };
    assert_eq!(revoke_token("bob's").await, WriteOutcome::NotFound);
    assert_eq!(revoke_token("nobody's").await, WriteOutcome::NotFound);
    assert_eq!(revoke_token("a").await, WriteOutcome::Written);
    assert_eq!(revoke_token("a").await, WriteOutcome::NotFound);
    for (name, revoked_at) in [("a", Some(timestamp(NOW))), ("b", None), ("bob's", None)] {
        let token = store.token(hashed_secret(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at, revoked_at, "{name}");
    }
    assert_eq!(event_counts(&store, 7).await, [("token_revoke".to_owned(), 1)]);
}

/// Sweeps every five minutes until `now`, so that the store trusts the clock.
async fn sweep_until(store: &Store, now: i64) {
    let sweep =
        async |now| store.sweep(&RetentionSettings::default(), timestamp(now)).await.unwrap();
    for minutes in (5..=65).rev().step_by(5) {
        sweep(now - 60 * minutes).await;
    }
    assert!(matches!(sweep(now).await, SweepOutcome::Swept(_)));
}

pub(crate) async fn an_account_is_deleted_when_its_waiting_period_has_ended(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    let deletion_request = audit_event(AuditKind::AccountDeleteRequest);
    let request_deletion = async |account: &Account, time| {
        store.request_account_deletion(&deletion_request, account, timestamp(time)).await.unwrap()
    };
    let stale_account = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(request_deletion(&stale_account, NOW).await, AccountUpdateOutcome::NotFound);
    assert_eq!(request_deletion(&alice, NOW).await, AccountUpdateOutcome::Updated);
    // A second request does not postpone the deletion.
    assert_eq!(request_deletion(&alice, NOW + DAY).await, AccountUpdateOutcome::Updated);
    assert_eq!(request_deletion(&bob, NOW).await, AccountUpdateOutcome::Updated);
    let stored_account = store.account(7).await.unwrap().unwrap();
    assert_eq!(stored_account, Account { delete_at: Some(timestamp(NOW)), ..alice });
    assert_eq!(event_counts(&store, 7).await, [("account_delete_request".to_owned(), 1)]);

    let cancellation = audit_event(AuditKind::AccountDeleteCancel);
    for outcome in [WriteOutcome::Written, WriteOutcome::NotFound] {
        assert_eq!(store.cancel_account_deletion(&cancellation, 8).await.unwrap(), outcome);
    }
    assert_eq!(store.account(8).await.unwrap(), Some(bob));
    assert_eq!(event_counts(&store, 8).await.len(), 2);

    add_session(&store, hashed_secret("s"), &session(7, NOW + DAY)).await;
    sweep_until(&store, NOW).await;
    assert!(store.account(7).await.unwrap().is_some(), "nodes' clocks may differ by two minutes");
    sweep_until(&store, NOW + 180).await;
    assert_eq!(store.account(7).await.unwrap(), None);
    assert!(store.session(hashed_secret("s"), timestamp(NOW)).await.unwrap().is_none());
    assert!(store.account(8).await.unwrap().is_some());
    let filter = AuditFilter { account: Some(7), ..recorded_events() };
    let last_event = store.audit_events(filter, 1).await.unwrap().remove(0);
    assert_eq!(
        (&*last_event.kind, &*last_event.origin, last_event.count),
        ("account_delete", "server", 1)
    );
}

pub(crate) async fn the_last_admin_cannot_request_deletion_and_is_not_deleted(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    store.set_account_role(&any_events(), 7, Role::Admin).await.unwrap();
    let request_deletion = async |account: &Account| {
        store
            .request_account_deletion(
                &audit_event(AuditKind::AccountDeleteRequest),
                account,
                timestamp(NOW),
            )
            .await
            .unwrap()
    };
    assert_eq!(request_deletion(&alice).await, AccountUpdateOutcome::LastAdmin);
    assert_eq!(event_counts(&store, 7).await, []);
    store.set_account_role(&any_events(), 8, Role::Admin).await.unwrap();
    for account in [&alice, &bob] {
        assert_eq!(request_deletion(account).await, AccountUpdateOutcome::Updated);
    }
    sweep_until(&store, NOW + 180).await;
    assert_eq!(store.account(7).await.unwrap(), None);
    assert!(store.account(8).await.unwrap().is_some(), "one admin remains");
    store.add_account(&any_events(), &account(9, "carol")).await.unwrap();
    store.set_account_role(&any_events(), 9, Role::Admin).await.unwrap();
    sweep_until(&store, NOW + 2 * DAY).await;
    assert_eq!(store.account(8).await.unwrap(), None);
}

/// The deletion is cancelled concurrently with the sweep that would delete the account: either the
/// account remains unchanged, or no cancellation succeeds.
pub(crate) async fn a_cancelled_deletion_never_deletes_the_account(store: Store) {
    add_alice_and_app(&store).await;
    let alice = account(7, "alice");
    store.request_account_deletion(&any_events(), &alice, timestamp(NOW)).await.unwrap();
    sweep_until(&store, NOW).await;
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        if index == 0 {
            store.sweep(&RetentionSettings::default(), timestamp(NOW + 180)).await.unwrap();
            return false;
        }
        store.cancel_account_deletion(&any_events(), 7).await.unwrap() == WriteOutcome::Written
    })
    .await;
    let is_cancelled = outcomes.contains(&true);
    let stored_account = store.account(7).await.unwrap();
    assert_eq!(stored_account.is_some(), is_cancelled);
    assert!(stored_account.is_none_or(
        |account| account.password_hash == PASSWORD_HASH && account.delete_at.is_none()
    ));
    let counts = event_counts(&store, 7).await;
    assert_eq!(counts.iter().any(|(kind, _)| kind == "account_delete"), !is_cancelled);
}
