//! Redemption of authorization codes.

use super::start_with_alice;
use crate::support::oauth_client::{expect_token, oauth_error, status_and_error};
use crate::support::{OAuthClient, Service, any_events};

/// The code verifier in RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PKCE: [(&str, &str); 2] = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];

async fn is_valid_token(service: &Service, token: &str) -> bool {
    let response =
        service.anonymous_client().with_token(token).get("/api/v1/apps/verify_credentials").await;
    response.status == 200
}

// RFC 6749, section 4.1.2.
#[tokio::test]
async fn a_code_is_redeemed_once_and_a_replay_revokes_the_first_token() {
    let (service, client, mut browser) = start_with_alice().await;
    let code = client.obtain_code(&mut browser, "alice", &PKCE).await;
    let verifier = [("code_verifier", VERIFIER)];
    let token = expect_token(&client.redeem(&code, &verifier).await);
    assert!(is_valid_token(&service, &token).await);
    assert_eq!(
        status_and_error(&client.redeem(&code, &verifier).await),
        oauth_error(400, "invalid_grant")
    );
    assert!(!is_valid_token(&service, &token).await);
    // A replay revokes the token even after the code has expired.
    let code = client.obtain_code(&mut browser, "alice", &[]).await;
    let token = expect_token(&client.redeem(&code, &[]).await);
    service.clock.advance(3600);
    assert_eq!(client.redeem(&code, &[]).await.status, 400);
    assert!(!is_valid_token(&service, &token).await);
}

#[tokio::test]
async fn an_invalid_replay_revokes_nothing() {
    let (service, client, mut browser) = start_with_alice().await;
    let code = client.obtain_code(&mut browser, "alice", &PKCE).await;
    let verifier = [("code_verifier", VERIFIER)];
    let token = expect_token(&client.redeem(&code, &verifier).await);
    let thief = OAuthClient { secret: "wrong".to_owned(), ..client.clone() };
    assert_eq!(
        status_and_error(&thief.redeem(&code, &verifier).await),
        oauth_error(401, "invalid_client")
    );
    let other_client = service.register_client().await;
    for response in [
        other_client.redeem(&code, &verifier).await,
        client.redeem(&code, &[("code_verifier", &"x".repeat(43))]).await,
        client.redeem(&code, &[]).await,
        client.with_redirect_uri("https://app.example/other").redeem(&code, &verifier).await,
    ] {
        assert_eq!(status_and_error(&response), oauth_error(400, "invalid_grant"));
    }
    assert!(is_valid_token(&service, &token).await);
}

#[tokio::test]
async fn a_disabled_accounts_code_is_invalid() {
    let (service, client, mut browser) = start_with_alice().await;
    let code = client.obtain_code(&mut browser, "alice", &[]).await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    service
        .store()
        .set_account_disabled_at(&any_events(), alice, Some(service.now()))
        .await
        .unwrap();
    assert_eq!(
        status_and_error(&client.redeem(&code, &[]).await),
        oauth_error(400, "invalid_grant")
    );
    // The session has ended too.
    browser.get(&client.authorize_path(&[])).await.assert_page(200, "name=\"password\"");
}
