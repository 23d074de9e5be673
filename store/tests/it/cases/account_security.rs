//! Conformance cases for an account's security: its password, sessions and tokens, and its
//! deletion by its owner.

use belfry_core::audit::{AuditEntry, AuditKind, Events};
use belfry_core::oauth::account::Role;
use belfry_core::oauth::grant::Grant;
use belfry_core::user_agent::UserAgent;
use belfry_store::test_support::{any_events, recorded_events};
use belfry_store::{
    Account, AccountSession, AccountToken, AccountUpdateOutcome, AuditFilter, ExistingAccess,
    NewToken, RetentionSettings, Session, Store, SweepOutcome, UpdateOutcome,
};

use super::last_use::use_token;
use super::{
    PASSWORD, account, add_alice_and_app, add_app, add_session, app, at, grant, hashed, issue_code,
    run_concurrently, session, token,
};

const NOW: i64 = 1_800_000_000;
const DAY: i64 = 86_400;

async fn add_alice_and_bob(store: &Store) -> [Account; 2] {
    add_alice_and_app(store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    [account(7, "alice"), account(8, "bob")]
}

fn event(kind: AuditKind) -> Events {
    AuditEntry::from_command(at(NOW), kind).into()
}

/// Returns the kinds and counts of an account's events.
async fn events(store: &Store, account: i64) -> Vec<(String, i64)> {
    let filter = AuditFilter { account: Some(account), ..recorded_events() };
    let events = store.audit_events(filter, 100).await.unwrap();
    events.into_iter().map(|event| (event.kind, event.count)).collect()
}

pub(crate) async fn a_changed_password_invalidates_sessions_codes_and_tokens_except_the_current_session(
    store: Store,
) {
    let [alice, _] = add_alice_and_bob(&store).await;
    for (name, id) in [("this", 7), ("other", 7), ("bob", 8)] {
        add_session(&store, hashed(name), &session(id, NOW + DAY)).await;
        store.add_token(&any_events(), &token(name, Some(id))).await.unwrap();
        assert!(store.token(hashed(name)).await.unwrap().is_some(), "this fills the cache");
        let expires_at = at(NOW + DAY);
        issue_code(&store, name, &Grant { account_id: id, expires_at, ..grant() }).await;
    }
    let password_change = event(AuditKind::PasswordChange);
    let change = async |verified: &Account, new: &str| {
        store
            .change_password(&password_change, verified, new, hashed("this").lookup, at(NOW))
            .await
            .unwrap()
    };
    // A request that verified a different password changes nothing.
    let stale = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(change(&stale, "new").await, UpdateOutcome::NotFound);
    for name in ["this", "other", "bob"] {
        assert!(store.session(hashed(name), at(NOW)).await.unwrap().is_some(), "{name}");
        assert!(store.code(hashed(name)).await.unwrap().is_some(), "{name}");
        let token = store.token(hashed(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at, None, "{name}");
    }
    assert_eq!(events(&store, 7).await, []);

    assert_eq!(change(&alice, "new").await, UpdateOutcome::Updated);
    assert_eq!(store.account(7).await.unwrap().unwrap().password, "new");
    for (name, session, access) in
        [("this", true, false), ("other", false, false), ("bob", true, true)]
    {
        let stored = store.session(hashed(name), at(NOW)).await.unwrap();
        assert_eq!(stored.is_some(), session, "{name}");
        assert_eq!(store.code(hashed(name)).await.unwrap().is_some(), access, "{name}");
        let token = store.token(hashed(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at.is_none(), access, "{name}");
    }
    let mut recorded = events(&store, 7).await;
    recorded.sort();
    assert_eq!(recorded, [("password_change".to_owned(), 1), ("token_revoke".to_owned(), 2)]);
    assert_eq!(events(&store, 8).await, []);
}

pub(crate) async fn a_new_password_records_the_apps_that_lose_access(store: Store) {
    let [alice, _] = add_alice_and_bob(&store).await;
    add_app(&store, &app(2, "second")).await;
    add_app(&store, &app(3, "without tokens")).await;
    let issue = async |round: &str| {
        for (name, app_id, id) in [("a", 1, 7), ("b", 1, 7), ("c", 2, 7), ("d", 3, 8)] {
            let new = NewToken { app_id, ..token(&format!("{name} {round}"), Some(id)) };
            store.add_token(&any_events(), &new).await.unwrap();
        }
        let expired =
            NewToken { expires_at: Some(at(NOW)), ..token(&format!("old {round}"), Some(7)) };
        store.add_token(&any_events(), &expired).await.unwrap();
    };
    let recorded = async || {
        let filter = AuditFilter { kind: Some(AuditKind::TokenRevoke), ..recorded_events() };
        let events = store.audit_events(filter, 100).await.unwrap();
        let mut apps: Vec<_> = events
            .iter()
            .map(|event| {
                assert_eq!((event.account_id, event.at), (Some(7), at(NOW)));
                assert_eq!(event.detail.as_deref(), Some("password change"));
                assert_eq!(event.origin, "command-line");
                (event.app_id.unwrap(), event.count)
            })
            .collect();
        apps.sort_unstable();
        apps
    };
    let password_change = event(AuditKind::PasswordChange);
    let set = async |access| store.set_password(&password_change, 7, "new", access).await.unwrap();

    issue("first").await;
    let this = hashed("this").lookup;
    let changed =
        store.change_password(&password_change, &alice, "new", this, at(NOW)).await.unwrap();
    assert_eq!(changed, UpdateOutcome::Updated);
    assert_eq!(recorded().await, [(1, 2), (2, 1)]);
    issue("second").await;
    assert_eq!(set(ExistingAccess::Keep).await, UpdateOutcome::Updated);
    assert_eq!(recorded().await, [(1, 2), (2, 1)]);
    assert_eq!(set(ExistingAccess::RevokeAt(at(NOW))).await, UpdateOutcome::Updated);
    assert_eq!(recorded().await, [(1, 2), (1, 2), (2, 1), (2, 1)]);
}

pub(crate) async fn one_of_several_concurrent_password_changes_succeeds(store: Store) {
    let [alice, _] = add_alice_and_bob(&store).await;
    let (store, changed) = run_concurrently(store, move |store, index| {
        let alice = alice.clone();
        async move {
            let new = format!("new {index}");
            let outcome = store
                .change_password(&any_events(), &alice, &new, hashed("s").lookup, at(NOW))
                .await;
            (outcome.unwrap() == UpdateOutcome::Updated).then_some(new)
        }
    })
    .await;
    let changed: Vec<String> = changed.into_iter().flatten().collect();
    assert_eq!(changed, [store.account(7).await.unwrap().unwrap().password]);
}

pub(crate) async fn a_changed_email_address_is_unverified(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    let email_change = event(AuditKind::EmailChange);
    let change = async |verified: &Account, email| {
        store.change_email(&email_change, verified, email).await.unwrap()
    };
    // A request that verified a different password changes nothing.
    let stale = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(change(&stale, Some("new@a.example")).await, UpdateOutcome::NotFound);
    assert_eq!(store.account(7).await.unwrap(), Some(alice.clone()));
    assert_eq!(events(&store, 7).await, []);

    for (email, stored) in [(Some("New@A.example"), Some("new@a.example".to_owned())), (None, None)]
    {
        assert_eq!(change(&alice, email).await, UpdateOutcome::Updated);
        let changed = Account { email: None, unverified_email: stored, ..alice.clone() };
        assert_eq!(store.account(7).await.unwrap(), Some(changed));
    }
    assert_eq!(store.account_by_email("new@a.example").await.unwrap(), None);
    assert_eq!(store.account(8).await.unwrap(), Some(bob));
    assert_eq!(events(&store, 7).await.len(), 2);
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
        let new = Session { seen_at: at(seen_at), browser, address, ..session(id, expires_at) };
        add_session(&store, hashed(name), &new).await;
    }
    assert_eq!(store.session(hashed("a"), at(60)).await.unwrap().unwrap().browser, browser);
    let expected = |name: &str, seen_at| AccountSession {
        lookup: hashed(name).lookup,
        created_at: at(1),
        seen_at: at(seen_at),
        expires_at: at(100),
        browser,
        address: Some("192.0.2.x".to_owned()),
    };
    let all = [expected("b", 30), expected("c", 20), expected("a", 10)];
    assert_eq!(store.sessions_of(7, at(60), 10).await.unwrap(), all);
    assert_eq!(store.sessions_of(7, at(60), 2).await.unwrap(), all[..2]);
    assert_eq!(store.sessions_of(7, at(100), 10).await.unwrap(), []);
}

pub(crate) async fn a_session_is_ended_only_by_its_account(store: Store) {
    add_alice_and_bob(&store).await;
    for (name, id) in [("this", 7), ("other", 7), ("third", 7), ("bob", 8)] {
        add_session(&store, hashed(name), &session(id, 100)).await;
    }
    add_session(&store, hashed("expired"), &session(7, 40)).await;
    let sign_out = event(AuditKind::SignOut);
    let end =
        async |name: &str| store.end_session(&sign_out, 7, hashed(name).lookup).await.unwrap();
    assert_eq!(end("bob").await, UpdateOutcome::NotFound);
    assert_eq!(end("nobody").await, UpdateOutcome::NotFound);
    assert_eq!(events(&store, 7).await, []);
    assert_eq!(end("other").await, UpdateOutcome::Updated);
    assert_eq!(end("other").await, UpdateOutcome::NotFound);
    assert_eq!(events(&store, 7).await, [("sign_out".to_owned(), 1)]);

    add_session(&store, hashed("fourth"), &session(7, 100)).await;
    let this = hashed("this").lookup;
    assert_eq!(store.end_other_sessions(&sign_out, 7, this, at(50)).await.unwrap(), 2);
    assert_eq!(store.end_other_sessions(&sign_out, 7, this, at(50)).await.unwrap(), 0);
    for (name, remains) in [("this", true), ("third", false), ("fourth", false), ("bob", true)] {
        let stored = store.session(hashed(name), at(50)).await.unwrap();
        assert_eq!(stored.is_some(), remains, "{name}");
    }
    let expected = [("sign_out".to_owned(), 1), ("sign_out".to_owned(), 2)];
    let mut recorded = events(&store, 7).await;
    recorded.sort();
    assert_eq!(recorded, expected);
    assert_eq!(events(&store, 8).await, []);
}

pub(crate) async fn the_tokens_of_an_app_are_listed_most_recently_used_first(store: Store) {
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
        let (created_at, expires_at) = (at(created_at), expires_at.map(at));
        let new = NewToken { app_id, created_at, expires_at, ..token(name, Some(id)) };
        store.add_token(&any_events(), &new).await.unwrap();
    }
    store.revoke_token(&any_events(), hashed("revoked").lookup, at(NOW)).await.unwrap();
    use_token(&store, "a", NOW - 50).await;
    store.flush_uses().await.unwrap();
    let expected =
        |name: &str, app_id, created_at, expires_at: Option<i64>, used: Option<i64>| AccountToken {
            lookup: hashed(name).lookup,
            app_id,
            scopes: "read push".parse().unwrap(),
            created_at: at(created_at),
            expires_at: expires_at.map(at),
            last_used_at: used.map(at),
            device: None,
        };
    let [a, c] =
        [expected("a", 1, 10, None, Some(NOW - 50)), expected("c", 1, 30, Some(NOW + DAY), None)];
    let [b, d] = [expected("b", 1, 20, None, None), expected("d", 2, 40, None, None)];
    assert_eq!(store.tokens_of(7, 1, at(NOW)).await.unwrap(), [a, c, b]);
    assert_eq!(store.tokens_of(7, 2, at(NOW)).await.unwrap(), [d]);
}

pub(crate) async fn a_token_is_revoked_only_by_its_account(store: Store) {
    add_alice_and_bob(&store).await;
    for (name, id) in [("a", 7), ("b", 7), ("bob's", 8)] {
        store.add_token(&any_events(), &token(name, Some(id))).await.unwrap();
        assert!(store.token(hashed(name)).await.unwrap().is_some(), "this fills the cache");
    }
    let token_revocation = event(AuditKind::TokenRevoke);
    let revoke = async |name: &str| {
        store
            .revoke_account_token(&token_revocation, 7, hashed(name).lookup, at(NOW))
            .await
            .unwrap()
    };
    assert_eq!(revoke("bob's").await, UpdateOutcome::NotFound);
    assert_eq!(revoke("nobody's").await, UpdateOutcome::NotFound);
    assert_eq!(revoke("a").await, UpdateOutcome::Updated);
    assert_eq!(revoke("a").await, UpdateOutcome::NotFound);
    for (name, revoked_at) in [("a", Some(at(NOW))), ("b", None), ("bob's", None)] {
        let token = store.token(hashed(name)).await.unwrap().unwrap();
        assert_eq!(token.revoked_at, revoked_at, "{name}");
    }
    assert_eq!(events(&store, 7).await, [("token_revoke".to_owned(), 1)]);
}

/// Sweeps every five minutes until this time, so that the store trusts the clock.
async fn sweep(store: &Store, now: i64) {
    let sweep = async |now| store.sweep(&RetentionSettings::default(), at(now)).await.unwrap();
    for minutes in (5..=65).rev().step_by(5) {
        sweep(now - 60 * minutes).await;
    }
    assert!(matches!(sweep(now).await, SweepOutcome::Swept(_)));
}

pub(crate) async fn an_account_is_deleted_when_its_waiting_period_is_over(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    let deletion_request = event(AuditKind::AccountDeleteRequest);
    let request = async |account: &Account, time| {
        store.request_account_deletion(&deletion_request, account, at(time)).await.unwrap()
    };
    let stale = Account { credential_version: 1, ..alice.clone() };
    assert_eq!(request(&stale, NOW).await, AccountUpdateOutcome::NotFound);
    assert_eq!(request(&alice, NOW).await, AccountUpdateOutcome::Updated);
    // A second request does not postpone the deletion.
    assert_eq!(request(&alice, NOW + DAY).await, AccountUpdateOutcome::Updated);
    assert_eq!(request(&bob, NOW).await, AccountUpdateOutcome::Updated);
    let stored = store.account(7).await.unwrap().unwrap();
    assert_eq!(stored, Account { delete_at: Some(at(NOW)), ..alice });
    assert_eq!(events(&store, 7).await, [("account_delete_request".to_owned(), 1)]);

    let cancellation = event(AuditKind::AccountDeleteCancel);
    for outcome in [UpdateOutcome::Updated, UpdateOutcome::NotFound] {
        assert_eq!(store.cancel_account_deletion(&cancellation, 8).await.unwrap(), outcome);
    }
    assert_eq!(store.account(8).await.unwrap(), Some(bob));
    assert_eq!(events(&store, 8).await.len(), 2);

    add_session(&store, hashed("s"), &session(7, NOW + DAY)).await;
    sweep(&store, NOW).await;
    assert!(store.account(7).await.unwrap().is_some(), "nodes' clocks may differ by two minutes");
    sweep(&store, NOW + 180).await;
    assert_eq!(store.account(7).await.unwrap(), None);
    assert!(store.session(hashed("s"), at(NOW)).await.unwrap().is_none());
    assert!(store.account(8).await.unwrap().is_some());
    let filter = AuditFilter { account: Some(7), ..recorded_events() };
    let last = store.audit_events(filter, 1).await.unwrap().remove(0);
    assert_eq!((&*last.kind, &*last.origin, last.count), ("account_delete", "server", 1));
}

pub(crate) async fn the_last_admin_cannot_request_deletion_and_is_not_deleted(store: Store) {
    let [alice, bob] = add_alice_and_bob(&store).await;
    store.set_account_role(&any_events(), 7, Role::Admin).await.unwrap();
    let request = async |account: &Account| {
        store
            .request_account_deletion(&event(AuditKind::AccountDeleteRequest), account, at(NOW))
            .await
            .unwrap()
    };
    assert_eq!(request(&alice).await, AccountUpdateOutcome::LastAdmin);
    assert_eq!(events(&store, 7).await, []);
    store.set_account_role(&any_events(), 8, Role::Admin).await.unwrap();
    for account in [&alice, &bob] {
        assert_eq!(request(account).await, AccountUpdateOutcome::Updated);
    }
    sweep(&store, NOW + 180).await;
    assert_eq!(store.account(7).await.unwrap(), None);
    assert!(store.account(8).await.unwrap().is_some(), "one admin remains");
    store.add_account(&any_events(), &account(9, "carol")).await.unwrap();
    store.set_account_role(&any_events(), 9, Role::Admin).await.unwrap();
    sweep(&store, NOW + 2 * DAY).await;
    assert_eq!(store.account(8).await.unwrap(), None);
}

/// The deletion is cancelled concurrently with the sweep that would make it: either the account
/// remains unchanged, or no cancellation succeeds.
pub(crate) async fn a_cancelled_deletion_never_deletes_the_account(store: Store) {
    add_alice_and_app(&store).await;
    let alice = account(7, "alice");
    store.request_account_deletion(&any_events(), &alice, at(NOW)).await.unwrap();
    sweep(&store, NOW).await;
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        if index == 0 {
            store.sweep(&RetentionSettings::default(), at(NOW + 180)).await.unwrap();
            return false;
        }
        store.cancel_account_deletion(&any_events(), 7).await.unwrap() == UpdateOutcome::Updated
    })
    .await;
    let is_cancelled = outcomes.contains(&true);
    let stored = store.account(7).await.unwrap();
    assert_eq!(stored.is_some(), is_cancelled);
    assert!(
        stored.is_none_or(|account| account.password == PASSWORD && account.delete_at.is_none())
    );
    let events = events(&store, 7).await;
    assert_eq!(events.iter().any(|(kind, _)| kind == "account_delete"), !is_cancelled);
}
