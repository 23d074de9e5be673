//! Rules for device profiles on the page.

use serde_json::json;

use super::{Alice, PAGE_PATH, seen_field};
use crate::support::browser::visible_text;

#[tokio::test]
async fn profiles_are_listed_if_they_exist() {
    let mut alice = Alice::new().await;
    assert!(!alice.get_page().await.text.contains("All devices"));
    alice.put_rule("device/phone/sender/@bob:x", &json!({"actions": []})).await;
    alice.put_rule("device/a%20b%26c/sender/@eve:x", &json!({"actions": []})).await;
    let page = alice.get_page().await;
    let text = visible_text(&page);
    assert!(text.contains("Devices|All devices|a b&#38;c|phone|"), "{text}");
    page.assert_page(
        200,
        &format!("<a href=\"{PAGE_PATH}\" aria-current=\"true\">All devices</a>"),
    );
    assert!(!text.contains("@bob:x"));

    let path = format!("{PAGE_PATH}?profile=a%20b%26c");
    page.assert_page(200, &format!("<a href=\"{path}\">"));
    let page = alice.browser.get(&path).await;
    let text = visible_text(&page);
    assert!(text.contains("|@eve:x|Muted|") && !text.contains("@bob:x"), "{text}");
    assert!(text.contains("These settings apply to devices with the profile a b&#38;c."), "{text}");
    // The pause and the built-in rules apply to all devices.
    assert!(!text.contains("Pause everything") && !page.text.contains("role=\"switch\""));
}

#[tokio::test]
async fn a_change_applies_to_the_displayed_profile() {
    let mut alice = Alice::new().await;
    alice.put_rule("device/phone/sender/@bob:x", &json!({"actions": []})).await;
    let path = format!("{PAGE_PATH}?profile=phone");
    let fields = [("change", "keyword"), ("word", "cake"), ("sound", "on")];
    let response = alice.post_to(&path, &fields).await;
    let location = format!("{path}&part=keywords&notice=saved#keywords");
    assert_eq!(response.header("location"), location);
    let page = alice.browser.follow(&response).await;
    assert!(visible_text(&page).contains("|cake|Sound|"));
    assert_eq!(alice.app.user_rule_ids("device/phone/content/").await, ["cake"]);
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
    let seen = seen_field(&page, "cake");
    let fields = [("change", "keyword"), ("rule", "cake"), ("seen", &*seen)];
    assert_eq!(alice.post_to(&path, &fields).await.status, 303);
    // The page of a profile whose last rule was removed is empty.
    for (change, rule) in [("remove-keyword", "cake"), ("remove-subject", "%40bob%3Ax")] {
        let fields = [("change", change), ("rule", rule)];
        assert_eq!(alice.post_to(&path, &fields).await.status, 303);
    }
    let text = visible_text(&alice.browser.get(&path).await);
    assert!(text.contains("Devices|All devices|phone|"), "{text}");
    assert!(text.contains("You have no keywords."), "{text}");
    assert_eq!(alice.get_rules("").await["device"], json!({}));
    // A pause applies to all devices, even if it is sent from the page of a profile.
    alice.post_to(&path, &[("change", "pause"), ("for", "open")]).await;
    alice.get_page().await.assert_page(200, "Everything is paused");
}

#[tokio::test]
async fn at_most_30_profiles_are_linked_and_invalid_ones_are_ignored() {
    let mut alice = Alice::new().await;
    for number in 0..40 {
        let path = format!("device/tv{number:02}/sender/@bob:x");
        alice.put_rule(&path, &json!({"actions": []})).await;
    }
    let page = alice.browser.get(&format!("{PAGE_PATH}?profile=tv39")).await;
    let text = visible_text(&page);
    assert!(text.contains("All devices|tv39|tv00|") && !text.contains("|tv30|"), "{text}");
    assert!(text.contains("More device profiles, which are not shown here: 9."), "{text}");
    for invalid_profile in ["a/b", "", &"x".repeat(256)] {
        let page = alice.browser.get(&format!("{PAGE_PATH}?profile={invalid_profile}")).await;
        page.assert_page(200, "Pause everything");
    }
}
