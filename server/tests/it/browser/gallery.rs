//! A walk through every page.

use super::scene::Scene;

const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
/// An address of the app that is only looked at.
const CALLBACK: &str = "https://tusky.example/cb";

/// Shows every page, by its name.
pub(super) async fn walk(scene: &Scene, mut show: impl AsyncFnMut(&str)) {
    let (tab, app) = (&scene.tab, &scene.app);
    // The page that sends itself away is to stay.
    tab.without("*/static/submit-*").await;
    tab.goto(&app.authorize_at(CALLBACK, &[("scope", "read write:statuses push")])).await;
    tab.find("#username").await;
    show("sign-in").await;
    scene.sign_in_with("alice", "wrong").await;
    tab.find("#problem").await;
    show("sign-in-wrong").await;
    scene.sign_in("alice").await;
    tab.find("#allow:not([aria-disabled])").await;
    show("consent").await;

    tab.goto(&app.authorize_at(OOB, &[])).await;
    scene.allow().await;
    tab.find("#code").await;
    show("code").await;
    tab.goto(&app.authorize_at(OOB, &[])).await;
    scene.deny().await;
    tab.says("Access denied").await;
    show("denied").await;

    tab.goto(&app.authorize(&[("response_mode", "form_post")])).await;
    scene.allow().await;
    tab.says("Back to Tusky").await;
    show("form-post").await;

    tab.goto(&app.authorize_at("https://elsewhere.example/", &[])).await;
    tab.says("This request cannot be answered").await;
    show("error").await;

    let account = format!("{}/oauth/account", scene.server.url);
    tab.goto(&account).await;
    tab.says("No app has access to your account.").await;
    show("account-bare").await;
    scene.furnish().await;
    tab.goto(&account).await;
    tab.says("Remove access").await;
    show("account").await;
    tab.goto(&format!("{account}?lang=ar")).await;
    tab.find("html[dir=rtl] .cards").await;
    show("account-arabic").await;
    tab.goto(&account).await;
    scene.switch().await;
    tab.says("You are signed out").await;
    show("signed-out").await;
}
