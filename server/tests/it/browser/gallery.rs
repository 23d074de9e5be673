//! Opens every page, for tests that check all of them.

use super::fixture::Fixture;

const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
/// A redirect URI that is only displayed.
const CALLBACK: &str = "https://tusky.example/cb";

/// Opens every page and calls `show` with its name.
pub(super) async fn visit_all(fixture: &Fixture, mut show: impl AsyncFnMut(&str)) {
    let (tab, app) = (&fixture.tab, &fixture.app);
    // Prevents the form_post page from submitting itself.
    tab.block_url("*/static/submit-*").await;
    tab.goto(&app.authorize_at(CALLBACK, &[("scope", "read write:statuses push")])).await;
    tab.find("#username").await;
    show("sign-in").await;
    fixture.sign_in_with("alice", "wrong").await;
    tab.find("#problem").await;
    show("sign-in-wrong").await;
    fixture.sign_in("alice").await;
    tab.find("#allow:not([aria-disabled])").await;
    show("consent").await;

    tab.goto(&app.authorize_at(OOB, &[])).await;
    fixture.allow().await;
    tab.find("#code").await;
    show("code").await;
    tab.goto(&app.authorize_at(OOB, &[])).await;
    fixture.deny().await;
    tab.wait_for_text("Access denied").await;
    show("denied").await;

    tab.goto(&app.authorize(&[("response_mode", "form_post")])).await;
    fixture.allow().await;
    tab.wait_for_text("Back to Tusky").await;
    show("form-post").await;

    tab.goto(&app.authorize_at("https://elsewhere.example/", &[])).await;
    tab.wait_for_text("This request cannot be answered").await;
    show("error").await;

    let account = format!("{}/oauth/account", fixture.server.url);
    tab.goto(&account).await;
    tab.wait_for_text("No app has access to your account.").await;
    show("account-bare").await;
    fixture.add_apps_and_rules().await;
    tab.goto(&account).await;
    tab.wait_for_text("Remove access").await;
    show("account").await;
    tab.goto(&format!("{account}?lang=ar")).await;
    tab.find("html[dir=rtl] .cards").await;
    show("account-arabic").await;
    tab.goto(&account).await;
    fixture.switch().await;
    tab.wait_for_text("You are signed out").await;
    show("signed-out").await;
}
