//! Rejected forms: invalid fields, two tabs, stale pages, double submits and limits. Nothing that
//! was entered or stored is lost, and the page reports the problem.

use serde_json::{Value, json};

use super::{Alice, csrf_token, seen_field};
use crate::support::TestResponse;
use crate::support::browser::visible_text;
use crate::support::service::{config_with, unlimited_config};

/// Asserts that a field is marked as invalid, with `text` next to it, and has `value`.
#[track_caller]
fn assert_invalid_field(page: &TestResponse, status: u16, field: &str, value: &str, text: &str) {
    page.assert_page(status, &format!("<p class=\"field-error\" id=\"{field}-error\">{text}"));
    let input = page.text.split(&format!("<input id=\"{field}\"")).nth(1).unwrap();
    let input = input.split('>').next().unwrap();
    for attribute in [
        &*format!(" value=\"{value}\""),
        " aria-invalid=\"true\"",
        &*format!(" aria-describedby=\"{field}-hint {field}-error\""),
        " autofocus",
    ] {
        assert!(input.contains(attribute), "{attribute}: {input}");
    }
    assert!(!page.text.contains("Saved."));
}

#[tokio::test]
async fn an_invalid_field_keeps_the_entered_value() {
    let mut alice = Alice::new().await;
    for (id, expected_value, text) in [
        ("", "", "Please enter the id of a person or a room."),
        ("#tea:x", "#tea:x", "This is the address of a room, not its id."),
        ("@bob", "@bob", "The server is missing."),
        ("bob", "bob", "This is not an id."),
        ("!tea", "!tea", "This is not an id."),
        ("\"><b>", "&#34;&#62;&#60;b&#62;", "This is not an id."),
        (
            &*format!("@{}:x", "b".repeat(300)),
            &*format!("@{}:x", "b".repeat(300)),
            "This is too long",
        ),
    ] {
        let fields = [("change", "subject"), ("id", id), ("choice", "mute-day")];
        let page = alice.post(&fields).await;
        assert_invalid_field(&page, 422, "id", expected_value, text);
        page.assert_page(422, "<option value=\"mute-day\" selected>");
    }
    let long_word = "x".repeat(241);
    for (word, text) in [(" ", "Please enter a word."), (&*long_word, "This word is too long.")] {
        let page = alice.post(&[("change", "mute-word"), ("word", word)]).await;
        assert_invalid_field(&page, 422, "muted-word", word, text);
        // The other form is blank.
        page.assert_page(422, "<input id=\"word\" name=\"word\" value=\"\"");
        let page = alice.post(&[("change", "keyword"), ("word", word), ("highlight", "on")]).await;
        assert_invalid_field(&page, 422, "word", word, text);
        page.assert_page(422, "id=\"highlight\" name=\"highlight\" checked>");
        page.assert_page(422, "id=\"sound\" name=\"sound\">");
    }
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("You have no keywords.") && text.contains("You have no muted words."));
}

#[tokio::test]
async fn an_unknown_change_is_rejected() {
    let mut alice = Alice::new().await;
    for fields in [&[][..], &[("change", "x")], &[("change", "switch"), ("switch", "x-on")]] {
        alice.post(fields).await.assert_page(400, "This server could not read what was sent.");
    }
}

/// Two tabs show the same keyword; the second does not overwrite the change that the first saved.
#[tokio::test]
async fn a_form_from_a_stale_page_changes_nothing() {
    let mut alice = Alice::new().await;
    alice.submit(&[("change", "keyword"), ("word", "cake"), ("sound", "on")]).await;
    alice.submit(&[("change", "subject"), ("id", "@bob:x"), ("choice", "notify")]).await;
    let stale_page = alice.get_page().await;
    let [cake_seen, bob_seen] = ["cake", "%40bob%3Ax"].map(|rule| seen_field(&stale_page, rule));
    alice
        .submit(&[
            ("change", "keyword"),
            ("rule", "cake"),
            ("seen", &cake_seen),
            ("highlight", "on"),
        ])
        .await;
    alice
        .submit(&[
            ("change", "subject"),
            ("rule", "%40bob%3Ax"),
            ("seen", &bob_seen),
            ("choice", "mute"),
        ])
        .await;
    let before = alice.get_rules("").await;

    let page = alice.post(&[("change", "keyword"), ("rule", "cake"), ("seen", &cake_seen)]).await;
    page.assert_page(409, "role=\"alert\" tabindex=\"-1\" autofocus>");
    let text = visible_text(&page);
    assert!(text.contains("Keywords|1|cake was changed in the meantime"), "{text}");
    assert!(text.contains("|cake|Highlight|"), "the page shows the current state: {text}");
    let fields = [
        ("change", "subject"),
        ("rule", "%40bob%3Ax"),
        ("seen", &*bob_seen),
        ("choice", "mute-week"),
    ];
    let page = alice.post(&fields).await;
    assert!(visible_text(&page).contains("People and rooms|1|@bob:x was changed in the meantime"));
    assert_eq!(alice.get_rules("").await, before);

    // An app has removed the keyword since the page was loaded.
    alice.app.delete_rule("global/content/cake").await;
    let page = alice.post(&[("change", "keyword"), ("rule", "cake"), ("seen", &cake_seen)]).await;
    page.assert_page(409, "was removed in the meantime");
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
}

