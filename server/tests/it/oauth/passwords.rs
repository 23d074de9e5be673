//! Password hashes, password rules, and the cost of sign-in attempts.

use std::num::NonZeroUsize;

use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, Version};
use axum::http::StatusCode;
use belfry::auth::passwords::Passwords;
use belfry_core::account::Role;
use belfry_store::{Account, ExistingAccess, WriteOutcome};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::service::unlimited_config;
use crate::support::{Service, TestClient, TestResponse, any_events};

const LOGIN: &str = "POST /_matrix/client/v3/login";
const REGISTER: &str = "POST /_matrix/client/v3/register";

/// Logs in through the Matrix API.
async fn log_in(client: &TestClient, name: &str, password: &str) -> TestResponse {
    let body = json!({ "type": "m.login.password", "user": name, "password": password });
    client.send(LOGIN, body.to_string()).await
}

/// Signs in on the page, in a new browser.
async fn sign_in(service: &Service, name: &str, password: &str) -> TestResponse {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", name), ("password", password)];
    browser.submit(&page, "/oauth/sign_in", &fields).await
}

async fn register_account(service: &Service, name: &str, password: &str) -> TestResponse {
    let body =
        json!({ "username": name, "password": password, "auth": { "type": "m.login.dummy" } });
    service.anonymous_client().send(REGISTER, body.to_string()).await
}

/// Returns the number of hashes computed so far, from the metrics.
async fn hash_count(service: &Service) -> usize {
    let metrics = service.metrics().await;
    let count = metrics.lines().find_map(|line| line.strip_prefix("belfry_password_hashes_total "));
    count.unwrap().parse().unwrap()
}

/// Returns a hash of `correct horse` with weaker parameters, as an older release may have stored.
fn weak_hash() -> String {
    let params = Params::new(8 * 1024, 1, 1, None).unwrap();
    let hash: PasswordHash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(b"correct horse", b"a salt of its own")
        .unwrap();
    hash.to_string()
}

// The response time must not reveal whether an account exists.
#[tokio::test]
async fn an_unknown_name_costs_one_hash_like_a_wrong_password() {
    let service = Service::start_with(unlimited_config()).await;
    service.add_account("alice").await;
    let bob = service.add_account("bob").await;
    service.store().set_account_disabled_at(&any_events(), bob, Some(service.now())).await.unwrap();
    for (name, password) in [
        ("alice", "wrong"),
        ("alice", "correct horse alice"),
        ("alice", ""),
        ("nobody", "wrong"),
        ("nobody@example.org", "wrong"),
        ("alice@example.org", "wrong"),
        ("bob", "correct horse bob"),
        ("bob", "wrong"),
        ("", ""),
    ] {
        let hashes_before = hash_count(&service).await;
        sign_in(&service, name, password).await;
        assert_eq!(hash_count(&service).await - hashes_before, 1, "the page, {name:?}");
        log_in(&service.anonymous_client(), name, password).await;
        assert_eq!(hash_count(&service).await - hashes_before, 2, "a Matrix client, {name:?}");
    }
}

