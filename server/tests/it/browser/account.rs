//! Browser tests of the account page.

use serde_json::{Value, json};

use super::fixture::{Fixture, with_browser};
use super::tab::ENTER_KEY;

/// Alice signs in and authorizes the app; returns its token.
async fn authorize_app(fixture: &Fixture) -> Value {
    fixture.tab.goto(&fixture.app.start_url(&[("scope", "read push")])).await;
    fixture.sign_in("alice").await;
    fixture.allow().await;
    fixture.tab.find("#thanks").await;
    let callback = fixture.app.next_callback().await;
    fixture.app.redeem(&callback.fields["code"], &fixture.app.redirect_uri, &[]).await
}

fn account_url(fixture: &Fixture) -> String {
    format!("{}/oauth/account", fixture.server.url)
}

#[test]
fn an_app_is_removed_after_a_confirmation() {
    with_browser(async |fixture| {
        let token = authorize_app(fixture).await;
        assert!(fixture.app.is_valid_token(&token).await);
        fixture.tab.goto(&account_url(fixture)).await;
        for text in ["Tusky", "tusky.example", "See everything in your account", "Since "] {
            fixture.tab.wait_for_text(text).await;
        }
        let name_expression = "document.querySelector('.cards button').ariaLabelledByElements
            .map((part) => part.innerText).join(' ')";
        let value = fixture.tab.evaluate(name_expression).await;
        let name = value.as_str().unwrap().replace(['\u{2068}', '\u{2069}'], "");
        assert_eq!(name, "Remove access Tusky");

        // The first press only reveals the button.
        fixture.tab.click(".cards summary").await;
        fixture.tab.wait_for_text("An app that you remove loses its access immediately.").await;
        assert!(fixture.app.is_valid_token(&token).await);
        fixture.tab.click(".cards button").await;
        fixture.tab.wait_for_text("That app no longer has access to your account.").await;
        fixture.tab.wait_for_text("No app has access to your account.").await;
        assert_eq!(fixture.tab.url().await.path(), "/oauth/account");
        assert!(!fixture.app.is_valid_token(&token).await);
        // Submitting the cached page again does no harm.
        fixture.tab.go_back().await;
        fixture.tab.find("main").await;
        if fixture.tab.has_element(".cards button").await {
            fixture.tab.evaluate("document.querySelector('.cards details').open = true").await;
            fixture.tab.click(".cards button").await;
        }
        fixture.tab.goto(&account_url(fixture)).await;
        fixture.tab.wait_for_text("No app has access to your account.").await;
        // The app has to ask for consent again.
        fixture.tab.goto(&fixture.app.start_url(&[("scope", "read push")])).await;
        fixture.tab.wait_for_text("Allow Tusky to use your account?").await;
    });
}

#[test]
fn an_app_is_removed_without_scripts() {
    with_browser(async |fixture| {
        let token = authorize_app(fixture).await;
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&account_url(fixture)).await;
        fixture.tab.click(".cards summary").await;
        fixture.tab.click(".cards button").await;
        fixture.tab.find("main:not(:has(.cards))").await;
        assert!(!fixture.app.is_valid_token(&token).await);
    });
}

#[test]
fn an_app_is_removed_by_keyboard_alone() {
    with_browser(async |fixture| {
        let token = authorize_app(fixture).await;
        fixture.tab.goto(&account_url(fixture)).await;
        fixture.tab.tab_to(".cards summary").await;
        fixture.tab.press(ENTER_KEY).await;
        fixture.tab.tab_to(".cards button").await;
        fixture.tab.press(ENTER_KEY).await;
        fixture.tab.wait_for_text("That app no longer has access to your account.").await;
        assert!(!fixture.app.is_valid_token(&token).await);
        // The first link that Tab reaches skips the navigation.
        fixture.tab.tab_to(".skip").await;
        fixture.tab.press(ENTER_KEY).await;
        fixture.tab.tab_to("main button").await;
        fixture.tab.press(ENTER_KEY).await;
        fixture.tab.wait_for_text("You are signed out").await;
    });
}

#[test]
fn account_pages_open_at_the_top() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.goto(&account_url(fixture)).await;
        fixture.sign_in("alice").await;
        tab.find(".sections").await;
        fixture.add_apps_and_rules().await;
        for width in [390, 1280] {
            tab.resize(width, 800).await;
            for page in ["", "/notifications", "/security"] {
                tab.goto(&format!("{}{page}", account_url(fixture))).await;
                tab.find(".sections [aria-current]").await;
                let scroll_state = "[scrollY, document.documentElement.scrollHeight > innerHeight]";
                assert_eq!(tab.evaluate(scroll_state).await, json!([0, true]), "{page}, {width}");
            }
        }
    });
}
