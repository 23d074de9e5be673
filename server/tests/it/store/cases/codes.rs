//! Codes.

use belfry::store::{Code, Store};

use super::{at, digest, many, with_alice};

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
    store.add_code(digest("c"), &code()).await.unwrap();
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(code()));
    assert_eq!(store.code(digest("d")).await.unwrap(), None);
}

pub(in crate::store) async fn a_code_is_spent_once(store: Store) {
    with_alice(&store).await;
    store.add_code(digest("c"), &code()).await.unwrap();

    assert!(store.spend_code(digest("c"), digest("t"), at(599), Some(at(9999))).await.unwrap());
    assert!(!store.spend_code(digest("c"), digest("u"), at(599), None).await.unwrap());

    let token = store.token(digest("t")).await.unwrap().unwrap();
    assert_eq!((token.app, token.account.as_ref().unwrap().id), (1, 7));
    assert_eq!((token.scopes.to_string().as_str(), token.created_at), ("read push", at(599)));
    assert_eq!(token.expires_at, Some(at(9999)));
    assert_eq!(store.token(digest("u")).await.unwrap(), None);
}

pub(in crate::store) async fn a_spent_code_names_its_token(store: Store) {
    store.add_code(digest("c"), &code()).await.unwrap();
    store.spend_code(digest("c"), digest("t"), at(1), None).await.unwrap();
    let spent = Code { token: Some(digest("t")), ..code() };
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(spent));
}

pub(in crate::store) async fn an_expired_code_is_not_spent(store: Store) {
    with_alice(&store).await;
    store.add_code(digest("c"), &code()).await.unwrap();
    assert!(!store.spend_code(digest("c"), digest("t"), at(600), None).await.unwrap());
    assert_eq!(store.token(digest("t")).await.unwrap(), None);
    assert_eq!(store.code(digest("c")).await.unwrap(), Some(code()));
}

pub(in crate::store) async fn an_unknown_code_is_not_spent(store: Store) {
    assert!(!store.spend_code(digest("c"), digest("t"), at(1), None).await.unwrap());
    assert_eq!(store.token(digest("t")).await.unwrap(), None);
}

pub(in crate::store) async fn of_many_who_spend_a_code_one_succeeds(store: Store) {
    with_alice(&store).await;
    store.add_code(digest("c"), &code()).await.unwrap();

    let (store, outcomes) = many(store, |store, caller| async move {
        let token = digest(&format!("t{caller}"));
        let spent = store.spend_code(digest("c"), token, at(1), None).await.unwrap();
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
