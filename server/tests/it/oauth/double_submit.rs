//! Forms that are submitted twice.

use super::sign_in::try_sign_in;
use super::start_with_alice;
use crate::support::oauth_client::CALLBACK;
use crate::support::{Browser, TestResponse};

/// Submits the sign-in form twice. The second submit may be sent before the cookie of the first
/// response arrives.
async fn submit_twice(
    browser: &mut Browser,
    page: &TestResponse,
    name: &str,
    cookie_arrives: bool,
) -> TestResponse {
    let before = browser.cookies.clone();
    let password = "correct horse alice";
    assert_eq!(try_sign_in(browser, page, name, password).await.status, 303);
    if !cookie_arrives {
        browser.cookies = before;
    }
    try_sign_in(browser, page, name, password).await
}

#[tokio::test]
async fn a_double_submit_of_the_sign_in_form_succeeds() {
    for cookie_arrives in [false, true] {
        let (_service, client, mut browser) = start_with_alice().await;
        let page = browser.get(&client.authorize_path(&[("state", "s")])).await;
        let response = submit_twice(&mut browser, &page, "Alice", cookie_arrives).await;
        let page = browser.follow(&response).await;
        page.assert_page(200, "@alice:ring.example");
        let parameters = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK);
        assert_eq!(parameters["state"], "s");
        // The request was decided and is closed.
        browser.decide(&page, "allow").await.assert_page(400, "no longer open");

        let (_service, _client, mut browser) = start_with_alice().await;
        let page = browser.get("/oauth/sign_in").await;
        let response = submit_twice(&mut browser, &page, "alice@example.org", cookie_arrives).await;
        browser.follow(&response).await.assert_page(200, "@alice:ring.example");
    }
}

#[tokio::test]
async fn a_second_submit_continues_only_for_the_same_account_and_request() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let waiting = service.browser().get(&client.authorize_path(&[])).await;
    browser.sign_in(&page, "alice").await.assert_page(200, "name=\"decision\"");
    // A different account name on an outdated page.
    try_sign_in(&mut browser, &page, "bob", "correct horse bob")
        .await
        .assert_page(403, "could not be checked");
    // A request from another browser.
    try_sign_in(&mut browser, &waiting, "alice", "").await.assert_page(400, "no longer open");
    // A form from another site.
    browser.fetch_site = Some("cross-site");
    let response = try_sign_in(&mut browser, &page, "alice", "correct horse alice").await;
    response.assert_page(403, "could not be checked");
}

#[tokio::test]
async fn the_cookie_from_before_sign_in_grants_no_access() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let before = browser.cookies.clone();
    let consent = browser.sign_in(&page, "alice").await;
    // An attacker who knows the old cookie and the handle.
    let mut attacker = service.browser();
    attacker.cookies = before;
    let resume = format!("/oauth/authorize/resume?request={}", page.form("/oauth/sign_in")[1].1);
    attacker.get(&resume).await.assert_page(200, "name=\"password\"");
    try_sign_in(&mut attacker, &page, "alice", "wrong").await.assert_page(401, "is wrong");
    attacker.decide(&consent, "allow").await.assert_page(403, "could not be checked");
    let fields = page.form("/oauth/sign_in");
    let fields = [("csrf", &*fields[0].1), ("request", &*fields[1].1), ("decision", "allow")];
    attacker.post("/oauth/authorize", &fields).await.assert_page(400, "no longer open");
    // Alice can still decide.
    assert_eq!(browser.decide(&consent, "allow").await.status, 303);
}

#[tokio::test]
async fn a_double_submit_of_the_account_switch_continues_the_request() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let consent = browser.sign_in(&page, "alice").await;
    let before = browser.cookies.clone();
    browser.submit(&consent, "/oauth/sign_out", &[]).await;
    browser.cookies = before;
    let out = browser.submit(&consent, "/oauth/sign_out", &[]).await;
    let page = browser.follow(&out).await;
    let page = browser.sign_in(&page, "alice").await;
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
}
