//! The gateway check: whether a call that another server will carry out is good, and whose it is.

mod proxies;

use belfry::config::LimitMode;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::secret::Secret;

use crate::support::caller::address;
use crate::support::service::config;
use crate::support::{Answer, Caller, Service};

/// A check as nginx sends it.
async fn original(caller: &Caller, method: &str, uri: &str) -> Answer {
    let caller = caller.with("x-original-method", method).with("x-original-uri", uri);
    caller.get("/gateway/check").await
}

/// A check as Caddy and Traefik send it.
async fn forwarded(caller: &Caller, method: &str, uri: &str) -> Answer {
    let caller = caller.with("x-forwarded-method", method).with("x-forwarded-uri", uri);
    caller.get("/gateway/check").await
}

/// A check as Envoy sends it.
async fn prefixed(caller: &Caller, method: &str, uri: &str) -> Answer {
    caller.call(&format!("{method} /gateway/check{uri}"), "").await
}

#[tokio::test]
async fn a_good_token_passes_with_its_account_app_and_scopes() {
    let service = Service::start().await;
    let alice = service.person_with("alice", "read write:media").await;
    let id = service.store().account_by_name("alice").await.unwrap().unwrap().id.to_string();
    for (left, answer) in [
        (29, original(&alice, "POST", "/api/v1/media").await),
        (28, forwarded(&alice, "POST", "/api/v1/media?x=y").await),
        (27, prefixed(&alice, "POST", "/api/v1/media?scope=nonsense").await),
        (26, original(&alice, "post", "//API/v1/%6dedia/").await),
    ] {
        assert_eq!((answer.status, answer.text.as_str()), (200, ""));
        assert_eq!(answer.header("x-account-id"), id);
        assert_eq!(answer.header("x-app-id"), "1");
        assert_eq!(answer.header("x-scopes"), "read write:media");
        assert_eq!(answer.header("x-ratelimit-remaining"), left.to_string());
        assert!(answer.header("ratelimit").contains("\"media\""));
    }
}

#[tokio::test]
async fn a_check_may_come_by_any_method() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    let named = alice.with("x-original-method", "GET").with("x-original-uri", "/x");
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(named.call(&format!("{method} /gateway/check"), "").await.status, 200);
    }
}

#[tokio::test]
async fn a_token_in_the_query_of_the_call_is_as_good_and_two_are_not() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    let uri = format!("/x?access_token={}", alice.token());
    assert_eq!(original(&service.anyone(), "GET", &uri).await.status, 200);
    assert_eq!(prefixed(&service.anyone(), "GET", &uri).await.status, 200);
    assert_eq!(original(&alice, "GET", &uri).await.status, 401);
}

#[tokio::test]
async fn a_token_that_is_no_good_is_refused_with_the_reason() {
    let service = Service::start().await;
    let revoked = service.person("alice").await;
    let digest = Secret::new(revoked.token()).digest();
    service.store().revoke_token(digest, service.now()).await.unwrap();
    let disabled = service.person("bob").await;
    let bob = service.store().account_by_name("bob").await.unwrap().unwrap().id;
    service.store().disable_account(bob, Some(service.now())).await.unwrap();
    let invalid = r#"Bearer error="invalid_token""#;
    for (caller, status, text, challenge) in [
        (&service.anyone(), 401, "The access token is invalid", "Bearer"),
        (&service.anyone().bearing("made-up"), 401, "The access token is invalid", invalid),
        (
            &service.anyone().with("authorization", "Basic x"),
            401,
            "The access token is invalid",
            "Bearer",
        ),
        (&revoked, 401, "The access token was revoked", invalid),
        (&disabled, 403, "Your login is currently disabled", ""),
    ] {
        let answer = original(caller, "GET", "/x").await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (status, Some(text)));
        assert_eq!(answer.header("www-authenticate"), challenge);
        assert_eq!(answer.header("x-account-id"), "");
        assert_ne!(answer.header("x-ratelimit-remaining"), "");
    }
}

