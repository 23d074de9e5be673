//! Access to the page, and sessions that end while it is open.

use serde_json::json;

use super::{Alice, PAGE, csrf, sign_in};
use crate::support::Service;

#[tokio::test]
async fn a_signed_out_user_signs_in_and_returns() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let response = browser.get(&format!("{PAGE}?lang=de&keywords=2")).await;
    let location = "/oauth/sign_in?lang=de&return_to=notifications";
    assert_eq!((response.status, response.header("location")), (303, location));
    let page = browser.follow(&response).await;
    browser.sign_in(&page, "alice").await.page(200, "<h1>Benachrichtigungen</h1>");
}

#[tokio::test]
async fn a_form_after_the_end_of_the_session_changes_nothing_and_says_so() {
    let mut alice = Alice::new().await;
    let csrf = csrf(&alice.page().await);
    alice.service.execute_sql("delete from sessions");
    let fields = [("csrf", &*csrf), ("change", "pause"), ("for", "open")];
    let response = alice.browser.post(PAGE, &fields).await;
    let page = alice.browser.follow(&response).await;
    let page = alice.browser.sign_in(&page, "alice").await;
    page.page(200, "Nothing was saved, because you were no longer signed in.");
    page.page(200, "Notifications are on.");
    let master = alice.rules("global/override/.m.rule.master/enabled").await;
    assert_eq!(master, json!({ "enabled": false }));
}

/// The forms with a text are shown again: first with a link to the sign-in page, and after signing
/// in, with the CSRF token of the new session.
#[tokio::test]
async fn the_text_of_a_form_is_not_lost_when_the_session_has_ended() {
    let keyword = [("change", "keyword"), ("word", "<cake>"), ("highlight", "on")];
    let room = [("change", "subject"), ("id", "!tea:ring.example"), ("choice", "mute-day")];
    for (fields, shown, hidden) in [
        (&keyword[..], "name=\"word\" value=\"&#60;cake&#62;\"", "name=\"id\""),
        (&room[..], "name=\"id\" value=\"!tea:ring.example\"", "name=\"word\""),
    ] {
        let mut alice = Alice::new().await;
        alice.put_rule("global/content/secret", &json!({ "pattern": "x", "actions": [] })).await;
        let token = csrf(&alice.page().await);
        alice.service.execute_sql("delete from sessions");
        let with = |token: &str| -> Vec<(&str, String)> {
            let csrf = ("csrf", token.to_owned());
            let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned()));
            std::iter::once(csrf).chain(fields).collect()
        };
        let page = alice.browser.post(PAGE, &borrowed(&with(&token))).await;
        page.page(401, "You were signed out, so nothing was saved. Your text is still here");
        let link = "href=\"/oauth/sign_in?return_to=notifications\" target=\"_blank\"";
        for part in [shown, link] {
            assert!(page.text.contains(part), "{part}: {}", page.text);
        }
        // Nothing else is shown, because nobody is signed in.
        for part in [hidden, "secret", "name=\"switch\"", "Notifications are on", "You have no"] {
            assert!(!page.text.contains(part), "{part}: {}", page.text);
        }

        let mut browser = sign_in(&alice.service).await;
        let page = browser.post(PAGE, &borrowed(&with(&csrf(&page)))).await;
        page.page(403, "You have signed in since this page was opened, so nothing was saved yet.");
        assert!(page.text.contains(shown) && !page.text.contains("aria-invalid"), "{}", page.text);
        let saved = browser.post(PAGE, &borrowed(&with(&csrf(&page)))).await;
        assert_eq!(saved.status, 303, "{saved:?}");
        let app = alice.service.user("alice").await;
        let rules = app.get_rules("").await.to_string();
        assert!(rules.contains(fields[1].1), "{rules}");
        assert_eq!(page.text.contains("value=\"mute-day\" selected"), fields[0].1 == "subject");
    }
}

fn borrowed<'a>(fields: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    fields.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

#[tokio::test]
async fn the_text_of_a_form_of_another_site_is_not_shown() {
    let mut alice = Alice::new().await;
    let csrf = csrf(&alice.page().await);
    alice.browser.fetch_site = Some("cross-site");
    let fields = [("csrf", &*csrf), ("change", "keyword"), ("word", "cake")];
    let page = alice.browser.post(PAGE, &fields).await;
    page.page(403, "could not be checked");
    assert!(!page.text.contains("cake"), "{}", page.text);
}

#[tokio::test]
async fn a_form_of_another_site_is_rejected() {
    let mut alice = Alice::new().await;
    let csrf = csrf(&alice.page().await);
    for (csrf, site) in [("", "same-origin"), ("x", "same-origin"), (&*csrf, "cross-site")] {
        alice.browser.fetch_site = Some(site);
        let fields = [("csrf", csrf), ("change", "pause"), ("for", "open")];
        alice.browser.post(PAGE, &fields).await.page(403, "could not be checked");
    }
    alice.page().await.page(200, "Notifications are on.");
}

#[tokio::test]
async fn other_accounts_have_preferences_of_their_own() {
    let mut alice = Alice::new().await;
    alice.change(&[("change", "keyword"), ("word", "cake")]).await.page(200, "cake");
    alice.service.add_account("bob").await;
    let mut bob = alice.service.browser();
    let page = bob.get("/oauth/sign_in").await;
    bob.sign_in(&page, "bob").await;
    bob.get(PAGE).await.page(200, "You have no keywords.");
}
