//! Opens every page, for tests that check all of them.

use super::fixture::Fixture;
use super::rules;

const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
/// A redirect URI that is only displayed.
const CALLBACK: &str = "https://tusky.example/cb";

/// Opens every page in a language and calls `show` with its name.
pub(super) async fn visit_all(fixture: &Fixture, lang: &str, mut show: impl AsyncFnMut(&str)) {
    visit_authorization(fixture, lang, &mut show).await;
    visit_account(fixture, &mut show).await;
    let (tab, lang) = (&fixture.tab, format!("?lang={lang}"));
    fixture.switch_account().await;
    tab.find("a.button[href^='/oauth/sign_in']").await;
    tab.goto(&format!("{}/oauth/sign_out{lang}", fixture.server.url)).await;
    show("signed-out").await;
    tab.goto(&format!("{}/{lang}", fixture.server.url)).await;
    show("front").await;
    tab.goto(&format!("{}/oauth/sign_up{lang}", fixture.server.url)).await;
    show("sign-up").await;
    tab.evaluate("document.querySelector('form').noValidate = true").await;
    tab.fill("#username", "Carol").await;
    tab.fill("#password", "short\u{e007}").await;
    tab.find("#agreement-error").await;
    show("sign-up-wrong").await;
    tab.goto(&format!("{}/oauth/account/nothing{lang}", fixture.server.url)).await;
    show("not-found").await;
}

/// Opens the pages of an authorization request. Alice signs in, in this language.
async fn visit_authorization(fixture: &Fixture, lang: &str, show: &mut impl AsyncFnMut(&str)) {
    let (tab, app) = (&fixture.tab, &fixture.app);
    let scope = ("scope", "read write:statuses push");
    // Prevents the form_post page from submitting itself.
    tab.block_url("*/static/submit-*").await;
    tab.goto(&app.authorize_url_at(CALLBACK, &[scope, ("lang", lang)])).await;
    show("sign-in").await;
    fixture.sign_in_with("alice", "wrong").await;
    tab.find("#problem").await;
    show("sign-in-wrong").await;
    fixture.sign_in("alice").await;
    tab.find("button[value=allow]:not([aria-disabled])").await;
    show("consent").await;

    tab.goto(&app.authorize_url_at(OOB, &[("lang", lang)])).await;
    fixture.allow().await;
    tab.find("#code").await;
    show("code").await;
    tab.goto(&app.authorize_url_at(OOB, &[("lang", lang)])).await;
    fixture.deny().await;
    tab.find("main:not(:has(button))").await;
    show("denied").await;
    tab.goto(&app.authorize_url(&[("response_mode", "form_post"), ("lang", lang)])).await;
    fixture.allow().await;
    tab.find("form[action^='http'] button").await;
    show("form-post").await;
    tab.goto(&app.authorize_url_at("https://elsewhere.example/", &[("lang", lang)])).await;
    show("error").await;
}

/// Opens Alice's account pages, and ends on the overview. Alice is signed in.
async fn visit_account(fixture: &Fixture, show: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    let account = format!("{}/oauth/account", fixture.server.url);
    tab.goto(&account).await;
    show("account-bare").await;
    fixture.add_apps_and_rules().await;
    tab.goto(&format!("{}/", fixture.server.url)).await;
    show("front-signed-in").await;
    tab.goto(&format!("{account}?notice=not-saved")).await;
    tab.find("[role=status]").await;
    show("account-not-saved").await;
    tab.goto(&format!("{account}/notifications")).await;
    tab.find("#switch-call").await;
    show("notifications").await;
    visit_changed_notifications(fixture, show).await;
    tab.goto(&account).await;
    tab.find(".cards").await;
    show("account").await;
    rules::visit(fixture, show).await;
    visit_security(fixture, show).await;
    tab.goto(&account).await;
    tab.find(".cards").await;
}

/// Shows further states of the notifications page, which is open.
async fn visit_changed_notifications(fixture: &Fixture, show: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    tab.click("#keywords .entries summary").await;
    show("notifications-entry").await;
    tab.click("#subjects .add > summary").await;
    tab.fill("#id", "nonsense\u{e007}").await;
    tab.find("#id-error").await;
    show("notifications-invalid").await;
    tab.click("button[name=for]").await;
    tab.find("button[value=resume]").await;
    show("notifications-paused").await;
    tab.click("button[value=resume]").await;
    tab.find("button[name=for]").await;
}

/// Opens the security page in several states.
async fn visit_security(fixture: &Fixture, show: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    let security = format!("{}/oauth/account/security", fixture.server.url);
    tab.goto(&security).await;
    tab.find("[name=password]").await;
    show("security").await;
    tab.fill("#current-password", "wrong").await;
    tab.fill("#new-password", "a new password").await;
    tab.fill("#password-again", "a new password\u{e007}").await;
    tab.find("#current-password-error").await;
    show("security-wrong").await;
    tab.goto(&security).await;
    fixture.delete_account("alice").await;
    tab.find("form[action='/oauth/account/security/keep']").await;
    show("security-deletion").await;
    tab.click("form[action='/oauth/account/security/keep'] button").await;
    tab.find("[name=password]").await;
    show("security-kept").await;
}
