//! Conformance cases for access tokens.

use belfry_core::account::Role;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::{Token, TokenAccount};
use belfry_core::secret::HashedSecret;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_store::test::any_events;
use belfry_store::{Consent, NewToken, Store, WriteOutcome};

use super::{
    add_alice_and_app, ensure_session, grant, hashed_secret, issue_code, redeem, run_concurrently,
    timestamp, token,
};

pub(crate) async fn a_token_is_read_back_with_its_account(store: Store) {
    add_alice_and_app(&store).await;
    let new_token = NewToken { expires_at: Some(timestamp(1_800_000_000)), ..token("t", Some(7)) };
    store.add_token(&any_events(), &new_token).await.unwrap();

    for source in ["from the database", "from the cache"] {
        let stored_token = store.token(hashed_secret("t")).await.unwrap().unwrap();
        let expected = Token {
            app_id: 1,
            account: Some(TokenAccount {
                id: 7,
                name: "alice".to_owned(),
                role: Role::User,
                disabled_at: None,
            }),
            scopes: "read push".parse().unwrap(),
            created_at: timestamp(1_700_000_000),
            expires_at: Some(timestamp(1_800_000_000)),
            revoked_at: None,
            app_disabled_at: None,
        };
        assert_eq!(**stored_token, expected, "{source}");
    }
}

pub(crate) async fn an_app_token_has_no_account(store: Store) {
    add_alice_and_app(&store).await;
    store.add_app_token(&token("t", None)).await.unwrap();
    assert_eq!(store.token(hashed_secret("t")).await.unwrap().unwrap().account, None);
}

pub(crate) async fn an_unknown_token_is_not_found(store: Store) {
    assert!(store.token(hashed_secret("t")).await.unwrap().is_none());
    assert_eq!(
        store
            .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1))
            .await
            .unwrap(),
        WriteOutcome::NotFound
    );
}

pub(crate) async fn a_revoked_token_is_reported_immediately(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert_eq!(store.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at, None);

    assert_eq!(
        store
            .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1_700_000_009))
            .await
            .unwrap(),
        WriteOutcome::Written
    );

    let stored_token = store.token(hashed_secret("t")).await.unwrap().unwrap();
    assert_eq!(stored_token.revoked_at, Some(timestamp(1_700_000_009)));
}

pub(crate) async fn a_second_revocation_does_not_change_the_time(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert_eq!(
        store
            .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(10))
            .await
            .unwrap(),
        WriteOutcome::Written
    );
    assert_eq!(
        store
            .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(20))
            .await
            .unwrap(),
        WriteOutcome::Written
    );
    assert_eq!(
        store.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at,
        Some(timestamp(10))
    );
}

pub(crate) async fn concurrent_revocations_of_a_token_all_succeed(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        // Half of the tasks read the token concurrently with the revocations.
        if index % 2 == 0 {
            return store.token(hashed_secret("t")).await.unwrap().is_some();
        }
        store
            .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(10))
            .await
            .unwrap()
            == WriteOutcome::Written
    })
    .await;
    assert!(outcomes.iter().all(|has_succeeded| *has_succeeded));
    assert_eq!(
        store.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at,
        Some(timestamp(10))
    );
}

pub(crate) async fn a_disabled_account_is_reported_immediately_by_its_tokens(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let disabled_at = async || {
        let stored_token = store.token(hashed_secret("t")).await.unwrap().unwrap();
        stored_token.account.as_ref().unwrap().disabled_at
    };
    assert_eq!(disabled_at().await, None);
    store.set_account_disabled_at(&any_events(), 7, Some(timestamp(50))).await.unwrap();
    assert_eq!(disabled_at().await, Some(timestamp(50)));
    store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
    assert_eq!(disabled_at().await, None);
}

