//! Conformance cases for authorization codes.

use belfry_store::test_support::any_events;
use belfry_store::{
    CodeOutcome, Consent, ExistingAccess, NewToken, RedeemError, Store, StoredCode,
};

use belfry_core::secret::HashedSecret;

use super::{
    MANY, add_alice_and_app, at, ensure_session, grant, hashed, issue_code, redeem,
    run_concurrently, token,
};

fn code() -> StoredCode {
    StoredCode { grant: grant(), token: None }
}

pub(crate) async fn a_code_is_read_back_as_it_was_added(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(code()));
    let forged = HashedSecret { digest: hashed("d").digest, ..hashed("c") };
    assert_eq!(store.code(forged).await.unwrap(), None, "the lookup key alone finds nothing");
    assert_eq!(store.code(hashed("d")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_redeemed_once(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let redeem = async |token, expires_at| {
        store
            .redeem_code(&any_events(), hashed("c").lookup, hashed(token), at(599), expires_at)
            .await
    };
    assert_eq!(redeem("t", Some(at(9999))).await, Ok(()));
    assert_eq!(redeem("u", None).await, Err(RedeemError::AlreadyRedeemed(hashed("t").lookup)));

    let token = store.token(hashed("t")).await.unwrap().unwrap();
    assert_eq!((token.app_id, token.account.as_ref().unwrap().id), (1, 7));
    assert_eq!((token.scopes.to_string().as_str(), token.created_at), ("read push", at(599)));
    assert_eq!(token.expires_at, Some(at(9999)));
    assert_eq!(store.token(hashed("u")).await.unwrap(), None);
}

pub(crate) async fn a_redeemed_code_names_its_token(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    store.redeem_code(&any_events(), hashed("c").lookup, hashed("t"), at(1), None).await.unwrap();
    let redeemed = StoredCode { token: Some(hashed("t").lookup), ..code() };
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(redeemed));
}

pub(crate) async fn an_expired_code_is_not_redeemed(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;
    assert_eq!(
        store.redeem_code(&any_events(), hashed("c").lookup, hashed("t"), at(600), None).await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed("t")).await.unwrap(), None);
    assert_eq!(store.code(hashed("c")).await.unwrap(), Some(code()));
}

pub(crate) async fn an_unknown_code_is_not_redeemed(store: Store) {
    assert_eq!(
        store.redeem_code(&any_events(), hashed("c").lookup, hashed("t"), at(1), None).await,
        Err(RedeemError::NotRedeemable)
    );
    assert_eq!(store.token(hashed("t")).await.unwrap(), None);
}

pub(crate) async fn one_of_several_concurrent_redemptions_of_a_code_succeeds(store: Store) {
    add_alice_and_app(&store).await;
    issue_code(&store, "c", &grant()).await;

    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        let token = hashed(&format!("t{index}"));
        let outcome =
            store.redeem_code(&any_events(), hashed("c").lookup, token, at(1), None).await;
        let redeemed = outcome.is_ok();
        // Only the task that redeemed the code has a token.
        assert_eq!(store.token(token).await.unwrap().is_some(), redeemed);
        (redeemed.then_some(token.lookup), outcome)
    })
    .await;

    let winners: Vec<_> = outcomes.iter().filter_map(|(winner, _)| *winner).collect();
    assert_eq!(winners.len(), 1);
    let (named, winner) = (store.code(hashed("c")).await.unwrap().unwrap().token, winners[0]);
    assert_eq!(named, Some(winner));
    let loser = Err(RedeemError::AlreadyRedeemed(winner));
    assert!(outcomes.iter().all(|(won, outcome)| won.is_some() || *outcome == loser));
}

pub(crate) async fn a_code_is_issued_only_in_a_session_of_its_account(store: Store) {
    add_alice_and_app(&store).await;
    let (alices, bobs) = (ensure_session(&store, 7).await, ensure_session(&store, 8).await);
    let issue = async |session: HashedSecret| {
        let consent = Consent { session: session.lookup, at: at(1), is_implied: false };
        store.add_code(&any_events(), hashed("c"), &grant(), consent).await.unwrap()
            == CodeOutcome::Issued
    };
    assert!(!issue(bobs).await && !issue(hashed("no session")).await);
    store.set_password(&any_events(), 7, "new", ExistingAccess::Keep).await.unwrap();
    assert!(!issue(alices).await, "the new password ended the session");
    assert_eq!(store.code(hashed("c")).await.unwrap(), None);
}

pub(crate) async fn a_code_is_issued_without_consent_only_while_the_app_has_access(store: Store) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    let issue = async |secret, now| {
        let consent = Consent { session: session.lookup, at: at(now), is_implied: true };
        store.add_code(&any_events(), hashed(secret), &grant(), consent).await.unwrap()
            == CodeOutcome::Issued
    };
    // Tokens of other accounts and app tokens do not imply consent.
    store.add_token(&any_events(), &token("bob", Some(8))).await.unwrap();
    store.add_app_token(&token("app", None)).await.unwrap();
    assert!(!issue("a", 10).await);
    let expiring = NewToken { expires_at: Some(at(20)), ..token("t", Some(7)) };
    store.add_token(&any_events(), &expiring).await.unwrap();
    assert!(issue("b", 19).await && !issue("c", 20).await);
    store.add_token(&any_events(), &token("u", Some(7))).await.unwrap();
    assert!(issue("c", 20).await);
    store.revoke_access(&any_events(), 7, 1, at(30)).await.unwrap();
    assert!(!issue("d", 30).await);
}

pub(crate) async fn no_code_issued_without_consent_survives_a_concurrent_revocation(store: Store) {
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    store.add_token(&any_events(), &token("first", Some(7))).await.unwrap();
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index == MANY / 2 {
            store.revoke_access(&any_events(), 7, 1, at(20)).await.unwrap();
            return;
        }
        // Repeated, so that some precede the revocation and some follow it.
        for attempt in 0..8 {
            let name = format!("{index} {attempt}");
            let code = hashed(&format!("c{name}"));
            let consent = Consent { session: session.lookup, at: at(20), is_implied: true };
            let issued = store.add_code(&any_events(), code, &grant(), consent).await.unwrap();
            if issued == CodeOutcome::Issued {
                redeem(&store, &format!("c{name}"), &format!("t{name}")).await;
            }
        }
    })
    .await;
    assert!(store.authorized_apps(7, at(21)).await.unwrap().is_empty());
}