#[tokio::test]
async fn a_form_may_be_submitted_twice() {
    let mut alice = Alice::new().await;
    alice.put_rule("global/underride/rest", &json!({"actions": [], "conditions": []})).await;
    let csrf_token = csrf_token(&alice.get_page().await);
    for fields in [
        &[("change", "keyword"), ("word", "cake"), ("sound", "on")][..],
        &[("change", "keyword"), ("rule", "cake"), ("seen", "sound"), ("highlight", "on")],
        &[("change", "subject"), ("id", "@bob:x"), ("choice", "notify")],
        &[
            ("change", "subject"),
            ("rule", "%40bob%3Ax"),
            ("seen", "sound"),
            ("choice", "mute-hour"),
        ],
        &[("change", "pause"), ("for", "hour")],
        &[("change", "resume")],
        &[("change", "switch"), ("switch", "call-off")],
        &[("change", "mute-word"), ("word", "cake")],
        &[("change", "remove-muted-word"), ("rule", "cake")],
        &[("change", "keyword"), ("word", "cake"), ("sound", "on")],
        &[("change", "remove-keyword"), ("rule", "cake")],
        &[("change", "remove-subject"), ("rule", "%40bob%3Ax")],
        &[("change", "disable-rule"), ("rule", "underride%2Frest")],
        &[("change", "enable-rule"), ("rule", "underride%2Frest")],
        &[("change", "remove-rule"), ("rule", "underride%2Frest")],
    ] {
        let fields: Vec<(&str, &str)> =
            [("csrf", &*csrf_token)].into_iter().chain(fields.iter().copied()).collect();
        let first_response = alice.browser.post(super::PAGE_PATH, &fields).await;
        assert_eq!(first_response.status, 303, "{fields:?}: {first_response:?}");
        let rules = alice.get_rules("").await;
        // The second click comes a second later.
        alice.service.clock.advance(1);
        let second_response = alice.browser.post(super::PAGE_PATH, &fields).await;
        // By then, the word is already muted.
        let expected = first_response.header("location").replace("keyword-muted", "saved");
        assert_eq!(second_response.header("location"), expected, "{fields:?}");
        // The end of a timed setting is rounded up to a minute, so it may be a minute later.
        assert_eq!(without_expiry(alice.get_rules("").await), without_expiry(rules), "{fields:?}");
    }
}

/// Returns the rulesets without the expiry times of timed rules.
fn without_expiry(mut rulesets: Value) -> Value {
    let kinds = rulesets["global"].as_object_mut().unwrap().values_mut();
    for rule in kinds.flat_map(|rules| rules.as_array_mut().unwrap()) {
        rule.as_object_mut().unwrap().remove("until");
    }
    rulesets
}

/// Each word is submitted twice, as by a double click.
#[tokio::test]
async fn simultaneous_submits_are_all_saved() {
    let mut alice = Alice::new().await;
    let csrf_token = csrf_token(&alice.get_page().await);
    let cookies = alice.browser.cookies.clone();
    let mut tabs = Vec::new();
    for number in 0..8 {
        let mut browser = alice.service.browser();
        browser.cookies.clone_from(&cookies);
        let csrf_token = csrf_token.clone();
        tabs.push(tokio::spawn(async move {
            let word = format!("word {}", number / 2);
            let fields = [("csrf", &*csrf_token), ("change", "keyword"), ("word", &*word)];
            browser.post(super::PAGE_PATH, &fields).await.status
        }));
    }
    for tab in tabs {
        assert_eq!(tab.await.unwrap(), 303);
    }
    let mut ids = alice.app.user_rule_ids("global/content/").await;
    ids.sort_unstable();
    assert_eq!(ids, ["word 0", "word 1", "word 2", "word 3"]);
}

#[tokio::test]
async fn the_api_limits_apply_and_are_explained_next_to_the_field() {
    let config = config_with(|config| {
        *config = unlimited_config();
        config.rules.max_rules = 2;
    });
    let mut alice = Alice::with_config(config).await;
    for word in ["one", "two"] {
        alice.submit(&[("change", "keyword"), ("word", word)]).await;
    }
    let page = alice.post(&[("change", "keyword"), ("word", "three"), ("sound", "on")]).await;
    let text = "You have as many rules as this server allows (2).";
    assert_invalid_field(&page, 422, "word", "three", text);
    let page = alice.post(&[("change", "subject"), ("id", "@bob:x"), ("choice", "mute")]).await;
    assert_invalid_field(&page, 422, "id", "@bob:x", text);
    assert_eq!(alice.app.user_rule_ids("global/content/").await, ["two", "one"]);
    // Changes that add no rule are possible.
    alice
        .submit(&[("change", "keyword"), ("word", "ONE"), ("sound", "on")])
        .await
        .assert_page(200, "Saved.");

    let mut alice = Alice::with_config(config_with(|config| {
        *config = unlimited_config();
        config.rules.max_bytes = 400;
    }))
    .await;
    let word = "w".repeat(200);
    alice.put_rule("global/content/a", &json!({"pattern": "a", "actions": []})).await;
    let page = alice.post(&[("change", "keyword"), ("word", &word)]).await;
    assert_invalid_field(&page, 422, "word", &word, "Your rules take up all the space");

    // A switch has no field, so the reason is above all switches.
    let mut alice = Alice::with_config(config_with(|config| {
        *config = unlimited_config();
        config.rules.max_bytes = 1;
    }))
    .await;
    let page = alice.post(&[("change", "switch"), ("switch", "reactions-on")]).await;
    page.assert_page(
        422,
        "role=\"alert\" tabindex=\"-1\" autofocus>Your rules take up all the space",
    );
}
