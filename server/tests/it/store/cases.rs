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

use belfry::store::{
    Account, AddAppOutcome, CodeOutcome, Consent, NewToken, Session, SignInOutcome, Store,
    StoredApp,
};
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::grant::{Binding, Grant};
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::{HashedSecret, Sha256Digest, SplitToken};
use jiff::Timestamp;
use tokio::task::JoinSet;

/// How many race in a concurrent case.
pub(super) const MANY: i64 = 64;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The stored form of a secret that is derived from a name.
pub(super) fn hashed(name: &str) -> HashedSecret {
    let digest = Sha256Digest::of(name).to_text();
    let mut random = [0; SplitToken::RANDOM_BYTES];
    random.copy_from_slice(&digest.as_bytes()[..SplitToken::RANDOM_BYTES]);
    SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed()
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

pub(super) fn app(id: i64, client_id: &str) -> StoredApp {
    let uris = ["tusky://oauth", "https://tusky.app/cb"];
    let details = AppDetails {
        name: "Tusky".to_owned(),
        website: Some("https://tusky.app".to_owned()),
        redirect_uris: uris.map(|uri| RedirectUri::new(uri).unwrap()).into(),
        scopes: "read write push".parse().unwrap(),
    };
    StoredApp {
        app: App { id, client_id: client_id.to_owned(), details },
        secret: hashed("client secret"),
        created_at: at(1_700_000_000),
        disabled_at: None,
    }
}

/// A grant of the app 1 and the account 7, which expires at second 600.
pub(super) fn grant() -> Grant {
    Grant {
        app_id: 1,
        account_id: 7,
        scopes: "read push".parse().unwrap(),
        binding: Binding { redirect_uri: "tusky://oauth".to_owned(), challenge: None },
        expires_at: at(600),
    }
}

/// A token of the app 1 and, when given, of an account.
pub(super) fn token(secret: &str, account: Option<i64>) -> NewToken {
    NewToken {
        secret: hashed(secret),
        app_id: 1,
        account_id: account,
        scopes: "read push".parse().unwrap(),
        created_at: at(1_700_000_000),
        expires_at: None,
    }
}

/// Adds the app 1, and the account 7 named alice.
pub(super) async fn with_alice(store: &Store) {
    assert_eq!(store.add_app(&app(1, "client")).await.unwrap(), AddAppOutcome::Added);
    store.add_account(&account(7, "alice")).await.unwrap();
}

/// A session of an account, which is made if there is none.
pub(super) async fn session_of(store: &Store, id: i64) -> HashedSecret {
    let secret = hashed(&format!("session of {id}"));
    // Alice may be there already.
    let _ = store.add_account(&account(id, &format!("person_{id}"))).await;
    if store.session(secret, at(1)).await.unwrap().is_none() {
        let session = Session {
            account_id: id,
            created_at: at(1),
            seen_at: at(1),
            expires_at: at(1_800_000_000),
            lang: None,
        };
        assert_eq!(
            store.add_session(secret, &session, PASSWORD).await.unwrap(),
            SignInOutcome::SignedIn
        );
    }
    secret
}

/// Issues a code in a session of the grant's account.
pub(super) async fn agree(store: &Store, secret: &str, grant: &Grant) {
    let session = session_of(store, grant.account_id).await.lookup;
    let consent = Consent { session, implied_at: None };
    let outcome = store.add_code(hashed(secret), grant, consent).await.unwrap();
    assert_eq!(outcome, CodeOutcome::Issued);
}

/// Runs many concurrent calls, and returns their results.
pub(super) async fn many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    store: Store,
    call: impl Fn(Arc<Store>, i64) -> F,
) -> (Arc<Store>, Vec<T>) {
    let store = Arc::new(store);
    let callers: JoinSet<T> = (0..MANY).map(|http| call(Arc::clone(&store), http)).collect();
    (store, callers.join_all().await)
}
