//! The cases of the conformance list, by area, and what they share.

pub(super) mod access;
pub(super) mod accounts;
pub(super) mod apps;
pub(super) mod codes;
pub(super) mod requests;
pub(super) mod rulesets;
pub(super) mod sessions;
pub(super) mod tokens;
pub(super) mod whole;

use std::future::Future;
use std::sync::Arc;

use belfry::store::{Account, App, Code, Consent, NewToken, Session, Store};
use belfry_core::secret::{Digest, Secret};
use jiff::Timestamp;
use tokio::task::JoinSet;

/// How many race in a concurrent case.
pub(super) const MANY: i64 = 64;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn digest(secret: &str) -> Digest {
    Secret::new(secret).digest()
}

/// What is remembered of everybody's password.
pub(super) const PASSWORD: &str = "$argon2id$…";

pub(super) fn account(id: i64, name: &str) -> Account {
    Account {
        id,
        name: name.to_owned(),
        email: Some(format!("{name}@example.org")),
        password: PASSWORD.to_owned(),
        created_at: at(1_700_000_000),
        disabled_at: None,
    }
}

pub(super) fn app(id: i64, client_id: &str) -> App {
    App {
        id,
        client_id: client_id.to_owned(),
        secret: digest("secret"),
        name: "Tusky".to_owned(),
        website: Some("https://tusky.app".to_owned()),
        redirect_uris: vec!["tusky://oauth".to_owned(), "https://tusky.app/cb".to_owned()],
        scopes: "read write push".to_owned(),
        created_at: at(1_700_000_000),
        disabled_at: None,
    }
}

/// A token of the app 1 and, when given, of an account.
pub(super) fn token(secret: &str, account: Option<i64>) -> NewToken {
    NewToken {
        digest: digest(secret),
        app: 1,
        account,
        scopes: "read push".to_owned(),
        created_at: at(1_700_000_000),
        expires_at: None,
    }
}

/// Adds the app 1, and the account 7 named alice.
pub(super) async fn with_alice(store: &Store) {
    assert!(store.add_app(&app(1, "client")).await.unwrap());
    store.add_account(&account(7, "alice")).await.unwrap().unwrap();
}

/// A session of an account, which is made if there is none.
pub(super) async fn session_of(store: &Store, id: i64) -> Digest {
    let digest = digest(&format!("session of {id}"));
    // Alice may be there already.
    let _ = store.add_account(&account(id, &format!("person_{id}"))).await.unwrap();
    if store.session(digest, at(1)).await.unwrap().is_none() {
        let session = Session {
            account: id,
            created_at: at(1),
            seen_at: at(1),
            expires_at: at(1_800_000_000),
            lang: None,
        };
        assert!(store.add_session(digest, &session, PASSWORD).await.unwrap());
    }
    digest
}

/// Somebody agrees to a code.
pub(super) async fn agree(store: &Store, secret: &str, code: &Code) {
    let consent = Consent { session: session_of(store, code.account).await, unasked: None };
    assert!(store.add_code(digest(secret), code, consent).await.unwrap());
}

/// Lets many callers do something at once, and gives what each got.
pub(super) async fn many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    store: Store,
    call: impl Fn(Arc<Store>, i64) -> F,
) -> (Arc<Store>, Vec<T>) {
    let store = Arc::new(store);
    let callers: JoinSet<T> = (0..MANY).map(|caller| call(Arc::clone(&store), caller)).collect();
    (store, callers.join_all().await)
}