#[tokio::test]
async fn a_weak_hash_is_upgraded_at_sign_in() {
    let service = Service::start_with(unlimited_config()).await;
    let old_hash = weak_hash();
    for (id, name) in [(1, "alice"), (2, "bob")] {
        let account = Account {
            id,
            name: name.to_owned(),
            email: None,
            unverified_email: None,
            password_hash: old_hash.clone(),
            role: Role::User,
            created_at: service.now(),
            signed_in_at: None,
            disabled_at: None,
            delete_at: None,
            credential_version: 0,
        };
        service.store().add_account(&any_events(), &account).await.unwrap();
    }
    let stored_hash =
        async |name| service.store().account_by_name(name).await.unwrap().unwrap().password_hash;

    assert_eq!(sign_in(&service, "alice", "wrong").await.status, 401);
    assert_eq!(log_in(&service.anonymous_client(), "bob", "wrong").await.status, 403);
    assert_eq!(
        (stored_hash("alice").await, stored_hash("bob").await),
        (old_hash.clone(), old_hash.clone())
    );

    assert_eq!(sign_in(&service, "alice", "correct horse").await.status, 303);
    assert_eq!(log_in(&service.anonymous_client(), "bob", "correct horse").await.status, 200);
    for name in ["alice", "bob"] {
        let new_hash = stored_hash(name).await;
        assert!(new_hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{new_hash}");
        assert_eq!(sign_in(&service, name, "correct horse").await.status, 303);
        assert_eq!(log_in(&service.anonymous_client(), name, "wrong").await.status, 403);
        assert_eq!(stored_hash(name).await, new_hash, "the hash is upgraded once");
    }
}

#[tokio::test]
async fn a_password_is_neither_normalised_nor_truncated() {
    let service = Service::start_with(unlimited_config()).await;
    let longest = "é".repeat(127) + "x";
    let cases = [
        (&*longest, "é".repeat(127) + "y"),
        ("  spaces around  ", "spaces around".to_owned()),
        ("e\u{301}clair de lune", "\u{e9}clair de lune".to_owned()),
        ("Correct Horse", "correct horse".to_owned()),
    ];
    for (number, (password, similar_password)) in cases.into_iter().enumerate() {
        let name = format!("n{number}");
        assert_eq!(register_account(&service, &name, password).await.status, 200, "{password}");
        assert_eq!(sign_in(&service, &name, password).await.status, 303, "{password}");
        assert_eq!(
            log_in(&service.anonymous_client(), &name, password).await.status,
            200,
            "{password}"
        );
        assert_eq!(
            sign_in(&service, &name, &similar_password).await.status,
            401,
            "{similar_password}"
        );
        assert_eq!(
            log_in(&service.anonymous_client(), &name, &similar_password).await.status,
            403,
            "{similar_password}"
        );
    }
}

#[tokio::test]
async fn an_overlong_password_is_not_hashed() {
    let service = Service::start_with(unlimited_config()).await;
    service.add_account("alice").await;
    let hashes_before = hash_count(&service).await;
    for length in [129, 60_000] {
        let overlong = "x".repeat(length);
        let response = register_account(&service, "bob", &overlong).await;
        assert_eq!(response.status_and_errcode(), (400, "M_WEAK_PASSWORD".into()));
        assert_eq!(log_in(&service.anonymous_client(), "alice", &overlong).await.status, 403);
        assert_eq!(sign_in(&service, "alice", &overlong).await.status, 401);
    }
    assert_eq!(hash_count(&service).await, hashes_before);
    // A NUL at the end is not ignored, so this password is wrong.
    assert_eq!(
        log_in(&service.anonymous_client(), "alice", "correct horse alice\0").await.status,
        403
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn excess_concurrent_logins_are_rejected_and_the_api_stays_responsive() {
    let service = Service::start_with_state(unlimited_config(), |state| {
        state.passwords = Passwords::new(NonZeroUsize::new(1));
    })
    .await;
    let alice = service.user_client("alice").await;
    let hashes_before = hash_count(&service).await;
    let attempts: JoinSet<_> = (0..500)
        .map(|_| {
            let anonymous = service.anonymous_client();
            async move { log_in(&anonymous, "alice", "wrong").await }
        })
        .collect();
    for _ in 0..20 {
        let path = "/_matrix/client/v3/pushrules/";
        alice.get(path).await.expect_json(StatusCode::OK);
        tokio::task::yield_now().await;
    }
    let mut hashed_count = 0;
    let mut rejected_count = 0;
    for response in attempts.join_all().await {
        match response.status {
            403 => hashed_count += 1,
            503 => {
                rejected_count += 1;
                assert_eq!(response.header("retry-after"), "5");
                assert_eq!(response.status_and_errcode().1, "M_UNKNOWN");
            }
            _ => panic!("{response:?}"),
        }
    }
    assert_eq!(
        hash_count(&service).await - hashes_before,
        hashed_count,
        "rejected attempts are not hashed"
    );
    assert!(
        hashed_count >= 33 && rejected_count > 0,
        "{hashed_count} hashed, {rejected_count} rejected"
    );
    assert_eq!(
        log_in(&service.anonymous_client(), "alice", "correct horse alice").await.status,
        200
    );
}

// The password may change while the old one is being verified.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_during_a_password_change_does_not_survive_it() {
    let service = Service::start_with_state(unlimited_config(), |state| {
        state.passwords = Passwords::new(NonZeroUsize::new(1));
    })
    .await;
    let alice = service.add_account("alice").await;
    let old_password = "correct horse alice";
    let hashes_before = hash_count(&service).await;
    let matrix_logins: JoinSet<_> = (0..12)
        .map(|_| {
            let anonymous = service.anonymous_client();
            async move { log_in(&anonymous, "alice", old_password).await }
        })
        .collect();
    let mut page_sign_ins = JoinSet::new();
    for _ in 0..12 {
        let mut browser = service.browser();
        page_sign_ins.spawn(async move {
            let page = browser.get("/oauth/sign_in").await;
            let fields = [("username", "alice"), ("password", old_password)];
            let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
            (browser, response)
        });
    }
    // Some attempts have been hashed, the others wait for a hashing thread.
    while hash_count(&service).await < hashes_before + 3 {
        tokio::task::yield_now().await;
    }
    let existing_access = ExistingAccess::RevokeAt(service.now());
    let outcome = service
        .store()
        .set_password(&any_events(), alice, "another", existing_access)
        .await
        .unwrap();
    assert_eq!(outcome, WriteOutcome::Written);

    for response in matrix_logins.join_all().await {
        if response.status == 200 {
            let token = response.json()["access_token"].as_str().unwrap().to_owned();
            let rules = service
                .anonymous_client()
                .with_token(&token)
                .get("/_matrix/client/v3/pushrules/")
                .await;
            assert_eq!(rules.status_and_errcode(), (401, "M_UNKNOWN_TOKEN".into()));
        } else {
            assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
        }
    }
    for (mut browser, response) in page_sign_ins.join_all().await {
        assert!(matches!(response.status, 303 | 401), "{response:?}");
        let account_page = browser.get("/oauth/account").await;
        assert_eq!(account_page.header("location"), "/oauth/sign_in");
    }
}

// A double submit sends the form twice, so the hash is upgraded concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_sign_ins_with_a_weak_hash_all_succeed() {
    let service = Service::start_with(unlimited_config()).await;
    let account = Account {
        id: 1,
        name: "alice".to_owned(),
        email: None,
        unverified_email: None,
        password_hash: weak_hash(),
        role: Role::User,
        created_at: service.now(),
        signed_in_at: None,
        disabled_at: None,
        delete_at: None,
        credential_version: 0,
    };
    service.store().add_account(&any_events(), &account).await.unwrap();
    let attempts: JoinSet<_> = (0..8)
        .map(|_| {
            let anonymous = service.anonymous_client();
            async move { log_in(&anonymous, "alice", "correct horse").await.status }
        })
        .collect();
    assert_eq!(attempts.join_all().await, [200; 8]);
}