pub(crate) async fn only_grants_with_valid_tokens_are_active(store: Store) {
    add_alice_and_app(&store).await;
    let issue_token = async |secret, app, account, scopes: &str, expires_at| {
        let scopes = scopes.parse().unwrap();
        let new_token = NewToken { app_id: app, scopes, expires_at, ..token(secret, account) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    };
    issue_token("one", 1, Some(7), "read", None).await;
    issue_token("same", 1, Some(7), "read", None).await;
    issue_token("expiring", 1, Some(7), "push", Some(timestamp(100))).await;
    issue_token("revoked", 1, Some(7), "write", None).await;
    issue_token("app only", 1, None, "follow", None).await;
    issue_token("other app", 2, Some(7), "profile", None).await;
    issue_token("other account", 1, Some(8), "profile", None).await;
    store
        .revoke_token(&any_events(), hashed_secret("revoked").lookup_key, timestamp(1))
        .await
        .unwrap();

    let granted_scopes = async |now| {
        let grants = store.active_grants(7, 1, timestamp(now)).await.unwrap();
        let mut scopes: Vec<String> = grants.iter().map(|grant| grant.scopes.to_string()).collect();
        scopes.sort();
        scopes
    };
    assert_eq!(granted_scopes(99).await, ["push", "read"]);
    assert_eq!(granted_scopes(100).await, ["read"]);
}

pub(crate) async fn a_token_is_issued_only_for_the_current_password(store: Store) {
    add_alice_and_app(&store).await;
    for (account, version) in [(Some(7), 1), (Some(8), 0), (None, 0)] {
        let new_token = token("t", account);
        assert_eq!(
            store.add_token_for_password(&any_events(), &new_token, version).await.unwrap(),
            WriteOutcome::NotFound
        );
        assert!(store.token(hashed_secret("t")).await.unwrap().is_none());
    }
    let new_token = NewToken { expires_at: Some(timestamp(1_800_000_000)), ..token("t", Some(7)) };
    assert_eq!(
        store.add_token_for_password(&any_events(), &new_token, 0).await.unwrap(),
        WriteOutcome::Written
    );
    let stored_token = store.token(hashed_secret("t")).await.unwrap().unwrap();
    assert_eq!(stored_token.account.as_ref().unwrap().id, 7);
    assert_eq!((stored_token.app_id, &stored_token.scopes), (new_token.app_id, &new_token.scopes));
    assert_eq!(
        (stored_token.created_at, stored_token.expires_at),
        (new_token.created_at, new_token.expires_at)
    );
}

/// The lookup key alone must not give access, from the database or from the cache.
pub(crate) async fn a_token_with_a_known_lookup_key_and_a_wrong_secret_is_unknown(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let forged_secret =
        HashedSecret { digest: hashed_secret("other").digest, ..hashed_secret("t") };
    for source in ["from the database", "while the token is cached"] {
        assert_eq!(store.token(forged_secret).await.unwrap(), None, "{source}");
        assert_eq!(store.cached_token(forged_secret), None, "{source}");
        assert!(store.token(hashed_secret("t")).await.unwrap().is_some(), "{source}");
    }
}

pub(crate) async fn no_session_code_or_token_is_stored_while_an_account_or_app_is_disabled(
    store: Store,
) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    let session = ensure_session(&store, 7).await.lookup_key;
    let issue_all = async || {
        let code = hashed_secret("late code");
        let consent = Consent { session, at: timestamp(1), is_implied: false };
        (
            store.add_token(&any_events(), &token("late", Some(7))).await.unwrap(),
            store.add_token_for_password(&any_events(), &token("later", Some(7)), 0).await.unwrap(),
            store.add_code(&any_events(), code, &grant(), consent).await.unwrap(),
            redeem(&store, "c", "redeemed").await,
        )
    };
    let nothing_issued =
        (WriteOutcome::NotFound, WriteOutcome::NotFound, WriteOutcome::NotFound, false);
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(10))).await.unwrap();
    assert_eq!(issue_all().await, nothing_issued);
    assert_eq!(store.add_app_token(&token("app", None)).await.unwrap(), WriteOutcome::NotFound);
    store.set_app_disabled_at(&any_events(), 1, None).await.unwrap();

    store.set_account_disabled_at(&any_events(), 7, Some(timestamp(10))).await.unwrap();
    assert_eq!(issue_all().await, nothing_issued);
    let outcome =
        store.add_session(&any_events(), hashed_secret("s"), &super::session(7, 900), 0).await;
    assert_eq!(outcome.unwrap(), WriteOutcome::NotFound);
    store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();

    for secret in ["late", "later", "redeemed", "app"] {
        assert_eq!(store.token(hashed_secret(secret)).await.unwrap(), None, "{secret}");
    }
    assert_eq!(store.session(hashed_secret("s"), timestamp(11)).await.unwrap(), None);
    assert_eq!(store.code(hashed_secret("late code")).await.unwrap(), None);
    // The earlier code is still valid, and its grant has the redirect URI.
    assert!(redeem(&store, "c", "redeemed").await);
    let grants = store.active_grants(7, 1, timestamp(20)).await.unwrap();
    assert_eq!(grants[0].redirect_uri.as_deref(), Some("tusky://oauth"));
}

pub(crate) async fn a_sign_in_is_recorded_with_its_token(store: Store) {
    add_alice_and_app(&store).await;
    let signed_in_at = async || store.account(7).await.unwrap().unwrap().signed_in_at;
    // A token that was issued without a password is not a sign-in.
    store.add_token(&any_events(), &token("issued", Some(7))).await.unwrap();
    let outcome =
        store.add_token_for_password(&any_events(), &token("wrong", Some(7)), 1).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    assert_eq!(signed_in_at().await, None);
    let new_token = NewToken { created_at: timestamp(5), ..token("login", Some(7)) };
    let outcome = store.add_token_for_password(&any_events(), &new_token, 0).await.unwrap();
    assert_eq!(outcome, WriteOutcome::Written);
    assert_eq!(signed_in_at().await, Some(timestamp(5)));
}

pub(crate) async fn unknown_scopes_are_read_without_effect_and_counted(store: Store) {
    add_alice_and_app(&store).await;
    let scopes = Scopes::from_stored("read urn:matrix:client:device:ABC bells:ring towers:climb");
    let new_token = NewToken { scopes: scopes.clone(), ..token("t", Some(7)) };
    let unknown_scope_count = || {
        let mut out = Exposition::default();
        store.write_metrics(&mut out);
        let text = out.finish();
        let value = text.lines().find_map(|line| line.strip_prefix("belfry_unknown_scopes_total "));
        value.unwrap().parse::<u64>().unwrap()
    };
    let count_before = unknown_scope_count();
    store.add_token(&any_events(), &new_token).await.unwrap();

    let stored_token = store.token(hashed_secret("t")).await.unwrap().unwrap();
    assert_eq!(stored_token.scopes, scopes);
    assert_eq!(stored_token.scopes.to_string(), "read urn:matrix:client:device:ABC");
    // Other tests of this process increment the same metric.
    assert!(unknown_scope_count() >= count_before + 2);
    let apps = store.authorized_apps(7, timestamp(50)).await.unwrap();
    assert_eq!(apps[0].scopes, scopes);
}
