//! Browser tests of the security page and the sign-up page.

use super::fixture::{Fixture, with_browser};
use super::tab::ENTER_KEY;

fn security_url(fixture: &Fixture) -> String {
    format!("{}/oauth/account/security", fixture.server.url)
}

async fn open_security_page(fixture: &Fixture) {
    fixture.tab.goto(&security_url(fixture)).await;
    fixture.sign_in("alice").await;
    fixture.tab.wait_for_text("Where you are signed in").await;
}

#[test]
fn a_password_is_changed_and_this_browser_stays_signed_in() {
    with_browser(async |fixture| {
        open_security_page(fixture).await;
        fixture.tab.wait_for_text("This browser").await;
        fixture.tab.wait_for_text("Chrome on Linux").await;
        fixture.change_password("alice", "a new password").await;
        fixture.tab.wait_for_text("Your password is changed.").await;
        assert_eq!(fixture.tab.url().await.path(), "/oauth/account/security");
        fixture.tab.goto(&format!("{}/oauth/account", fixture.server.url)).await;
        fixture.switch_account().await;
        fixture.tab.click("a.button").await;
        fixture.sign_in_with("alice", "a new password").await;
        fixture.tab.wait_for_text("@alice:ring.example").await;
    });
}

/// The focus is in the field with the error, which a screen reader then describes.
#[test]
fn a_wrong_password_is_reported_without_scripts() {
    with_browser(async |fixture| {
        open_security_page(fixture).await;
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&security_url(fixture)).await;
        fixture.tab.fill("#current-password", "wrong").await;
        fixture.tab.fill("#new-password", "a new password").await;
        fixture.tab.fill("#password-again", &format!("a new password{ENTER_KEY}")).await;
        let css =
            "#current-password:focus[aria-invalid=true][aria-describedby=current-password-error]";
        fixture.tab.find(css).await;
        fixture.tab.find("#current-password-error").await;
    });
}

#[test]
fn account_deletion_is_requested_and_cancelled_without_scripts() {
    with_browser(async |fixture| {
        open_security_page(fixture).await;
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&security_url(fixture)).await;
        fixture.delete_account("alice").await;
        fixture.tab.click("form[action='/oauth/account/security/keep'] button").await;
        fixture.tab.find("[name=password]").await;
        assert!(fixture.tab.url().await.as_str().ends_with("notice=deletion-cancelled"));
    });
}

#[test]
fn a_user_signs_up_during_an_authorization() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        fixture.tab.click("a[href^='/oauth/sign_up?request=']").await;
        fixture.tab.fill("#username", "carol").await;
        fixture.tab.fill("#email", "carol@example.org").await;
        fixture.tab.fill("#password", "correct horse").await;
        fixture.tab.fill("#password-again", "correct horse").await;
        fixture.tab.click("label:has([data-show-password])").await;
        let types = "[...document.querySelectorAll('input[id^=password]')].map(({ type }) => type)";
        assert_eq!(fixture.tab.evaluate(types).await, serde_json::json!(["text", "text"]));
        fixture.tab.click("label[for=agreement]").await;
        fixture.tab.click("main button").await;
        fixture.tab.wait_for_text("@carol:ring.example").await;
        fixture.allow().await;
        fixture.tab.find("#thanks").await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}
