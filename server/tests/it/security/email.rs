//! Changing the e-mail address on the security page.

use super::{SECURITY_PATH, read_events, sign_in_alice};
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const EMAIL_PATH: &str = "/oauth/account/security/email";
const ALICE_PASSWORD: &str = "correct horse alice";

async fn change_email(browser: &mut Browser, email: &str, password: &str) -> TestResponse {
    let page = browser.get(SECURITY_PATH).await;
    browser.submit(&page, EMAIL_PATH, &[("email", email), ("current_password", password)]).await
}

/// Returns Alice's verified address and her unverified one.
async fn stored_addresses(service: &Service) -> (Option<String>, Option<String>) {
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    (account.email, account.unverified_email)
}

async fn the_email_address_is_displayed_and_can_be_changed_with_the_password(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let old_address = stored_addresses(&service).await.0.expect("the account has an address");
    for path in [SECURITY_PATH, "/oauth/account"] {
        browser.get(path).await.assert_page(200, &old_address);
    }
    let page = browser.get(SECURITY_PATH).await;
    page.assert_page(200, "<h2 id=\"email\">E-mail address</h2>");
    page.assert_page(200, "<button class=\"secondary\">Change e-mail address</button>");
    // An unchanged address stays verified.
    let response = change_email(&mut browser, &old_address.to_uppercase(), ALICE_PASSWORD).await;
    assert_eq!(response.header("location"), "/oauth/account/security?notice=email-changed");
    assert_eq!(stored_addresses(&service).await, (Some(old_address.clone()), None));

    let response = change_email(&mut browser, " New@Example.org ", ALICE_PASSWORD).await;
    let page = browser.follow(&response).await;
    page.assert_page(200, "Your e-mail address is updated.");
    page.assert_page(200, "value=\"new@example.org\"");
    assert_eq!(stored_addresses(&service).await, (None, Some("new@example.org".to_owned())));
    // The new address is not verified, so it cannot be used to sign in.
    let mut new_browser = service.browser();
    let page = new_browser.get("/oauth/sign_in").await;
    for name in ["new@example.org", &old_address] {
        let fields = [("username", name), ("password", ALICE_PASSWORD)];
        assert_eq!(
            new_browser.submit(&page, "/oauth/sign_in", &fields).await.status,
            401,
            "{name}"
        );
    }
    let response = change_email(&mut browser, " ", ALICE_PASSWORD).await;
    browser
        .follow(&response)
        .await
        .assert_page(200, "id=\"email-address\" name=\"email\" type=\"email\" value=\"\"");
    browser.get("/oauth/account").await.assert_page(200, ">Add an e-mail address</a>");
    assert_eq!(stored_addresses(&service).await, (None, None));
    let events = read_events(&service, "alice").await;
    let changes = events.iter().filter(|event| *event == "email_change success 1").count();
    assert_eq!(changes, 2, "{events:?}");
}

on_both_engines! {
    crate::security::start_with_defaults:
    the_email_address_is_displayed_and_can_be_changed_with_the_password,
}

#[tokio::test]
async fn a_wrong_password_or_address_changes_nothing() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let before = stored_addresses(&service).await;
    let response = change_email(&mut browser, "new@example.org", "wrong").await;
    response.assert_page(401, "id=\"email-password-error\">This is not your password.");
    response.assert_page(401, "value=\"new@example.org\"");
    let response = change_email(&mut browser, "new<", ALICE_PASSWORD).await;
    response.assert_page(422, "id=\"email-address-error\">Please check the address.");
    response.assert_page(422, "value=\"new&#60;\"");
    assert_eq!(stored_addresses(&service).await, before);
    let events = read_events(&service, "alice").await;
    assert_eq!(events, ["email_change failure 1", "sign_in success 1"]);
}
