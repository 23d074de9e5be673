//! Changing the e-mail address on the security page.

use super::{SECURITY, events, sign_in_alice};
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const EMAIL: &str = "/oauth/account/security/email";
const PASSWORD: &str = "correct horse alice";

async fn change_email(browser: &mut Browser, email: &str, password: &str) -> TestResponse {
    let page = browser.get(SECURITY).await;
    browser.submit(&page, EMAIL, &[("email", email), ("current_password", password)]).await
}

/// Returns Alice's verified address and her unverified one.
async fn stored_addresses(service: &Service) -> (Option<String>, Option<String>) {
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    (account.email, account.unverified_email)
}

async fn the_email_address_is_shown_and_changed_with_the_password(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let before = stored_addresses(&service).await.0.expect("the account has an address");
    for path in [SECURITY, "/oauth/account"] {
        browser.get(path).await.assert_page(200, &before);
    }
    let page = browser.get(SECURITY).await;
    page.assert_page(200, "<h2 id=\"email\">E-mail address</h2>");
    page.assert_page(200, "<button class=\"secondary\">Change e-mail address</button>");
    // An unchanged address stays verified.
    let same = change_email(&mut browser, &before.to_uppercase(), PASSWORD).await;
    assert_eq!(same.header("location"), "/oauth/account/security?notice=email-changed");
    assert_eq!(stored_addresses(&service).await, (Some(before.clone()), None));

    let saved = change_email(&mut browser, " New@Example.org ", PASSWORD).await;
    let page = browser.follow(&saved).await;
    page.assert_page(200, "Your e-mail address is updated.");
    page.assert_page(200, "value=\"new@example.org\"");
    assert_eq!(stored_addresses(&service).await, (None, Some("new@example.org".to_owned())));
    // The new address is not verified, so it cannot be used to sign in.
    let mut other = service.browser();
    let page = other.get("/oauth/sign_in").await;
    for name in ["new@example.org", &before] {
        let fields = [("username", name), ("password", PASSWORD)];
        assert_eq!(other.submit(&page, "/oauth/sign_in", &fields).await.status, 401, "{name}");
    }
    let removed = change_email(&mut browser, " ", PASSWORD).await;
    browser
        .follow(&removed)
        .await
        .assert_page(200, "id=\"email-address\" name=\"email\" type=\"email\" value=\"\"");
    browser.get("/oauth/account").await.assert_page(200, ">Add an e-mail address</a>");
    assert_eq!(stored_addresses(&service).await, (None, None));
    let events = events(&service, "alice").await;
    let changes = events.iter().filter(|event| *event == "email_change success 1").count();
    assert_eq!(changes, 2, "{events:?}");
}

on_both_engines! {
    crate::security::start:
    the_email_address_is_shown_and_changed_with_the_password,
}

#[tokio::test]
async fn a_wrong_password_or_address_changes_nothing() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let before = stored_addresses(&service).await;
    let wrong = change_email(&mut browser, "new@example.org", "wrong").await;
    wrong.assert_page(401, "id=\"email-password-error\">This is not your password.");
    wrong.assert_page(401, "value=\"new@example.org\"");
    let invalid = change_email(&mut browser, "new<", PASSWORD).await;
    invalid.assert_page(422, "id=\"email-address-error\">Please check the address.");
    invalid.assert_page(422, "value=\"new&#60;\"");
    assert_eq!(stored_addresses(&service).await, before);
    let events = events(&service, "alice").await;
    assert_eq!(events, ["email_change failure 1", "sign_in success 1"]);
}
