//! The form that mutes or highlights a word, a person or a room.

use belfry_core::percent::encode;
use serde_json::{Value, json};

use super::trial::trial_form;
use super::{
    Alice, PageForm, RULES_PATH, TRY_PATH, location, parse_forms, rule_form, visible_text,
};
use crate::notifications;
use crate::support::TestResponse;

/// Returns the form for a new rule.
#[track_caller]
fn new_rule_form(page: &TestResponse) -> PageForm {
    parse_forms(page).into_iter().find(|form| form.buttons == ["add"]).unwrap()
}

/// Returns the form with these values.
fn fill_form(form: &PageForm, effect: &str, subject: &str, value: &str) -> PageForm {
    let form = form
        .clone()
        .with_field("change", "add")
        .with_field("effect", effect)
        .with_field("subject", subject);
    form.with_field("value", value)
}

#[tokio::test]
async fn the_sentences_about_muting_agree_with_trials() {
    let mut alice = Alice::new().await;
    for page in [RULES_PATH, notifications::PAGE_PATH] {
        let text = visible_text(&alice.browser.get(page).await);
        for sentence in [
            "A message with a muted word stays silent, unless it mentions you or @room, or contains \
             your display name.",
            "A muted person or room stays silent, unless a message mentions you or @room, or \
             contains your display name, your username or one of your keywords.",
        ] {
            assert!(text.contains(sentence), "{page}: {text}");
        }
    }
    let form = new_rule_form(&alice.browser.get(RULES_PATH).await);
    for (effect, subject, value) in [
        ("highlight", "word", "tea"),
        ("mute", "word", "spam"),
        ("mute", "person", "@bob:x"),
        ("mute", "room", "!quiet:x"),
    ] {
        location(&fill_form(&form, effect, subject, value).submit(&mut alice.browser).await);
    }
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("name", "Lady Alice");
    let form = form.with_field("may_notify_room", "on");
    for (text, sender, room, notifies) in [
        ("spam", "@x:x", "!r:x", false),
        ("spam for Lady Alice", "@x:x", "!r:x", true),
        ("spam for @room", "@x:x", "!r:x", true),
        ("spam for alice", "@x:x", "!r:x", false),
        ("spam and tea", "@x:x", "!r:x", false),
        ("Hello", "@bob:x", "!r:x", false),
        ("Hello Lady Alice", "@bob:x", "!r:x", true),
        ("Hello @room", "@bob:x", "!r:x", true),
        ("Hello alice", "@bob:x", "!r:x", true),
        ("Hello, tea?", "@bob:x", "!r:x", true),
        ("Hello", "@x:x", "!quiet:x", false),
        ("Hello Lady Alice", "@x:x", "!quiet:x", true),
        ("Hello @room", "@x:x", "!quiet:x", true),
        ("Hello alice", "@x:x", "!quiet:x", true),
        ("Hello, tea?", "@x:x", "!quiet:x", true),
    ] {
        let form = form
            .clone()
            .with_field("text", text)
            .with_field("sender", sender)
            .with_field("room", room);
        let text = visible_text(&form.submit(&mut alice.browser).await);
        let outcome = if notifies { "|Result|Notified|" } else { "|Result|Silent|" };
        assert!(text.contains(outcome), "{sender} {room}: {text}");
    }
}

async fn all_rules(alice: &Alice) -> Value {
    alice.client.get_rules("").await
}

