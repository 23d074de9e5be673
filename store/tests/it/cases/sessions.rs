//! Conformance cases for sessions.

use belfry_core::secret::HashedSecret;
use belfry_core::user_agent::UserAgent;
use belfry_store::test::any_events;
use belfry_store::{PendingSignIn, Session, SessionSummary, Store, WriteOutcome};

use super::{account, add_session, hashed_secret, timestamp};

fn session(account: i64) -> Session {
    Session {
        created_at: timestamp(1),
        seen_at: timestamp(2),
        lang: Some("de".to_owned()),
        browser: UserAgent::from_text("Firefox/Linux"),
        address: Some("192.0.2.x".to_owned()),
        ..super::session(account, 100)
    }
}

fn pending_sign_in(account_id: i64) -> PendingSignIn {
    let methods = session(7).methods;
    PendingSignIn { account_id, credential_version: 0, methods, expires_at: timestamp(600) }
}

pub(crate) async fn a_pending_sign_in_has_a_bounded_number_of_attempts(store: Store) {
    add_alice_and_bob(&store).await;
    let [secret, other_secret] = ["s", "other"].map(hashed_secret);
    for (secret, account_id) in [(secret, 7), (other_secret, 8)] {
        let outcome = store.add_pending_sign_in(secret, &pending_sign_in(account_id)).await;
        assert_eq!(outcome.unwrap(), WriteOutcome::Written);
    }
    let attempt = async |secret, second| {
        store.attempt_pending_sign_in(secret, 5, timestamp(second)).await.unwrap()
    };
    let forged_secret = HashedSecret { digest: other_secret.digest, ..secret };
    assert_eq!(attempt(forged_secret, 1).await, None, "the lookup key alone finds nothing");
    assert_eq!(attempt(secret, 600).await, None, "expired");
    for _ in 0..5 {
        assert_eq!(attempt(secret, 599).await, Some(pending_sign_in(7)));
    }
    assert_eq!(attempt(secret, 599).await, None, "the sixth attempt");
    store.set_account_disabled_at(&any_events(), 8, Some(timestamp(1))).await.unwrap();
    assert_eq!(attempt(other_secret, 1).await, None, "disabled");
    assert!(store.end_pending_sign_in(secret.lookup_key).await.unwrap());
    assert!(!store.end_pending_sign_in(secret.lookup_key).await.unwrap());
}

pub(crate) async fn a_pending_sign_in_is_added_only_for_the_current_password(store: Store) {
    add_alice_and_bob(&store).await;
    for (account_id, credential_version) in [(7, 1), (9, 0)] {
        let sign_in = PendingSignIn { credential_version, ..pending_sign_in(account_id) };
        let outcome = store.add_pending_sign_in(hashed_secret("s"), &sign_in).await.unwrap();
        assert_eq!(outcome, WriteOutcome::NotFound, "{sign_in:?}");
    }
}

async fn add_alice_and_bob(store: &Store) {
    for (id, name) in [(7, "alice"), (8, "bob")] {
        store.add_account(&any_events(), &account(id, name)).await.unwrap();
    }
}

pub(crate) async fn a_session_is_read_back_until_it_expires(store: Store) {
    add_alice_and_bob(&store).await;
    add_session(&store, hashed_secret("s"), &session(7)).await;
    assert_eq!(store.session(hashed_secret("s"), timestamp(99)).await.unwrap(), Some(session(7)));
    assert_eq!(store.session(hashed_secret("s"), timestamp(100)).await.unwrap(), None);
    assert_eq!(store.session(hashed_secret("other"), timestamp(1)).await.unwrap(), None);
}

pub(crate) async fn using_a_session_extends_it(store: Store) {
    add_alice_and_bob(&store).await;
    add_session(&store, hashed_secret("s"), &session(7)).await;
    store
        .record_session_use(hashed_secret("s").lookup_key, timestamp(50), timestamp(150))
        .await
        .unwrap();
    let extended_session =
        Session { seen_at: timestamp(50), expires_at: timestamp(150), ..session(7) };
    assert_eq!(
        store.session(hashed_secret("s"), timestamp(149)).await.unwrap(),
        Some(extended_session)
    );
}

pub(crate) async fn an_ended_session_is_not_found(store: Store) {
    add_alice_and_bob(&store).await;
    add_session(&store, hashed_secret("s"), &session(7)).await;
    store.end_session(&any_events(), 7, hashed_secret("s").lookup_key).await.unwrap();
    assert_eq!(store.session(hashed_secret("s"), timestamp(3)).await.unwrap(), None);
}

pub(crate) async fn a_session_is_added_only_for_the_current_password(store: Store) {
    add_alice_and_bob(&store).await;
    for (account, version) in [(7, 1), (7, -1), (9, 0)] {
        let session = session(account);
        assert_eq!(
            store.add_session(&any_events(), hashed_secret("s"), &session, version).await.unwrap(),
            WriteOutcome::NotFound
        );
        assert_eq!(store.session(hashed_secret("s"), timestamp(3)).await.unwrap(), None);
    }
}

pub(crate) async fn a_sign_in_is_recorded_with_its_session(store: Store) {
    add_alice_and_bob(&store).await;
    let signed_in_at = async |id| store.account(id).await.unwrap().unwrap().signed_in_at;
    let outcome =
        store.add_session(&any_events(), hashed_secret("wrong"), &session(7), 1).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    assert_eq!(signed_in_at(7).await, None);
    for second in [5, 9] {
        let secret = hashed_secret(&second.to_string());
        add_session(&store, secret, &Session { created_at: timestamp(second), ..session(7) }).await;
        assert_eq!(signed_in_at(7).await, Some(timestamp(second)));
        store
            .record_session_use(secret.lookup_key, timestamp(second + 1), timestamp(100))
            .await
            .unwrap();
        assert_eq!(
            signed_in_at(7).await,
            Some(timestamp(second)),
            "the use of a session is not a sign-in"
        );
    }
    assert_eq!(signed_in_at(8).await, None);
}

pub(crate) async fn an_accounts_sessions_are_counted_until_they_expire(store: Store) {
    add_alice_and_bob(&store).await;
    let session_summary =
        async |account, now| store.session_summary(account, timestamp(now)).await.unwrap();
    assert_eq!(session_summary(7, 1).await, SessionSummary { count: 0, last_used_at: None });
    for (name, account, seen_at, expires_at) in
        [("a", 7, 30, 200), ("b", 7, 40, 100), ("c", 8, 50, 300)]
    {
        let seen_at = timestamp(seen_at);
        let expires_at = timestamp(expires_at);
        let new_session = Session { seen_at, expires_at, ..session(account) };
        add_session(&store, hashed_secret(name), &new_session).await;
    }
    assert_eq!(
        session_summary(7, 99).await,
        SessionSummary { count: 2, last_used_at: Some(timestamp(40)) }
    );
    assert_eq!(
        session_summary(7, 100).await,
        SessionSummary { count: 1, last_used_at: Some(timestamp(30)) }
    );
    assert_eq!(
        session_summary(8, 99).await,
        SessionSummary { count: 1, last_used_at: Some(timestamp(50)) }
    );
}
