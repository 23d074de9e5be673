//! Passwords: how they are kept, what they may be, and what it costs to try one.

use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, Version};
use axum::http::StatusCode;
use belfry::store::{Account, ExistingAccess};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::service::{config, unlimited};
use crate::support::{Answer, Caller, Service};

const LOGIN: &str = "POST /_matrix/client/v3/login";
const REGISTER: &str = "POST /_matrix/client/v3/register";

/// Signs in as a Matrix client does.
async fn login(caller: &Caller, name: &str, password: &str) -> Answer {
    let body = json!({ "type": "m.login.password", "user": name, "password": password });
    caller.call(LOGIN, body.to_string()).await
}

/// Signs in as a person does, in a new browser.
async fn sign_in(service: &Service, name: &str, password: &str) -> Answer {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", name), ("password", password)];
    browser.submit(&page, "/oauth/sign_in", &fields).await
}

async fn register(service: &Service, name: &str, password: &str) -> Answer {
    let body =
        json!({ "username": name, "password": password, "auth": { "type": "m.login.dummy" } });
    service.anyone().call(REGISTER, body.to_string()).await
}

/// How many hashes were made so far, as the metrics tell it.
async fn hashes(service: &Service) -> usize {
    let metrics = service.anyone().get("/metrics").await.text;
    let told = metrics.lines().find_map(|line| line.strip_prefix("belfry_password_hashes_total "));
    told.unwrap().parse().unwrap()
}

/// What an older Belfry might have remembered of `correct horse`.
fn weak_hash() -> String {
    let params = Params::new(8 * 1024, 1, 1, None).unwrap();
    let hash: PasswordHash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(b"correct horse", b"a salt of its own")
        .unwrap();
    hash.to_string()
}

// Attack 112: the time is that of one hash, whoever is tried.
#[tokio::test]
async fn an_unknown_name_costs_a_hash_like_a_wrong_password() {
    let service = Service::with(unlimited()).await;
    service.add_account("alice").await;
    let bob = service.add_account("bob").await;
    service.store().disable_account(bob, Some(service.now())).await.unwrap();
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
        let before = hashes(&service).await;
        sign_in(&service, name, password).await;
        assert_eq!(hashes(&service).await - before, 1, "the page, {name:?}");
        login(&service.anyone(), name, password).await;
        assert_eq!(hashes(&service).await - before, 2, "a Matrix client, {name:?}");
    }
}

// Attack 113.
#[tokio::test]
async fn a_password_that_was_hashed_more_weakly_is_hashed_anew_when_its_owner_signs_in() {
    let service = Service::with(unlimited()).await;
    let weak = weak_hash();
    for (id, name) in [(1, "alice"), (2, "bob")] {
        let account = Account {
            id,
            name: name.to_owned(),
            email: None,
            password: weak.clone(),
            created_at: service.now(),
            disabled_at: None,
        };
        service.store().add_account(&account).await.unwrap().unwrap();
    }
    let kept = async |name| service.store().account_by_name(name).await.unwrap().unwrap().password;

    assert_eq!(sign_in(&service, "alice", "wrong").await.status, 401);
    assert_eq!(login(&service.anyone(), "bob", "wrong").await.status, 403);
    assert_eq!((kept("alice").await, kept("bob").await), (weak.clone(), weak.clone()));

    assert_eq!(sign_in(&service, "alice", "correct horse").await.status, 303);
    assert_eq!(login(&service.anyone(), "bob", "correct horse").await.status, 200);
    for name in ["alice", "bob"] {
        let strong = kept(name).await;
        assert!(strong.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{strong}");
        assert_eq!(sign_in(&service, name, "correct horse").await.status, 303);
        assert_eq!(login(&service.anyone(), name, "wrong").await.status, 403);
        assert_eq!(kept(name).await, strong, "once is enough");
    }
}

// Attack 114.
#[tokio::test]
async fn a_password_is_what_was_typed_and_nothing_of_it_is_cut_off() {
    let service = Service::with(unlimited()).await;
    let longest = "é".repeat(127) + "x";
    let cases = [
        (&*longest, "é".repeat(127) + "y"),
        ("  spaces around  ", "spaces around".to_owned()),
        ("e\u{301}clair de lune", "\u{e9}clair de lune".to_owned()),
        ("Correct Horse", "correct horse".to_owned()),
    ];
    for (number, (password, other)) in cases.into_iter().enumerate() {
        let name = format!("n{number}");
        assert_eq!(register(&service, &name, password).await.status, 200, "{password}");
        assert_eq!(sign_in(&service, &name, password).await.status, 303, "{password}");
        assert_eq!(login(&service.anyone(), &name, password).await.status, 200, "{password}");
        assert_eq!(sign_in(&service, &name, &other).await.status, 401, "{other}");
        assert_eq!(login(&service.anyone(), &name, &other).await.status, 403, "{other}");
    }
}

// Attack 114.
#[tokio::test]
async fn nobody_makes_us_hash_a_book() {
    let service = Service::with(unlimited()).await;
    service.add_account("alice").await;
    let before = hashes(&service).await;
    for length in [129, 60_000] {
        let book = "x".repeat(length);
        let refused = register(&service, "bob", &book).await;
        assert_eq!(refused.errcode(), (400, "M_WEAK_PASSWORD".into()));
        assert_eq!(login(&service.anyone(), "alice", &book).await.status, 403);
        assert_eq!(sign_in(&service, "alice", &book).await.status, 401);
    }
    assert_eq!(hashes(&service).await, before);
    // One that no engine could look up is a wrong one like any other, and does no harm.
    assert_eq!(login(&service.anyone(), "alice", "correct horse alice\0").await.status, 403);
}

// Attack 115.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_500_who_sign_in_at_once_those_who_find_no_place_are_told_and_the_api_goes_on() {
    let narrow = config(|config| {
        config.limits.mode = belfry::config::LimitMode::Off;
        config.passwords.parallel = std::num::NonZeroUsize::new(1);
    });
    let service = Service::with(narrow).await;
    let alice = service.person("alice").await;
    let before = hashes(&service).await;
    let attempts: JoinSet<_> = (0..500)
        .map(|_| {
            let anyone = service.anyone();
            async move { login(&anyone, "alice", "wrong").await }
        })
        .collect();
    for _ in 0..20 {
        let path = "/_matrix/client/v3/pushrules/";
        alice.get(path).await.expect(StatusCode::OK);
        tokio::task::yield_now().await;
    }
    let (mut wrong, mut busy) = (0, 0);
    for answer in attempts.join_all().await {
        match answer.status {
            403 => wrong += 1,
            503 => {
                busy += 1;
                assert_eq!(answer.header("retry-after"), "5");
                assert_eq!(answer.errcode().1, "M_UNKNOWN");
            }
            _ => panic!("{answer:?}"),
        }
    }
    assert_eq!(hashes(&service).await - before, wrong, "nothing was hashed for the others");
    assert!(wrong >= 33 && busy > 0, "{wrong} had a place, {busy} had none");
    assert_eq!(login(&service.anyone(), "alice", "correct horse alice").await.status, 200);
}

