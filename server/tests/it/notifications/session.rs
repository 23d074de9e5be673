//! Access to the page, and sessions that end while it is open.

use serde_json::json;

use super::{Alice, PAGE_PATH, csrf_token};
use crate::support::Service;

#[tokio::test]
async fn a_signed_out_user_signs_in_and_returns() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let response = browser.get(&format!("{PAGE_PATH}?lang=de")).await;
    let location = "/oauth/sign_in?lang=de&return_to=notifications";
    assert_eq!((response.status, response.header("location")), (303, location));
    let page = browser.follow(&response).await;
    browser.sign_in(&page, "alice").await.assert_page(200, "<h1>Benachrichtigungen</h1>");
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_is_rejected_with_a_notice() {
    let mut alice = Alice::new().await;
    let csrf_token = csrf_token(&alice.get_page().await);
    alice.service.execute_sql("delete from sessions");
    let fields = [("csrf", &*csrf_token), ("change", "pause"), ("for", "open")];
    let response = alice.browser.post(PAGE_PATH, &fields).await;
    let page = alice.browser.follow(&response).await;
    let page = alice.browser.sign_in(&page, "alice").await;
    page.assert_page(200, "Nothing was saved, because you were no longer signed in.");
    page.assert_page(200, "Notifications are on.");
    let master_rule = alice.get_rules("global/override/.m.rule.master/enabled").await;
    assert_eq!(master_rule, json!({ "enabled": false }));
}

#[tokio::test]
async fn a_form_from_another_site_is_rejected() {
    let mut alice = Alice::new().await;
    let csrf_token = csrf_token(&alice.get_page().await);
    for (token, site) in [("", "same-origin"), ("x", "same-origin"), (&*csrf_token, "cross-site")] {
        alice.browser.fetch_site = Some(site);
        let fields = [("csrf", token), ("change", "pause"), ("for", "open")];
        alice.browser.post(PAGE_PATH, &fields).await.assert_page(403, "could not be checked");
    }
    alice.get_page().await.assert_page(200, "Notifications are on.");
}

#[tokio::test]
async fn each_account_has_separate_preferences() {
    let mut alice = Alice::new().await;
    alice.submit(&[("change", "keyword"), ("word", "cake")]).await.assert_page(200, "cake");
    alice.service.add_account("bob").await;
    let mut bobs_browser = alice.service.browser();
    let page = bobs_browser.get("/oauth/sign_in").await;
    bobs_browser.sign_in(&page, "bob").await;
    bobs_browser.get(PAGE_PATH).await.assert_page(200, "You have no keywords.");
}
