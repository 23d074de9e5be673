//! Opens every page, for tests that check all of them.

use super::devices;
use super::fixture::Fixture;
use super::tab::ENTER_KEY;

const OOB_URI: &str = "urn:ietf:wg:oauth:2.0:oob";
/// A redirect URI that is only displayed.
const CALLBACK: &str = "https://tusky.example/cb";

/// Opens every page in a language and calls `on_page` with its name.
pub(super) async fn visit_every_page(
    fixture: &Fixture,
    lang: &str,
    mut on_page: impl AsyncFnMut(&str),
) {
    visit_authorization(fixture, lang, &mut on_page).await;
    visit_account(fixture, &mut on_page).await;
    let tab = &fixture.tab;
    let lang = format!("?lang={lang}");
    fixture.switch_account().await;
    tab.find("a.button[href^='/oauth/sign_in']").await;
    tab.goto(&format!("{}/oauth/sign_out{lang}", fixture.server.url)).await;
    on_page("signed-out").await;
    tab.goto(&format!("{}/{lang}", fixture.server.url)).await;
    on_page("front").await;
    tab.goto(&format!("{}/oauth/sign_up{lang}", fixture.server.url)).await;
    on_page("sign-up").await;
    tab.evaluate("document.querySelector('form').noValidate = true").await;
    tab.fill("#username", "Carol").await;
    tab.fill("#password", &format!("short{ENTER_KEY}")).await;
    tab.find("#agreement-error").await;
    on_page("sign-up-wrong").await;
    tab.goto(&format!("{}/oauth/account/nothing{lang}", fixture.server.url)).await;
    on_page("not-found").await;
}

/// Opens the pages of an authorization request. Alice signs in, in this language.
async fn visit_authorization(fixture: &Fixture, lang: &str, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    let app = &fixture.app;
    let scope = ("scope", "read write:statuses push");
    // Prevents the form_post page from submitting itself.
    tab.block_url("*/oauth/static/submit-*").await;
    tab.goto(&app.authorize_url_with(CALLBACK, &[scope, ("lang", lang)])).await;
    on_page("sign-in").await;
    fixture.sign_in_with("alice", "wrong").await;
    tab.find("#problem").await;
    on_page("sign-in-wrong").await;
    fixture.sign_in("alice").await;
    tab.find("button[value=allow]:not([aria-disabled])").await;
    on_page("consent").await;

    tab.goto(&app.authorize_url_with(OOB_URI, &[("lang", lang)])).await;
    fixture.allow().await;
    tab.find("#code").await;
    on_page("code").await;
    tab.goto(&app.authorize_url_with(OOB_URI, &[("lang", lang)])).await;
    fixture.deny().await;
    tab.find("main:not(:has(button))").await;
    on_page("denied").await;
    tab.goto(&app.authorize_url(&[("response_mode", "form_post"), ("lang", lang)])).await;
    fixture.allow().await;
    tab.find("form[action^='http'] button").await;
    on_page("form-post").await;
    tab.goto(&app.authorize_url_with("https://elsewhere.example/", &[("lang", lang)])).await;
    on_page("error").await;
}

/// Opens Alice's account pages, and ends on the overview. Alice is signed in.
async fn visit_account(fixture: &Fixture, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    let account_url = format!("{}/oauth/account", fixture.server.url);
    tab.goto(&account_url).await;
    on_page("account-bare").await;
    fixture.add_apps_and_rules().await;
    tab.goto(&format!("{}/", fixture.server.url)).await;
    on_page("front-signed-in").await;
    tab.goto(&format!("{account_url}?notice=not-saved")).await;
    tab.find("[role=status]").await;
    on_page("account-not-saved").await;
    tab.goto(&format!("{account_url}/notifications")).await;
    tab.find("#switch-call").await;
    on_page("notifications").await;
    visit_changed_notifications(fixture, on_page).await;
    tab.goto(&account_url).await;
    tab.find(".cards").await;
    on_page("account").await;
    devices::visit_devices(fixture, on_page).await;
    visit_security(fixture, on_page).await;
    tab.goto(&account_url).await;
    tab.find(".cards").await;
}

/// Shows more states of the notifications page, which is open.
async fn visit_changed_notifications(fixture: &Fixture, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    tab.click("#keywords .entries summary").await;
    on_page("notifications-entry").await;
    tab.fill("#id", &format!("nonsense{ENTER_KEY}")).await;
    tab.find("#id-error").await;
    on_page("notifications-invalid").await;
    tab.click("#try > summary").await;
    tab.fill("#text", "There is cake").await;
    tab.click("#try form button").await;
    tab.find("#try .result:focus").await;
    on_page("notifications-try").await;
    tab.click("button[name=for]").await;
    tab.find("button[value=resume]").await;
    on_page("notifications-paused").await;
    tab.click("button[value=resume]").await;
    tab.find("button[name=for]").await;
}

/// Opens the security page in several states.
async fn visit_security(fixture: &Fixture, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    let security_url = format!("{}/oauth/account/security", fixture.server.url);
    tab.goto(&security_url).await;
    tab.find("[name=password]").await;
    on_page("security").await;
    tab.fill("#current-password", "wrong").await;
    tab.fill("#new-password", "a new password").await;
    tab.fill("#password-again", &format!("a new password{ENTER_KEY}")).await;
    tab.find("#current-password-error").await;
    on_page("security-wrong").await;
    tab.goto(&security_url).await;
    fixture.delete_account("alice").await;
    tab.find("form[action='/oauth/account/security/keep']").await;
    on_page("security-deletion").await;
    tab.click("form[action='/oauth/account/security/keep'] button").await;
    tab.find("[name=password]").await;
    on_page("security-kept").await;
}