/// While a password is compared, which takes a while, the account may get another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_in_while_the_password_changes_does_not_stay() {
    let narrow = config(|config| {
        config.limits.mode = belfry::config::LimitMode::Off;
        config.passwords.parallel = std::num::NonZeroUsize::new(1);
    });
    let service = Service::with(narrow).await;
    let alice = service.add_account("alice").await;
    let old = "correct horse alice";
    let before = hashes(&service).await;
    let clients: JoinSet<_> = (0..12)
        .map(|_| {
            let anyone = service.anyone();
            async move { login(&anyone, "alice", old).await }
        })
        .collect();
    let mut browsers = JoinSet::new();
    for _ in 0..12 {
        let mut browser = service.browser();
        browsers.spawn(async move {
            let page = browser.get("/oauth/sign_in").await;
            let fields = [("username", "alice"), ("password", old)];
            let answer = browser.submit(&page, "/oauth/sign_in", &fields).await;
            (browser, answer)
        });
    }
    // Some have signed in, and the others are waiting for their turn.
    while hashes(&service).await < before + 3 {
        tokio::task::yield_now().await;
    }
    let ends = ExistingAccess::RevokeAt(service.now());
    assert!(service.store().set_password(alice, "another", ends).await.unwrap());

    for answer in clients.join_all().await {
        if answer.status == 200 {
            let token = answer.json()["access_token"].as_str().unwrap().to_owned();
            let rules = service.anyone().bearing(&token).get("/_matrix/client/v3/pushrules/").await;
            assert_eq!(rules.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
        } else {
            assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()));
        }
    }
    for (mut browser, answer) in browsers.join_all().await {
        assert!(matches!(answer.status, 303 | 401), "{answer:?}");
        let account = browser.get("/oauth/account").await;
        assert_eq!(account.header("location"), "/oauth/sign_in");
    }
}

/// Who presses the button twice has two forms on their way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_sign_in_with_a_weak_hash_at_once_everybody_is_let_in() {
    let service = Service::with(unlimited()).await;
    let account = Account {
        id: 1,
        name: "alice".to_owned(),
        email: None,
        password: weak_hash(),
        created_at: service.now(),
        disabled_at: None,
    };
    service.store().add_account(&account).await.unwrap().unwrap();
    let attempts: JoinSet<_> = (0..8)
        .map(|_| {
            let anyone = service.anyone();
            async move { login(&anyone, "alice", "correct horse").await.status }
        })
        .collect();
    assert_eq!(attempts.join_all().await, [200; 8]);
}
