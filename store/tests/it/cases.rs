//! The cases of the conformance list by area, and shared test data.

pub(super) mod access;
pub(super) mod account_import;
pub(super) mod account_security;
pub(super) mod accounts;
pub(super) mod admins;
pub(super) mod apps;
pub(super) mod audit;
pub(super) mod claims;
pub(super) mod codes;
pub(super) mod deletion;
pub(super) mod deliveries;
pub(super) mod excess;
pub(super) mod families;
pub(super) mod grants;
pub(super) mod lanes;
pub(super) mod last_use;
pub(super) mod overlapping_reads;
pub(super) mod push_retention;
pub(super) mod receivers;
pub(super) mod removal;
pub(super) mod requests;
pub(super) mod retention;
pub(super) mod rule_writes;
pub(super) mod rulesets;
pub(super) mod sessions;
pub(super) mod signing_keys;
pub(super) mod timed_rules;
pub(super) mod tokens;
pub(super) mod whole;

use std::future::Future;
use std::sync::Arc;

use belfry_core::account::Role;
use belfry_core::account::authentication::{AuthenticationMethod, AuthenticationMethods};
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::grant::{Binding, CodeGrant};
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::{HashedSecret, Sha256Digest, SplitToken};
use belfry_core::user_agent::UserAgent;
use belfry_store::test::any_events;
use belfry_store::{
    Account, Consent, NewToken, RedeemError, Session, Store, StoredApp, WriteOutcome,
};
use jiff::Timestamp;
use tokio::task::JoinSet;

pub(super) const CONCURRENT_TASKS: i64 = 64;

pub(super) fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Returns the stored form of a secret that is derived from a name.
pub(super) fn hashed_secret(name: &str) -> HashedSecret {
    let digest = Sha256Digest::compute(name).to_text();
    let mut random = [0; SplitToken::RANDOM_BYTES];
    random.copy_from_slice(&digest.as_bytes()[..SplitToken::RANDOM_BYTES]);
    SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed_secret()
}

/// The password hash of every test account.
pub(super) const PASSWORD_HASH: &str = "$argon2id$…";

pub(super) fn account(id: i64, name: &str) -> Account {
    Account {
        id,
        name: name.to_owned(),
        email: Some(format!("{name}@example.org")),
        unverified_email: None,
        password_hash: PASSWORD_HASH.to_owned(),
        role: Role::User,
        created_at: timestamp(1_700_000_000),
        signed_in_at: None,
        disabled_at: None,
        delete_at: None,
        credential_version: 0,
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
    let properties = ClientProperties::new(&MASTODON, Registrar::Api);
    let app = App { id, client_id: client_id.to_owned(), details, properties };
    StoredApp::new(app, hashed_secret("client secret"), timestamp(1_700_000_000))
}

/// Returns a grant by account 7 to app 1, which expires at second 600.
pub(super) fn grant() -> CodeGrant {
    CodeGrant {
        app_id: 1,
        account_id: 7,
        scopes: "read push".parse().unwrap(),
        binding: Binding { redirect_uri: "tusky://oauth".to_owned(), challenge: None },
        expires_at: timestamp(600),
    }
}

/// Returns a token for app 1: an account's token, or an app token.
pub(super) fn token(secret: &str, account: Option<i64>) -> NewToken {
    NewToken {
        secret: hashed_secret(secret),
        app_id: 1,
        account_id: account,
        scopes: "read push".parse().unwrap(),
        created_at: timestamp(1_700_000_000),
        expires_at: None,
        device: None,
    }
}

/// Adds app 1 and account 7, named alice.
pub(super) async fn add_alice_and_app(store: &Store) {
    add_app(store, &app(1, "client")).await;
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
}

/// Returns a session that was last used at second 1 and expires at this second.
pub(super) fn session(account_id: i64, expires_at: i64) -> Session {
    let created_at = timestamp(1);
    let seen_at = timestamp(1);
    let expires_at = timestamp(expires_at);
    Session {
        account_id,
        methods: AuthenticationMethods(vec![AuthenticationMethod::Password]),
        authenticated_at: timestamp(1),
        created_at,
        seen_at,
        expires_at,
        lang: None,
        browser: UserAgent::default(),
        address: None,
    }
}

/// Adds a session of an account with the first credential version.
pub(super) async fn add_session(store: &Store, secret: HashedSecret, session: &Session) {
    let outcome = store.add_session(&any_events(), secret, session, 0).await.unwrap();
    assert_eq!(outcome, WriteOutcome::Written);
}

/// Adds the app and asserts that its ids were free.
pub(super) async fn add_app(store: &Store, app: &StoredApp) {
    assert_eq!(store.add_app(&any_events(), app).await.unwrap(), WriteOutcome::Written);
}

/// Adds an account if it is missing.
pub(super) async fn ensure_account(store: &Store, id: i64) {
    // Fails if the account exists.
    let _ = store.add_account(&any_events(), &account(id, &format!("person_{id}"))).await;
}

/// Adds an account and its session if they are missing, and returns the session's secret.
pub(super) async fn ensure_session(store: &Store, id: i64) -> HashedSecret {
    let secret = hashed_secret(&format!("session of {id}"));
    ensure_account(store, id).await;
    if store.session(secret, timestamp(1)).await.unwrap().is_none() {
        add_session(store, secret, &session(id, 1_800_000_000)).await;
    }
    secret
}

/// Redeems a code at second 20 and returns whether it was redeemable.
pub(super) async fn redeem(store: &Store, code: &str, token: &str) -> bool {
    match store
        .redeem_code(
            &any_events(),
            hashed_secret(code).lookup_key,
            hashed_secret(token),
            timestamp(20),
            None,
        )
        .await
    {
        Ok(()) => true,
        Err(RedeemError::Store(error)) => panic!("{error}"),
        Err(RedeemError::AlreadyRedeemed(_) | RedeemError::NotRedeemable) => false,
    }
}

/// Issues a code in a session of the grant's account.
pub(super) async fn issue_code(store: &Store, secret: &str, grant: &CodeGrant) {
    let session = ensure_session(store, grant.account_id).await.lookup_key;
    let consent = Consent { session, at: timestamp(1), is_implied: false };
    let outcome =
        store.add_code(&any_events(), hashed_secret(secret), grant, consent).await.unwrap();
    assert_eq!(outcome, WriteOutcome::Written);
}

/// Runs [`CONCURRENT_TASKS`] tasks concurrently, and returns the store and their results.
pub(super) async fn run_concurrently<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    store: Store,
    task: impl Fn(Arc<Store>, i64) -> F,
) -> (Arc<Store>, Vec<T>) {
    let store = Arc::new(store);
    let tasks: JoinSet<T> =
        (0..CONCURRENT_TASKS).map(|index| task(Arc::clone(&store), index)).collect();
    (store, tasks.join_all().await)
}