#[tokio::test]
async fn a_check_can_demand_scopes() {
    let service = Service::start().await;
    let alice = service.person_with("alice", "read write:media").await;
    let named =
        alice.with("x-original-method", "POST").with("x-original-uri", "/x?scope=admin:write");
    for (query, status) in [
        ("", 200),
        ("?scope=write:media", 200),
        ("?scope=read:statuses", 200),
        ("?scope=write:media+read", 200),
        ("?scope=write:media&scope=read", 200),
        ("?scope=write", 403),
        ("?scope=write:statuses", 403),
        ("?scope=read%20write:statuses", 403),
        ("?scope=nonsense", 400),
    ] {
        let answer = named.get(&format!("/gateway/check{query}")).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text);
    }
    let refused = named.get("/gateway/check?scope=write").await;
    assert_eq!(refused.json()["error"], "This action is outside the authorized scopes");
    assert_eq!(refused.header("www-authenticate"), r#"Bearer error="insufficient_scope""#);
}

/// The header is there, and empty: a proxy that copies it overwrites what a client made up.
#[tokio::test]
async fn a_token_of_an_app_passes_without_an_account() {
    let service = Service::start().await;
    let token = service.issue(None, "read").await;
    let answer = original(&service.anyone().bearing(token.reveal()), "GET", "/x").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers.get("x-account-id").unwrap(), "");
    assert_eq!(answer.header("x-app-id"), "1");
}

#[tokio::test]
async fn the_call_is_counted_and_not_the_check() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    for _ in 0..30 {
        assert_eq!(original(&alice, "POST", "/api/v1/media").await.status, 200);
    }
    let refused = original(&alice, "POST", "/api/v1/media").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json(), serde_json::json!({ "error": "Too many requests" }));
    assert_eq!(refused.header("x-ratelimit-limit"), "30");
    assert_eq!(refused.header("retry-after"), "1800");
    assert_eq!(refused.header("x-account-id"), "");
    assert_eq!(alice.call("POST /api/v1/media", "").await.status, 429, "one budget with our own");
    let other = original(&alice, "GET", "/api/v1/media").await;
    assert_eq!((other.status, other.header("x-ratelimit-remaining")), (200, "269"));
}

#[tokio::test]
async fn whoever_names_two_calls_or_half_a_call_does_not_pass() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    let upload = alice.with("x-original-method", "POST").with("x-original-uri", "/api/v1/media");
    for (status, caller, check) in [
        (403, upload.with("x-forwarded-method", "GET").with("x-forwarded-uri", "/x"), ""),
        (403, upload.with("x-original-uri", "/x"), ""),
        (403, upload.clone(), "/"),
        (400, upload.with("x-forwarded-uri", "/x"), ""),
        (400, alice.with("x-original-uri", "/api/v1/media").with("x-forwarded-method", "GET"), ""),
        (400, alice.clone(), ""),
    ] {
        let answer = caller.get(&format!("/gateway/check{check}")).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(answer.json()["error"].as_str().unwrap().len() > 20);
    }
}

#[tokio::test]
async fn a_check_that_names_no_call_is_a_call_like_any_other() {
    let service = Service::start().await;
    let anyone = service.anyone();
    for _ in 0..300 {
        assert_eq!(anyone.get("/gateway/check").await.status, 400);
    }
    assert_eq!(anyone.get("/gateway/check").await.status, 429);
    assert_eq!(anyone.get("/x").await.status, 429);
}

#[tokio::test]
async fn behind_a_proxy_of_ours_the_clients_address_counts() {
    let proxies = TrustedProxies::new(vec!["10.0.0.1".parse().unwrap()]);
    let service = Service::with(config(|config| config.trusted_proxies = proxies)).await;
    for (peer, client, expected) in [
        (address(9), "198.51.100.1", 299),
        (address(9), "198.51.100.2", 298),
        ([10, 0, 0, 1].into(), "198.51.100.1", 299),
        ([10, 0, 0, 1].into(), "198.51.100.2", 299),
    ] {
        let caller = service.person("bob").await.at(peer).with("x-forwarded-for", client);
        let answer = original(&caller, "GET", "/x").await;
        let told = format!("\"ip\";r={expected};");
        assert!(answer.header("ratelimit").contains(&told), "{}", answer.header("ratelimit"));
    }
}

#[tokio::test]
async fn without_limits_tokens_are_checked_all_the_same() {
    let service = Service::with(config(|config| config.limits.mode = LimitMode::Off)).await;
    let alice = service.person("alice").await;
    for _ in 0..40 {
        let answer = original(&alice, "POST", "/api/v1/media").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, ""));
    }
    assert_eq!(original(&service.anyone(), "POST", "/api/v1/media").await.status, 401);
}
