//! Two clicks on one button.

use super::sign_in::{try_in, with_alice};
use crate::support::client::CALLBACK;
use crate::support::{Answer, Browser};

/// Presses the button of the sign-in page twice; the answer to the first is lost, unless its cookie
/// comes in time.
async fn press_twice(
    browser: &mut Browser,
    page: &Answer,
    name: &str,
    cookie_comes: bool,
) -> Answer {
    let before = browser.cookies.clone();
    let password = "correct horse alice";
    assert_eq!(try_in(browser, page, name, password).await.status, 303);
    if !cookie_comes {
        browser.cookies = before;
    }
    try_in(browser, page, name, password).await
}

#[tokio::test]
async fn who_presses_the_button_twice_is_signed_in_and_goes_on() {
    for cookie_comes in [false, true] {
        let (_service, client, mut browser) = with_alice().await;
        let page = browser.get(&client.authorize(&[("state", "s")])).await;
        let answer = press_twice(&mut browser, &page, "Alice", cookie_comes).await;
        let page = browser.follow(&answer).await;
        page.page(200, "@alice:ring.example");
        let told = browser.decide(&page, "allow").await.redirected(CALLBACK);
        assert_eq!(told["state"], "s");
        // The request was one and is answered: nobody signs in for it again.
        browser.decide(&page, "allow").await.page(400, "no longer open");

        let (_service, _client, mut browser) = with_alice().await;
        let page = browser.get("/oauth/sign_in").await;
        let answer = press_twice(&mut browser, &page, "alice@example.org", cookie_comes).await;
        browser.follow(&answer).await.page(200, "@alice:ring.example");
    }
}

#[tokio::test]
async fn a_second_form_leads_on_only_who_it_names_and_only_with_their_own_request() {
    let (service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let waiting = service.browser().get(&client.authorize(&[])).await;
    browser.sign_in(&page, "alice").await.page(200, "name=\"decision\"");
    // Somebody else's name, typed in a page that is no longer good.
    try_in(&mut browser, &page, "bob", "correct horse bob").await.page(403, "could not be checked");
    // A request of another browser.
    try_in(&mut browser, &waiting, "alice", "").await.page(400, "no longer open");
    // Another site.
    browser.fetch_site = Some("cross-site");
    let answer = try_in(&mut browser, &page, "alice", "correct horse alice").await;
    answer.page(403, "could not be checked");
}

#[tokio::test]
async fn the_cookie_from_before_a_sign_in_opens_the_door_to_nothing_without_a_password() {
    let (service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let before = browser.cookies.clone();
    let consent = browser.sign_in(&page, "alice").await;
    // An attacker who knows the old cookie and the handle.
    let mut attacker = service.browser();
    attacker.cookies = before;
    let resume = format!("/oauth/authorize/resume?request={}", page.form("/oauth/sign_in")[1].1);
    attacker.get(&resume).await.page(200, "name=\"password\"");
    try_in(&mut attacker, &page, "alice", "wrong").await.page(401, "is wrong");
    attacker.decide(&consent, "allow").await.page(403, "could not be checked");
    let fields = page.form("/oauth/sign_in");
    let fields = [("csrf", &*fields[0].1), ("request", &*fields[1].1), ("decision", "allow")];
    attacker.post("/oauth/authorize", &fields).await.page(400, "no longer open");
    // And it is still alice's to answer.
    assert_eq!(browser.decide(&consent, "allow").await.status, 303);
}

#[tokio::test]
async fn who_presses_twice_to_use_another_account_still_answers_the_request() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let consent = browser.sign_in(&page, "alice").await;
    let before = browser.cookies.clone();
    browser.submit(&consent, "/oauth/sign_out", &[]).await;
    browser.cookies = before;
    let out = browser.submit(&consent, "/oauth/sign_out", &[]).await;
    let page = browser.follow(&out).await;
    let page = browser.sign_in(&page, "alice").await;
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
}
