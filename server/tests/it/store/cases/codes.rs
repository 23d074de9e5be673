//! Codes.

use belfry::store::{Code, Consent, ExistingAccess, NewToken, Store};

use super::{MANY, agree, at, digest, many, session_of, token, with_alice};

fn code() -> Code {
    Code {
        app: 1,
        account: 7,
        scopes: "read push".to_owned(),
        details: r#"{"redirect_uri":"tusky://oauth"}"#.to_owned(),
        expires_at: at(600),
        token: None,
    }
}

pub(in crate::store) async fn a_code_is_read_back_as_it_was_added(store: Store) {
    agree(&store, "c", &code()).await;
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(code()));
    assert_eq!(store.code(digest("d")).await.unwrap(), None);
}

pub(in crate::store) async fn a_code_is_spent_once(store: Store) {
    with_alice(&store).await;
    agree(&store, "c", &code()).await;

    assert!(store.redeem_code(digest("c"), digest("t"), at(599), Some(at(9999))).await.unwrap());
    assert!(!store.redeem_code(digest("c"), digest("u"), at(599), None).await.unwrap());

    let token = store.token(digest("t")).await.unwrap().unwrap();
    assert_eq!((token.app_id, token.account.as_ref().unwrap().id), (1, 7));
    assert_eq!((token.scopes.to_string().as_str(), token.created_at), ("read push", at(599)));
    assert_eq!(token.expires_at, Some(at(9999)));
    assert_eq!(store.token(digest("u")).await.unwrap(), None);
}

pub(in crate::store) async fn a_spent_code_names_its_token(store: Store) {
    agree(&store, "c", &code()).await;
    store.redeem_code(digest("c"), digest("t"), at(1), None).await.unwrap();
    let spent = Code { token: Some(digest("t")), ..code() };
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(spent));
}

pub(in crate::store) async fn an_expired_code_is_not_spent(store: Store) {
    with_alice(&store).await;
    agree(&store, "c", &code()).await;
    assert!(!store.redeem_code(digest("c"), digest("t"), at(600), None).await.unwrap());
    assert_eq!(store.token(digest("t")).await.unwrap(), None);
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(code()));
}

pub(in crate::store) async fn an_unknown_code_is_not_spent(store: Store) {
    assert!(!store.redeem_code(digest("c"), digest("t"), at(1), None).await.unwrap());
    assert_eq!(store.token(digest("t")).await.unwrap(), None);
}

pub(in crate::store) async fn of_many_who_spend_a_code_one_succeeds(store: Store) {
    with_alice(&store).await;
    agree(&store, "c", &code()).await;

    let (store, outcomes) = many(store, |store, caller| async move {
        let token = digest(&format!("t{caller}"));
        let spent = store.redeem_code(digest("c"), token, at(1), None).await.unwrap();
        // Whoever is told so has a token, and nobody else has.
        assert_eq!(store.token(token).await.unwrap().is_some(), spent);
        spent
    })
    .await;

    assert_eq!(outcomes.iter().filter(|spent| **spent).count(), 1);
    let winner =
        outcomes.iter().position(|spent| *spent).map(|caller| digest(&format!("t{caller}")));
    let named = store.code(digest("c")).await.unwrap().unwrap().token;
    assert!(named.is_some(), "{winner:?}");
}

pub(in crate::store) async fn a_code_is_given_in_a_session_of_its_account_alone(store: Store) {
    with_alice(&store).await;
    let (alices, bobs) = (session_of(&store, 7).await, session_of(&store, 8).await);
    let give = async |session| {
        let consent = Consent { session, unasked: None };
        store.add_code(digest("c"), &code(), consent).await.unwrap()
    };
    assert!(!give(bobs).await && !give(digest("no session")).await);
    store.set_password(7, "new", ExistingAccess::Keep).await.unwrap();
    assert!(!give(alices).await, "a new password has ended the session");
    assert_eq!(store.code(digest("c")).await.unwrap(), None);
}

pub(in crate::store) async fn a_code_is_given_without_asking_while_the_app_has_access(
    store: Store,
) {
    with_alice(&store).await;
    let session = session_of(&store, 7).await;
    let give = async |secret, now| {
        let consent = Consent { session, unasked: Some(at(now)) };
        store.add_code(digest(secret), &code(), consent).await.unwrap()
    };
    // Tokens of others, and of the app itself, let nobody in.
    store.add_token(&token("bob", Some(8))).await.unwrap();
    store.add_token(&token("app", None)).await.unwrap();
    assert!(!give("a", 10).await);
    let ending = NewToken { expires_at: Some(at(20)), ..token("t", Some(7)) };
    store.add_token(&ending).await.unwrap();
    assert!(give("b", 19).await && !give("c", 20).await);
    store.add_token(&token("u", Some(7))).await.unwrap();
    assert!(give("c", 20).await);
    store.revoke_access(7, 1, at(30)).await.unwrap();
    assert!(!give("d", 30).await);
}

pub(in crate::store) async fn of_many_codes_without_asking_none_outlives_the_access(store: Store) {
    with_alice(&store).await;
    let session = session_of(&store, 7).await;
    store.add_token(&token("first", Some(7))).await.unwrap();
    let (store, _) = many(store, |store, caller| async move {
        if caller == MANY / 2 {
            store.revoke_access(7, 1, at(20)).await.unwrap();
            return;
        }
        // Again and again, so that some come before the removal and some after it.
        for time in 0..8 {
            let name = format!("{caller} {time}");
            let (one, token) = (digest(&format!("c{name}")), digest(&format!("t{name}")));
            let consent = Consent { session, unasked: Some(at(20)) };
            if store.add_code(one, &code(), consent).await.unwrap() {
                store.redeem_code(one, token, at(20), None).await.unwrap();
            }
        }
    })
    .await;
    assert!(store.authorized_apps(7, at(21)).await.unwrap().is_empty());
}
