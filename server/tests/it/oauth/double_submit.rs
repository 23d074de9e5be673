//! Forms that are submitted twice.

use super::sign_in::try_sign_in;
use super::start_with_alice;
use crate::support::oauth_client::CALLBACK;
use crate::support::{Browser, TestResponse};

/// Submits the sign-in form twice. Unless `has_first_cookie`, the second submit is sent before
/// the cookie of the first response arrives.
async fn submit_twice(
    browser: &mut Browser,
    page: &TestResponse,
    name: &str,
    has_first_cookie: bool,
) -> TestResponse {
    let old_cookies = browser.cookies.clone();
    let password = "correct horse alice";
    assert_eq!(try_sign_in(browser, page, name, password).await.status, 303);
    if !has_first_cookie {
        browser.cookies = old_cookies;
    }
    try_sign_in(browser, page, name, password).await
}

#[tokio::test]
async fn submitting_the_sign_in_form_twice_succeeds() {
    for has_first_cookie in [false, true] {
        let (_service, client, mut browser) = start_with_alice().await;
        let page = browser.get(&client.authorize_path(&[("state", "s")])).await;
        let response = submit_twice(&mut browser, &page, "Alice", has_first_cookie).await;
        let page = browser.follow(&response).await;
        page.assert_page(200, "@alice:ring.example");
        let parameters = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK);
        assert_eq!(parameters["state"], "s");
        // The request was decided and is closed.
        browser.decide(&page, "allow").await.assert_page(400, "no longer open");

        let (_service, _client, mut browser) = start_with_alice().await;
        let page = browser.get("/oauth/sign_in").await;
        let response =
            submit_twice(&mut browser, &page, "alice@example.org", has_first_cookie).await;
        browser.follow(&response).await.assert_page(200, "@alice:ring.example");
    }
}

#[tokio::test]
async fn a_second_submit_continues_only_for_the_same_account_and_request() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let other_browsers_page = service.browser().get(&client.authorize_path(&[])).await;
    browser.sign_in(&page, "alice").await.assert_page(200, "name=\"decision\"");
    // Another account name on an outdated page.
    try_sign_in(&mut browser, &page, "bob", "correct horse bob")
        .await
        .assert_page(403, "could not be checked");
    // A request from another browser.
    try_sign_in(&mut browser, &other_browsers_page, "alice", "")
        .await
        .assert_page(400, "no longer open");
    // A form from another site.
    browser.fetch_site = Some("cross-site");
    let response = try_sign_in(&mut browser, &page, "alice", "correct horse alice").await;
    response.assert_page(403, "could not be checked");
}

#[tokio::test]
async fn the_cookie_from_before_sign_in_grants_no_access() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let old_cookies = browser.cookies.clone();
    let consent_page = browser.sign_in(&page, "alice").await;
    // An attacker who knows the old cookie and the request handle.
    let mut attacker = service.browser();
    attacker.cookies = old_cookies;
    let resume_path =
        format!("/oauth/authorize/resume?request={}", page.hidden_fields("/oauth/sign_in")[1].1);
    attacker.get(&resume_path).await.assert_page(200, "name=\"password\"");
    try_sign_in(&mut attacker, &page, "alice", "wrong").await.assert_page(401, "is wrong");
    attacker.decide(&consent_page, "allow").await.assert_page(403, "could not be checked");
    let fields = page.hidden_fields("/oauth/sign_in");
    let fields = [("csrf", &*fields[0].1), ("request", &*fields[1].1), ("decision", "allow")];
    attacker.post("/oauth/authorize", &fields).await.assert_page(400, "no longer open");
    // Alice can still decide.
    assert_eq!(browser.decide(&consent_page, "allow").await.status, 303);
}

#[tokio::test]
async fn submitting_the_account_switch_twice_continues_the_request() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let consent_page = browser.sign_in(&page, "alice").await;
    let old_cookies = browser.cookies.clone();
    browser.submit(&consent_page, "/oauth/sign_out", &[]).await;
    browser.cookies = old_cookies;
    let response = browser.submit(&consent_page, "/oauth/sign_out", &[]).await;
    let page = browser.follow(&response).await;
    let page = browser.sign_in(&page, "alice").await;
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
}