#[tokio::test]
async fn a_word_a_person_or_a_room_is_muted_or_highlighted() {
    let mut alice = Alice::new().await;
    let loud_actions = json!(["notify", { "set_tweak": "sound", "value": "default" }, { "set_tweak": "highlight" }]);
    let form = new_rule_form(&alice.browser.get(RULES_PATH).await);
    for (subject, value, rule) in [
        ("word", "cake", "global/content/cake"),
        ("person", "@bob:x", "global/sender/%40bob%3Ax"),
        ("room", "https://matrix.to/#/!a:x", "global/room/%21a%3Ax"),
    ] {
        for (effect, actions, mark) in [
            ("mute", json!([]), "Silent"),
            ("highlight", loud_actions.clone(), "Notifies|Sound|Highlight"),
        ] {
            // The second submit changes nothing.
            for is_first in [true, false] {
                let (code, notice) = match (subject, effect) {
                    ("word", "highlight") if is_first => {
                        ("word-unmuted", "Saved. This word was muted. It is now a keyword instead.")
                    }
                    _ => ("saved", "Saved."),
                };
                let form = fill_form(&form, effect, subject, value);
                let response = form.submit(&mut alice.browser).await;
                let expected = format!("{RULES_PATH}?changed={}&notice={code}", encode(rule));
                assert_eq!(location(&response), expected);
                let page = alice.browser.follow(&response).await;
                rule_form(&page, rule);
                // The notice is next to the rule.
                let text = visible_text(&page);
                assert!(text.contains(&format!("|Enabled|{notice}|{mark}|Delete|")), "{text}");
                let stored_actions = alice.client.get_rules(&format!("{rule}/actions")).await;
                assert_eq!(stored_actions, json!({ "actions": actions }), "{effect} {value}");
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_field_is_shown_again_with_the_reason() {
    let mut alice = Alice::new().await;
    let before = all_rules(&alice).await;
    let form = new_rule_form(&alice.browser.get(RULES_PATH).await);
    let id_hint = "This is the id of a person or room, not a word. Please choose “Messages from \
                   this person” or “Messages in this room” above.";
    for (subject, value, reason) in [
        ("word", " ", "Please enter a word."),
        ("word", &*"x".repeat(241), "This word is too long."),
        ("word", "@eve:example.org", id_hint),
        ("word", "https://matrix.to/#/!a:x", id_hint),
        ("person", "", "Please enter the id of a person or a room."),
        ("person", "@bob", "The server is missing."),
        ("person", "!a:x", "This is not an id."),
        ("room", "@bob:x", "This is not an id."),
        ("room", "#a:x", "This is the address of a room, not its id."),
        ("room", "\"><script>alert(1)</script>", "This is not an id."),
    ] {
        let page = fill_form(&form, "highlight", subject, value).submit(&mut alice.browser).await;
        page.assert_page(422, &format!("<p class=\"field-error\" id=\"value-error\">{reason}"));
        assert!(page.text.contains("<option value=\"highlight\" selected>"), "{}", page.text);
        assert!(page.text.contains(&format!("<option value=\"{subject}\" selected>")));
        assert_eq!(new_rule_form(&page).field("value"), Some(value));
    }
    for (effect, subject) in [("ring", "word"), ("mute", "server"), ("", "")] {
        let response = fill_form(&form, effect, subject, "a").submit(&mut alice.browser).await;
        assert_eq!(response.status, 400, "{effect} {subject}");
    }
    assert_eq!(all_rules(&alice).await, before);
}

#[tokio::test]
async fn a_rule_above_the_size_limit_is_not_stored_by_any_form() {
    let mut alice = Alice::new().await;
    let before = all_rules(&alice).await;
    let form = new_rule_form(&alice.browser.get(RULES_PATH).await);
    let large_word = "x".repeat(60_000);
    for (subject, reason) in [
        ("word", "This word is too long. Please enter a shorter one."),
        ("person", "This is too long for an id. Please check it."),
        ("room", "This is too long for an id. Please check it."),
    ] {
        let value = match subject {
            "word" => large_word.clone(),
            "person" => format!("@{large_word}:x"),
            _ => format!("!{large_word}:x"),
        };
        let page = fill_form(&form, "mute", subject, &value).submit(&mut alice.browser).await;
        page.assert_page(422, reason);
    }
    let too_large = "x".repeat(70_000);
    let page = fill_form(&form, "mute", "word", &too_large).submit(&mut alice.browser).await;
    assert_eq!(page.status, 413, "{page:?}");
    // No form restores a deleted rule from its JSON.
    let restore_form = form.with_field("rule", "global/room/a").with_field("change", "restore");
    for (length, status) in [(70_000, 413), (60_000, 400)] {
        let rule = json!({ "actions": [], "org.x": "x".repeat(length) }).to_string();
        let response =
            restore_form.clone().with_field("json", &rule).submit(&mut alice.browser).await;
        assert_eq!(response.status, status, "{response:?}");
    }
    assert_eq!(all_rules(&alice).await, before);
}

#[tokio::test]
async fn the_form_has_the_same_limits_as_the_api() {
    let mut alice = Alice::with_config(|config| {
        config.rules.max_rules = 1;
        config.rules.max_body_bytes = 200;
    })
    .await;
    let form = new_rule_form(&alice.browser.get(RULES_PATH).await);
    let long_word = "x".repeat(190);
    let page = fill_form(&form, "mute", "word", &long_word).submit(&mut alice.browser).await;
    page.assert_page(422, "Your rules take up all the space that this server allows.");
    fill_form(&form, "mute", "word", "a").submit(&mut alice.browser).await;
    let page = fill_form(&form, "mute", "word", "b").submit(&mut alice.browser).await;
    page.assert_page(422, "You have as many rules as this server allows (1).");
    assert_eq!(new_rule_form(&page).field("value"), Some("b"));
    // An existing rule can still be changed.
    let response = fill_form(&form, "highlight", "word", "a").submit(&mut alice.browser).await;
    alice.browser.follow(&response).await.assert_page(200, "Saved.");
}

#[tokio::test]
async fn a_form_from_an_earlier_session_is_not_saved() {
    let mut alice = Alice::new().await;
    let form =
        fill_form(&new_rule_form(&alice.browser.get(RULES_PATH).await), "mute", "word", "cake");
    alice.expire_sessions();
    let response = form.submit(&mut alice.browser).await;
    assert_eq!(location(&response), "/oauth/sign_in?return_to=rules&notice=not-saved");
    // The user signs in again in another tab, which changes the cookie.
    let mut browser = alice.service.browser().sign_in_as("alice").await;
    let page = form.submit(&mut browser).await;
    page.assert_page(403, "You may have signed in or out in another tab");
    let client = alice.service.user_client("alice").await;
    assert_eq!(client.get_rules("global/content/").await.as_array().unwrap().len(), 1);
}
