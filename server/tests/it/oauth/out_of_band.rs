//! `/oauth/authorize/native`: shows the code to the user of an app that cannot receive redirects.

use crate::support::browser::with_query;
use crate::support::{Browser, OAuthClient, Service, TestResponse};

const OOB_URI: &str = "urn:ietf:wg:oauth:2.0:oob";

/// Starts a service with Alice's account; returns it with an app registered with the out-of-band
/// redirect URI, and a browser.
async fn start_with_oob_client() -> (Service, OAuthClient, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = OAuthClient::register_with(service.anonymous_client(), OOB_URI, "read").await;
    let browser = service.browser();
    (service, client, browser)
}

/// Approves the request as Alice; returns the redirect and the page with the code.
async fn approve(client: &OAuthClient, browser: &mut Browser) -> (TestResponse, TestResponse) {
    let page = browser.get(&client.authorize_path(&[("state", "s")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let response = browser.decide(&page, "allow").await;
    let code_page = browser.follow(&response).await;
    (response, code_page)
}

fn extract_code(page: &TestResponse) -> &str {
    let (_, rest) = page.text.split_once("<textarea class=\"oauth-code\"").unwrap();
    rest.split_once("</textarea>").unwrap().0.split_once('>').unwrap().1
}

// A URL would stay in the browser's history.
#[tokio::test]
async fn the_code_is_shown_and_not_part_of_a_url() {
    let (_service, client, mut browser) = start_with_oob_client().await;
    let (response, code_page) = approve(&client, &mut browser).await;
    assert_eq!(response.header("location"), "/oauth/authorize/native");
    code_page.assert_page(200, "Tusky");
    assert_eq!(code_page.header("cache-control"), "no-store");
    let code = extract_code(&code_page);
    assert_eq!((code.len(), code.find('-')), (13, Some(6)), "{code}");
    // No link to the account page: the app is not listed there until the code is redeemed.
    assert!(!code_page.text.contains("/oauth/account"), "{code_page:?}");
    // Reloading shows it again until it is redeemed.
    browser.get("/oauth/authorize/native").await.assert_page(200, code);
    let typed_code = code.to_lowercase().replace('-', " ");
    assert_eq!(client.redeem(&typed_code, &[]).await.status, 200);
    assert_eq!(client.redeem(code, &[]).await.status, 400, "it is the same code");
    browser.get("/oauth/authorize/native").await.assert_page(400, "invalid_grant");
}

#[tokio::test]
async fn only_a_valid_code_that_is_not_redeemed_is_shown_to_its_user() {
    let (service, client, mut browser) = start_with_oob_client().await;
    let native_path = |code: &str| with_query("/oauth/authorize/native", &[("code", code)]);
    let (_, code_page) = approve(&client, &mut browser).await;
    let code = extract_code(&code_page);
    browser.get(&native_path("wrong")).await.assert_page(400, "invalid_grant");
    browser.get(&native_path(code)).await.assert_page(200, code);
    // In a browser without Alice's session.
    service.browser().get(&native_path(code)).await.assert_page(400, "invalid_grant");
    service.browser().get("/oauth/authorize/native").await.assert_page(400, "invalid_grant");
    let json_client = service.anonymous_client().with_header("accept", "application/json");
    let response = json_client.get(&native_path("wrong")).await;
    assert_eq!((response.status, &response.json()["error"]), (400, &"invalid_grant".into()));
    service.clock.advance(600);
    browser.get(&native_path(code)).await.assert_page(400, "invalid_grant");
    service.clock.advance(-600);
    assert_eq!(client.redeem(code, &[]).await.status, 200);
    browser.get(&native_path(code)).await.assert_page(400, "invalid_grant");
}
