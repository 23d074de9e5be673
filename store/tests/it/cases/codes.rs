//! Conformance cases for authorization codes.

use belfry_store::test_support::any_events;
use belfry_store::{
    CodeOutcome, Consent, ExistingAccess, NewToken, RedeemError, Store, StoredCode,
};

use belfry_core::secret::HashedSecret;

use super::{
    CONCURRENT_TASKS, add_alice_and_app, ensure_session, grant, hashed, issue_code, redeem,
    run_concurrently, timestamp, token,
};

fn stored_code() -> StoredCode {
    StoredCode { grant: grant(), token: None }
}

pub(crate) async fn a_code_is_read_back_as_it_was_added(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(stored_code()));
    let forged_secret = HashedSecret { digest: hashed("d").digest, ..hashed("c") };
    assert_eq!(
        store.code(forged_secret).await.unwrap(),
        None,
        "the lookup key alone finds nothing"
    );
    assert_eq!(store.code(hashed("d")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_redeemed_once(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let redeem_code = async |token, expires_at| {
        store
            .redeem_code(
                &any_events(),
                hashed("c").lookup_key,
                hashed(token),
                timestamp(599),
                expires_at,
            )
            .await
    };
    assert_eq!(redeem_code("t", Some(timestamp(9999))).await, Ok(()));
    assert_eq!(
        redeem_code("u", None).await,
        Err(RedeemError::AlreadyRedeemed(hashed("t").lookup_key))
    );

    let token = store.token(hashed("t")).await.unwrap().unwrap();
    assert_eq!((token.app_id, token.account.as_ref().unwrap().id), (1, 7));
    assert_eq!(
        (token.scopes.to_string().as_str(), token.created_at),
        ("read push", timestamp(599))
    );
    assert_eq!(token.expires_at, Some(timestamp(9999)));
    assert_eq!(store.token(hashed("u")).await.unwrap(), None);
}

pub(crate) async fn a_redeemed_code_names_its_token(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    store
        .redeem_code(&any_events(), hashed("c").lookup_key, hashed("t"), timestamp(1), None)
        .await
        .unwrap();
    let redeemed_code = StoredCode { token: Some(hashed("t").lookup_key), ..stored_code() };
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(redeemed_code));
}

pub(crate) async fn an_expired_code_is_not_redeemed(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(
        store
            .redeem_code(&any_events(), hashed("c").lookup_key, hashed("t"), timestamp(600), None)
            .await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed("t")).await.unwrap(), None);
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(stored_code()));
}

pub(crate) async fn an_unknown_code_is_not_redeemed(store: Store) {
    assert_eq!(
        store
            .redeem_code(&any_events(), hashed("c").lookup_key, hashed("t"), timestamp(1), None)
            .await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed("t")).await.unwrap(), None);
}

pub(crate) async fn one_of_several_concurrent_redemptions_of_a_code_succeeds(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        let token = hashed(&format!("t{index}"));
        let outcome = store
            .redeem_code(&any_events(), hashed("c").lookup_key, token, timestamp(1), None)
            .await;
        let is_redeemed = outcome.is_ok();
        // Only the task that redeemed the code has a token.
        assert_eq!(store.token(token).await.unwrap().is_some(), is_redeemed);
        (is_redeemed.then_some(token.lookup_key), outcome)
    })
    .await;

    let issued_tokens: Vec<_> = outcomes.iter().filter_map(|(token, _)| *token).collect();
    assert_eq!(issued_tokens.len(), 1);
    let stored_token = store.code(hashed("c")).await.unwrap().unwrap().token;
    assert_eq!(stored_token, Some(issued_tokens[0]));
    let already_redeemed = Err(RedeemError::AlreadyRedeemed(issued_tokens[0]));
    assert!(
        outcomes.iter().all(|(token, outcome)| token.is_some() || *outcome == already_redeemed)
    );
}

pub(crate) async fn a_code_is_issued_only_in_a_session_of_its_account(store: Store) {
    add_alice_and_app(&store).await;
    let (alice_session, bob_session) =
        (ensure_session(&store, 7).await, ensure_session(&store, 8).await);
    let is_issued = async |session: HashedSecret| {
        let consent = Consent { session: session.lookup_key, at: timestamp(1), is_implied: false };
        store.add_code(&any_events(), hashed("c"), &grant(), consent).await.unwrap()
            == CodeOutcome::Issued
    };
    assert!(!is_issued(bob_session).await && !is_issued(hashed("no session")).await);
    store.set_password(&any_events(), 7, "new", ExistingAccess::Keep).await.unwrap();
    assert!(!is_issued(alice_session).await, "the new password ended the session");
    assert_eq!(store.code(hashed("c")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_issued_without_consent_only_while_the_app_has_access(store: Store) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    let is_issued = async |secret, now| {
        let consent = Consent { session: session.lookup_key, at: timestamp(now), is_implied: true };
        store.add_code(&any_events(), hashed(secret), &grant(), consent).await.unwrap()
            == CodeOutcome::Issued
    };
    // Tokens of other accounts and app tokens do not imply consent.
    store.add_token(&any_events(), &token("bob", Some(8))).await.unwrap();
    store.add_app_token(&token("app", None)).await.unwrap();
    assert!(!is_issued("a", 10).await);
    let expiring_token = NewToken { expires_at: Some(timestamp(20)), ..token("t", Some(7)) };
    store.add_token(&any_events(), &expiring_token).await.unwrap();
    assert!(is_issued("b", 19).await && !is_issued("c", 20).await);
    store.add_token(&any_events(), &token("u", Some(7))).await.unwrap();
    assert!(is_issued("c", 20).await);
    store.revoke_access(&any_events(), 7, 1, timestamp(30)).await.unwrap();
    assert!(!is_issued("d", 30).await);
}

pub(crate) async fn no_code_issued_without_consent_survives_a_concurrent_revocation(store: Store) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    store.add_token(&any_events(), &token("first", Some(7))).await.unwrap();
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == CONCURRENT_TASKS / 2 {
            store.revoke_access(&any_events(), 7, 1, timestamp(20)).await.unwrap();
            return;
        }
        // Repeated, so that some precede the revocation and some follow it.
        for attempt in 0..8 {
            let name = format!("{index} {attempt}");
            let code = hashed(&format!("c{name}"));
            let consent =
                Consent { session: session.lookup_key, at: timestamp(20), is_implied: true };
            let outcome = store.add_code(&any_events(), code, &grant(), consent).await.unwrap();
            if outcome == CodeOutcome::Issued {
                redeem(&store, &format!("c{name}"), &format!("t{name}")).await;
            }
        }
    })
    .await;
    assert!(store.authorized_apps(7, timestamp(21)).await.unwrap().is_empty());
}
