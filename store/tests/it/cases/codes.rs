//! Conformance cases for authorization codes.

use belfry_store::test::any_events;
use belfry_store::{
    Consent, ExistingAccess, NewToken, RedeemError, Session, Store, StoredCode, WriteOutcome,
};

use belfry_core::secret::HashedSecret;

use super::{
    CONCURRENT_TASKS, add_alice_and_app, ensure_session, grant, hashed_secret, issue_code, redeem,
    run_concurrently, session, timestamp, token,
};

fn stored_code() -> StoredCode {
    let Session { methods, authenticated_at, .. } = session(7, 0);
    StoredCode { grant: grant(), methods, authenticated_at, token: None }
}

pub(crate) async fn a_code_is_read_back_as_it_was_added(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(store.code(hashed_secret("c")).await.unwrap(), Some(stored_code()));
    let forged_secret = HashedSecret { digest: hashed_secret("d").digest, ..hashed_secret("c") };
    assert_eq!(
        store.code(forged_secret).await.unwrap(),
        None,
        "the lookup key alone finds nothing"
    );
    assert_eq!(store.code(hashed_secret("d")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_redeemed_once(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let redeem_code = async |token, expires_at| {
        store
            .redeem_code(
                &any_events(),
                hashed_secret("c").lookup_key,
                hashed_secret(token),
                timestamp(599),
                expires_at,
            )
            .await
    };
    assert_eq!(redeem_code("t", Some(timestamp(9999))).await, Ok(()));
    assert_eq!(
        redeem_code("u", None).await,
        Err(RedeemError::AlreadyRedeemed(hashed_secret("t").lookup_key))
    );

    let token = store.token(hashed_secret("t")).await.unwrap().unwrap();
    assert_eq!((token.app_id, token.account.as_ref().unwrap().id), (1, 7));
    assert_eq!(
        (token.scopes.to_string().as_str(), token.created_at),
        ("read push", timestamp(599))
    );
    assert_eq!(token.expires_at, Some(timestamp(9999)));
    assert_eq!(store.token(hashed_secret("u")).await.unwrap(), None);
}

pub(crate) async fn a_redeemed_code_refers_to_its_token(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    store
        .redeem_code(
            &any_events(),
            hashed_secret("c").lookup_key,
            hashed_secret("t"),
            timestamp(1),
            None,
        )
        .await
        .unwrap();
    let redeemed_code = StoredCode { token: Some(hashed_secret("t").lookup_key), ..stored_code() };
    assert_eq!(store.code(hashed_secret("c")).await.unwrap(), Some(redeemed_code));
}

pub(crate) async fn an_expired_code_cannot_be_redeemed(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(
        store
            .redeem_code(
                &any_events(),
                hashed_secret("c").lookup_key,
                hashed_secret("t"),
                timestamp(600),
                None
            )
            .await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed_secret("t")).await.unwrap(), None);
    assert_eq!(store.code(hashed_secret("c")).await.unwrap(), Some(stored_code()));
}

pub(crate) async fn an_unknown_code_cannot_be_redeemed(store: Store) {
    assert_eq!(
        store
            .redeem_code(
                &any_events(),
                hashed_secret("c").lookup_key,
                hashed_secret("t"),
                timestamp(1),
                None
            )
            .await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed_secret("t")).await.unwrap(), None);
}

pub(crate) async fn exactly_one_concurrent_redemption_succeeds(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        let token = hashed_secret(&format!("t{index}"));
        let outcome = store
            .redeem_code(&any_events(), hashed_secret("c").lookup_key, token, timestamp(1), None)
            .await;
        let is_redeemed = outcome.is_ok();
        // Only the task that redeemed the code has a token.
        assert_eq!(store.token(token).await.unwrap().is_some(), is_redeemed);
        (is_redeemed.then_some(token.lookup_key), outcome)
    })
    .await;

    let issued_tokens: Vec<_> = outcomes.iter().filter_map(|(token, _)| *token).collect();
    assert_eq!(issued_tokens.len(), 1);
    let stored_token = store.code(hashed_secret("c")).await.unwrap().unwrap().token;
    assert_eq!(stored_token, Some(issued_tokens[0]));
    let already_redeemed = Err(RedeemError::AlreadyRedeemed(issued_tokens[0]));
    assert!(
        outcomes.iter().all(|(token, outcome)| token.is_some() || *outcome == already_redeemed)
    );
}

pub(crate) async fn a_code_is_issued_only_in_a_session_of_its_account(store: Store) {
    add_alice_and_app(&store).await;
    let alice_session = ensure_session(&store, 7).await;
    let bob_session = ensure_session(&store, 8).await;
    let try_issue = async |session: HashedSecret| {
        let consent = Consent { session: session.lookup_key, at: timestamp(1), is_implied: false };
        store.add_code(&any_events(), hashed_secret("c"), &grant(), consent).await.unwrap()
            == WriteOutcome::Written
    };
    assert!(!try_issue(bob_session).await && !try_issue(hashed_secret("no session")).await);
    store.set_password(&any_events(), 7, "new", ExistingAccess::Keep).await.unwrap();
    assert!(!try_issue(alice_session).await, "the new password ended the session");
    assert_eq!(store.code(hashed_secret("c")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_issued_with_implied_consent_only_while_the_app_has_access(
    store: Store,
) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    let try_issue = async |secret, now| {
        let consent = Consent { session: session.lookup_key, at: timestamp(now), is_implied: true };
        store.add_code(&any_events(), hashed_secret(secret), &grant(), consent).await.unwrap()
            == WriteOutcome::Written
    };
    // Tokens of other accounts and app tokens do not imply consent.
    store.add_token(&any_events(), &token("bob", Some(8))).await.unwrap();
    store.add_app_token(&token("app", None)).await.unwrap();
    assert!(!try_issue("a", 10).await);
    let expiring_token = NewToken { expires_at: Some(timestamp(20)), ..token("t", Some(7)) };
    store.add_token(&any_events(), &expiring_token).await.unwrap();
    assert!(try_issue("b", 19).await && !try_issue("c", 20).await);
    store.add_token(&any_events(), &token("u", Some(7))).await.unwrap();
    assert!(try_issue("c", 20).await);
    store.revoke_access(&any_events(), 7, 1, timestamp(30)).await.unwrap();
    assert!(!try_issue("d", 30).await);
}

pub(crate) async fn no_access_from_implied_consent_survives_a_concurrent_revocation(store: Store) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    store.add_token(&any_events(), &token("first", Some(7))).await.unwrap();
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == CONCURRENT_TASKS / 2 {
            store.revoke_access(&any_events(), 7, 1, timestamp(20)).await.unwrap();
            return;
        }
        // Several attempts, so that some run before the revocation and some after.
        for attempt in 0..8 {
            let name = format!("{index} {attempt}");
            let code = hashed_secret(&format!("c{name}"));
            let consent =
                Consent { session: session.lookup_key, at: timestamp(20), is_implied: true };
            let outcome = store.add_code(&any_events(), code, &grant(), consent).await.unwrap();
            if outcome == WriteOutcome::Written {
                redeem(&store, &format!("c{name}"), &format!("t{name}")).await;
            }
        }
    })
    .await;
    assert!(store.authorized_apps(7, timestamp(21)).await.unwrap().is_empty());
}
