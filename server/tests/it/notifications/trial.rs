//! The form that tries the rules with a message.

use serde_json::json;

use super::{Alice, PAGE_PATH};
use crate::support::TestResponse;
use crate::support::browser::visible_text;

const HEADING: &str = "|Try a message|";

/// Returns the fields of the form for a message in a group.
fn message<'a>(text: &'a str, sender: &'a str) -> [(&'a str, &'a str); 4] {
    [("change", "try"), ("text", text), ("sender", sender), ("chat", "group")]
}

/// Asserts that the page shows the outcome, and the form as it was filled in.
#[track_caller]
fn assert_outcome(page: &TestResponse, status: u16, outcome: &str, text: &str, sender: &str) {
    assert_eq!(page.status, status, "{page:?}");
    let visible = visible_text(page).replace(['\u{2068}', '\u{2069}'], "");
    assert!(visible.split_once(HEADING).unwrap().1.contains(outcome), "{outcome}: {visible}");
    let entered = [
        format!(">\n{text}</textarea>"),
        format!("name=\"sender\" value=\"{sender}\""),
        "<details class=\"part\" id=\"try\" open>".to_owned(),
    ];
    for html in entered {
        assert!(page.text.contains(&html), "{html}: {}", page.text);
    }
}

#[tokio::test]
async fn the_result_is_a_sentence_with_the_reason() {
    let mut alice = Alice::new().await;
    let sound = json!({"set_tweak": "sound"});
    for (path, body) in [
        ("global/content/tea", json!({"pattern": "tea", "actions": ["notify", sound]})),
        ("global/content/spam", json!({"pattern": "spam", "actions": []})),
        ("global/sender/@bob:ring.example", json!({"actions": []})),
        ("global/sender/@boss:x", json!({"actions": ["notify", sound]})),
        ("device/phone/override/work", json!({"actions": [], "conditions": []})),
    ] {
        alice.put_rule(path, &body).await;
    }
    let groups = "because “Notify me of messages in all other rooms” is on.";
    for (text, sender, outcome) in [
        ("Hello", "", &*format!("You would be notified, {groups}")),
        ("Hello", "@x:x", &*format!("You would be notified, {groups}")),
        ("Tea?", "", "You would be notified with a sound, because of your keyword tea."),
        ("More spam", "", "You would not be notified, because you muted the word spam."),
        ("spam and tea", "", "You would not be notified, because you muted the word spam."),
        ("Hi", "bob", "You would not be notified, because you muted @bob:ring.example."),
        (
            "Hi",
            "https://matrix.to/#/@boss:x",
            "You would be notified with a sound, because of your rule for @boss:x.",
        ),
        (
            "alice!",
            "bob",
            "with a sound, because “Notify me when a message contains my username” is on.",
        ),
        ("Hi", "alice", "You would not be notified, because it is your own message."),
    ] {
        let page = alice.post(&message(text, sender)).await;
        assert_outcome(&page, 200, outcome, text, sender);
    }
    let direct = [("change", "try"), ("text", "Hi"), ("chat", "direct")];
    let page = alice.post(&direct).await;
    assert_outcome(&page, 200, "messages in rooms with one other person” is on.", "Hi", "");
    assert!(page.text.contains("value=\"direct\" selected"), "{page:?}");
    // The page of a device profile tries the rules of a device with this profile.
    let path = format!("{PAGE_PATH}?profile=phone");
    let page = alice.post_to(&path, &message("Hello", "")).await;
    assert_outcome(&page, 200, "not be notified, because of your rule work.", "Hello", "");

    alice.submit(&[("change", "switch"), ("switch", "group-off")]).await;
    let off = "because you switched off “Notify me of messages in all other rooms”.";
    assert_outcome(&alice.post(&message("Hello", "")).await, 200, off, "Hello", "");
    // It is 08:00 UTC.
    let noon = json!({"kind": "time_and_day", "timezone": "Asia/Tokyo",
        "intervals": [{"time_of_day": ["17:00", "17:30"]}]});
    alice.put_rule("global/override/q", &json!({"actions": [], "conditions": [noon]})).await;
    let quiet = "not be notified, because these are quiet hours.";
    assert_outcome(&alice.post(&message("Hello", "")).await, 200, quiet, "Hello", "");
    alice.submit(&[("change", "pause"), ("for", "open")]).await;
    let paused = "not be notified, because everything is paused.";
    assert_outcome(&alice.post(&message("Hello", "")).await, 200, paused, "Hello", "");
}

#[tokio::test]
async fn an_invalid_field_is_shown_again_with_the_reason() {
    let mut alice = Alice::new().await;
    let not_an_id = "|This is not an id. The id of a person looks like @name:server";
    let hostile_text = "</textarea><script>alert(1)</script>\" onfocus=\"alert(1)";
    let long_sender = format!("@{}:x", "b".repeat(255));
    for (text, sender, reason) in [
        ("", "", "|Please enter a message.|"),
        (" \n ", "", "|Please enter a message.|"),
        ("Hi", "Bob Smith", not_an_id),
        ("Hi", "!room:x", not_an_id),
        ("Hi", "https://chat.example/bob", not_an_id),
        ("Hi", "@bob", "|The server is missing."),
        ("Hi", &*long_sender, "|This is too long for an id."),
    ] {
        let page = alice.post(&message(text, sender)).await;
        assert_outcome(&page, 422, reason, text, sender);
        assert_eq!(page.text.matches("-error\">").count(), 1, "{page:?}");
    }
    for sender in ["", hostile_text] {
        let page = alice.post(&message(hostile_text, sender)).await;
        assert_eq!(page.status, if sender.is_empty() { 200 } else { 422 });
        assert!(!page.text.contains("<script>alert") && !page.text.contains(" onfocus=\""));
    }
}

/// A concurrent trial by the same user gets 429; a full evaluation queue gets 503.
#[tokio::test]
async fn a_trial_that_would_have_to_wait_is_rejected() {
    let mut alice = Alice::new().await;
    let account_id = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let service = alice.service.clone();
    let pool = &service.state.evaluator.pool;
    let slot = pool.enter_for_account(account_id).unwrap();
    let busy = "This server is busy";
    alice.post(&message("Hi", "")).await.assert_page(429, busy);
    drop(slot);
    let slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
    alice.post(&message("Hi", "")).await.assert_page(503, busy);
    drop(slots);
    assert_eq!(alice.post(&message("Hi", "")).await.status, 200);
}
