//! Codes: spent once, by the right app, with the right proof, in time.

use crate::support::client::{error_of, refused, token_of};
use crate::support::{Browser, Client, Service};

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PKCE: [(&str, &str); 2] = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];

async fn with_alice() -> (Service, Client, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let (client, browser) = (service.client().await, service.browser());
    (service, client, browser)
}

async fn is_good(service: &Service, token: &str) -> bool {
    let answer = service.anyone().bearing(token).get("/api/v1/apps/verify_credentials").await;
    answer.status == 200
}

// Attack 44.
#[tokio::test]
async fn a_code_is_spent_once_and_a_replay_revokes_the_token_of_the_first_use() {
    let (service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &PKCE).await;
    let proof = [("code_verifier", VERIFIER)];
    let token = token_of(&client.spend(&code, &proof).await);
    assert!(is_good(&service, &token).await);
    assert_eq!(error_of(&client.spend(&code, &proof).await), refused(400, "invalid_grant"));
    assert!(!is_good(&service, &token).await);
    // However late it comes.
    let code = client.code(&mut browser, "alice", &[]).await;
    let token = token_of(&client.spend(&code, &[]).await);
    service.clock.advance(3600);
    assert_eq!(client.spend(&code, &[]).await.status, 400);
    assert!(!is_good(&service, &token).await);
}

// Attack 45.
#[tokio::test]
async fn a_replay_that_gets_anything_wrong_costs_nobody_a_token() {
    let (service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &PKCE).await;
    let proof = [("code_verifier", VERIFIER)];
    let token = token_of(&client.spend(&code, &proof).await);
    let thief = Client { secret: "wrong".to_owned(), ..client.clone() };
    assert_eq!(error_of(&thief.spend(&code, &proof).await), refused(401, "invalid_client"));
    let other = service.client().await;
    for answer in [
        other.spend(&code, &proof).await,
        client.spend(&code, &[("code_verifier", &"x".repeat(43))]).await,
        client.spend(&code, &[]).await,
        client.answered_at("https://app.example/other").spend(&code, &proof).await,
    ] {
        assert_eq!(error_of(&answer), refused(400, "invalid_grant"));
    }
    assert!(is_good(&service, &token).await);
}

// Attacks 47 and 48.
#[tokio::test]
async fn a_wrong_attempt_does_not_spend_a_code() {
    let (service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &[]).await;
    let other = service.client().await;
    for answer in [
        other.spend(&code, &[]).await,
        client.answered_at("https://app.example/cb/").spend(&code, &[]).await,
        client.spend("unknown", &[]).await,
    ] {
        assert_eq!(error_of(&answer), refused(400, "invalid_grant"));
        assert_eq!(
            answer.json()["error_description"],
            "The provided authorization grant is invalid, expired, revoked, does not match the \
             redirection URI used in the authorization request, or was issued to another client."
        );
    }
    assert_eq!(client.spend(&code, &[]).await.status, 200);
}

// Attack 49.
#[tokio::test]
async fn a_code_is_no_good_after_ten_minutes() {
    let (service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &[]).await;
    service.clock.advance(600);
    assert_eq!(error_of(&client.spend(&code, &[]).await), refused(400, "invalid_grant"));
    service.clock.advance(-1);
    assert_eq!(client.spend(&code, &[]).await.status, 200);
}

// Attacks 50, 51, 53 and 54.
#[tokio::test]
async fn a_code_asked_for_with_a_challenge_is_spent_with_its_verifier_alone() {
    let (_service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &PKCE).await;
    let (wrong, long) = ("x".repeat(43), "x".repeat(129));
    for verifier in ["", "short", &wrong, &long, CHALLENGE, &VERIFIER.replace('-', "+")] {
        let answer = client.spend(&code, &[("code_verifier", verifier)]).await;
        assert_eq!(error_of(&answer), refused(400, "invalid_grant"), "{verifier}");
    }
    assert_eq!(client.spend(&code, &[("code_verifier", VERIFIER)]).await.status, 200);

    let code = client.code(&mut browser, "alice", &[("force_login", "1")]).await;
    let answer = client.spend(&code, &[("code_verifier", VERIFIER)]).await;
    assert_eq!(error_of(&answer), refused(400, "invalid_grant"), "without a challenge");
}

// Attack 8: what a desk app binds to is what it must name again.
#[tokio::test]
async fn a_code_is_bound_to_the_port_of_the_request() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let registered = "http://127.0.0.1/cb";
    let client = Client::register_with(service.anyone(), registered, "read").await;
    let here = client.answered_at("http://127.0.0.1:51234/cb");
    let code = here.code(&mut service.browser(), "alice", &[]).await;
    assert_eq!(client.spend(&code, &[]).await.status, 400);
    assert_eq!(here.spend(&code, &[]).await.status, 200);
}

// Attack 43.
#[tokio::test]
async fn the_code_of_a_disabled_account_is_no_good() {
    let (service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &[]).await;
    let id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    service.store().disable_account(id, Some(service.now())).await.unwrap();
    assert_eq!(error_of(&client.spend(&code, &[]).await), refused(400, "invalid_grant"));
    // And the session is over.
    browser.get(&client.authorize(&[])).await.page(200, "name=\"password\"");
}

// Attack 63.
#[tokio::test]
async fn no_code_comes_twice() {
    let (_service, client, mut browser) = with_alice().await;
    let one = client.code(&mut browser, "alice", &[]).await;
    let other = client.code(&mut browser, "alice", &[]).await;
    assert_ne!(one, other);
    assert_eq!(one.len(), 51);
}
