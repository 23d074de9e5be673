//! The apps that an account has let in.

use belfry::store::{AddAppOutcome, AuthorizedApp, NewToken, RedeemOutcome, Store};
use belfry_core::oauth::grant::Grant;

use super::{agree, at, grant, hashed, many, token, with_alice};

/// The apps 1 and 2, and the account 7.
async fn with_two_apps(store: &Store) {
    with_alice(store).await;
    let mut two = super::app(2, "other");
    two.app.details.name = "Other".to_owned();
    two.app.details.website = None;
    assert_eq!(store.add_app(&two).await.unwrap(), AddAppOutcome::Added);
}

async fn issue(store: &Store, secret: &str, app: i64, account: Option<i64>) {
    store.add_token(&NewToken { app_id: app, ..token(secret, account) }).await.unwrap();
}

fn code(app: i64, account: i64) -> Grant {
    Grant { app_id: app, account_id: account, ..grant() }
}

async fn apps(store: &Store, account: i64, now: i64) -> Vec<i64> {
    store.authorized_apps(account, at(now)).await.unwrap().iter().map(|it| it.app_id).collect()
}

pub(in crate::store) async fn who_was_let_in_is_whose_tokens_are_good(store: Store) {
    with_two_apps(&store).await;
    assert!(apps(&store, 7, 1).await.is_empty());
    issue(&store, "one", 1, Some(7)).await;
    let ending = NewToken { app_id: 2, expires_at: Some(at(100)), ..token("two", Some(7)) };
    store.add_token(&ending).await.unwrap();
    issue(&store, "of the app", 2, None).await;
    issue(&store, "of another", 1, Some(8)).await;

    assert_eq!(apps(&store, 7, 99).await, [1, 2]);
    assert_eq!(apps(&store, 7, 100).await, [1]);
    store.disable_app(1, Some(at(1))).await.unwrap();
    assert_eq!(apps(&store, 7, 99).await, [2]);
    store.disable_app(1, None).await.unwrap();
    store.revoke_token(hashed("one").lookup, at(1)).await.unwrap();
    assert_eq!(apps(&store, 7, 99).await, [2]);
}

pub(in crate::store) async fn an_app_says_all_that_its_tokens_carry_and_since_when(store: Store) {
    with_two_apps(&store).await;
    for (secret, scopes, created_at) in
        [("a", "read", 30), ("b", "push", 20), ("c", "read", 10), ("d", "write", 5)]
    {
        let (scopes, created_at) = (scopes.parse().unwrap(), at(created_at));
        let new = NewToken { scopes, created_at, ..token(secret, Some(7)) };
        store.add_token(&new).await.unwrap();
    }
    store.revoke_token(hashed("d").lookup, at(40)).await.unwrap();
    let expected = AuthorizedApp {
        app_id: 1,
        client_id: "client".to_owned(),
        name: "Tusky".to_owned(),
        website: Some("https://tusky.app".to_owned()),
        scopes: "push read".parse().unwrap(),
        since: at(10),
    };
    let let_in = store.authorized_apps(7, at(50)).await.unwrap();
    assert_eq!(let_in[0].scopes.to_string(), "push read");
    assert_eq!(let_in, [expected]);
}

pub(in crate::store) async fn removed_access_ends_the_tokens_at_once_and_nothing_else(
    store: Store,
) {
    with_two_apps(&store).await;
    store.add_account(&super::account(8, "bob")).await.unwrap();
    let others = [("other app", 2, Some(7)), ("other", 1, Some(8)), ("of the app", 1, None)];
    for (secret, app, account) in others.into_iter().chain([("a", 1, Some(7)), ("b", 1, Some(7))]) {
        issue(&store, secret, app, account).await;
        // From now on it is in memory.
        assert!(store.token(hashed(secret)).await.unwrap().is_some());
    }
    let expired = NewToken { expires_at: Some(at(5)), ..token("expired", Some(7)) };
    store.add_token(&expired).await.unwrap();
    store.revoke_token(hashed("b").lookup, at(9)).await.unwrap();

    assert_eq!(store.revoke_access(7, 1, at(10)).await.unwrap(), 1, "one was good until now");

    let revoked = async |secret| store.token(hashed(secret)).await.unwrap().unwrap().revoked_at;
    assert_eq!(revoked("a").await, Some(at(10)));
    assert_eq!(revoked("b").await, Some(at(9)), "the first time stays");
    for (secret, ..) in others {
        assert_eq!(revoked(secret).await, None, "{secret}");
    }
    assert_eq!((apps(&store, 7, 11).await, apps(&store, 8, 11).await), (vec![2], vec![1]));
}

pub(in crate::store) async fn removed_access_ends_codes_that_are_not_spent(store: Store) {
    with_two_apps(&store).await;
    for (secret, app, account) in [("a", 1, 7), ("spent", 1, 7), ("other app", 2, 7), ("b", 1, 8)] {
        agree(&store, secret, &code(app, account)).await;
    }
    let redeem = async |secret: &str| {
        let token = hashed(&format!("token of {secret}"));
        store.redeem_code(hashed(secret).lookup, token, at(20), None).await.unwrap()
            == RedeemOutcome::Redeemed
    };
    assert!(redeem("spent").await);

    assert_eq!(store.revoke_access(7, 1, at(20)).await.unwrap(), 1);

    assert!(!redeem("a").await);
    assert!(redeem("other app").await && redeem("b").await);
    // What a code was spent for is still known, so that a replay is known as one.
    let found = store.code(hashed("spent")).await.unwrap().unwrap();
    assert_eq!(found.token, Some(hashed("token of spent").lookup));
}

pub(in crate::store) async fn to_remove_what_is_not_there_does_nothing(store: Store) {
    with_two_apps(&store).await;
    issue(&store, "t", 1, Some(7)).await;
    for (account, app) in [(8, 1), (7, 2), (7, 99), (0, 0), (i64::MIN, i64::MAX)] {
        assert_eq!(store.revoke_access(account, app, at(10)).await.unwrap(), 0);
    }
    assert_eq!(store.token(hashed("t")).await.unwrap().unwrap().revoked_at, None);
    for ended in [1, 0, 0] {
        assert_eq!(store.revoke_access(7, 1, at(10)).await.unwrap(), ended);
    }
}

pub(in crate::store) async fn of_many_who_spend_codes_while_access_is_removed_nobody_keeps_a_token(
    store: Store,
) {
    with_two_apps(&store).await;
    for index in 0..super::MANY {
        agree(&store, &format!("c{index}"), &code(1, 7)).await;
    }
    let (store, _) = many(store, |store, index| async move {
        if index == super::MANY / 2 {
            store.revoke_access(7, 1, at(20)).await.unwrap();
            return;
        }
        let token = hashed(&format!("t{index}"));
        let code = hashed(&format!("c{index}"));
        let outcome = store.redeem_code(code.lookup, token, at(20), None).await.unwrap();
        if outcome == RedeemOutcome::Redeemed {
            // Puts it into memory, in a race with what is forgotten.
            store.token(token).await.unwrap();
        }
    })
    .await;
    assert!(apps(&store, 7, 21).await.is_empty());
    for index in 0..super::MANY {
        let token = store.token(hashed(&format!("t{index}"))).await.unwrap();
        assert!(token.is_none_or(|token| token.revoked_at.is_some()), "{index}");
    }
}
