//! The form for trying a message: its fields, their errors, and rejected submits.

use serde_json::json;

use super::trial::{result_sentence, trial_form};
use super::{Alice, PageForm, TRY_PATH, hostile_names, location, rule_path};

#[tokio::test]
async fn an_invalid_number_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", "Hi");
    for members in ["x", "-1", "0", "1.5", "99999999999999999999"] {
        let page = form.clone().with_field("members", members).submit(&mut alice.browser).await;
        page.assert_page(422, "id=\"members-error\">Please enter a whole number of at least 1.");
        assert_eq!(trial_form(&page).field("members"), Some(members));
        assert_eq!(trial_form(&page).field("text"), Some("Hi"));
        assert!(!page.text.contains("class=\"sentence\""));
    }
}

#[tokio::test]
async fn a_message_without_text_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    for text in ["", " \r\n "] {
        let page = form.clone().with_field("text", text).submit(&mut alice.browser).await;
        page.assert_page(422, "id=\"text-error\">Please enter a message.");
        assert_eq!(page.text.matches("-error\">").count(), 1, "{page:?}");
        assert!(!page.text.contains("class=\"sentence\""), "{page:?}");
    }
    let page =
        form.with_field("text", "").with_field("sender", "bob").submit(&mut alice.browser).await;
    let focused_field =
        page.text.split_once(" autofocus").unwrap().0.rsplit_once(" id=\"").unwrap().1;
    assert!(focused_field.starts_with("text\""), "{focused_field}");
}

#[tokio::test]
async fn an_invalid_sender_or_room_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", "Hi");
    let not_an_id = "This is not an id. The id of a person looks like @name:server, the id of a \
                     room like !id:server.";
    for (field, value, error) in [
        ("sender", "bob", not_an_id),
        ("sender", "!room:x", not_an_id),
        ("sender", "https://chat.example/bob", not_an_id),
        ("sender", "@bob", "The server is missing."),
        ("sender", &*format!("@{}:x", "b".repeat(255)), "This is too long for an id."),
        ("room", "Kitchen", not_an_id),
        ("room", "@bob:x", not_an_id),
        ("room", "#kitchen:x", "This is the address of a room, not its id."),
    ] {
        let page = form.clone().with_field(field, value).submit(&mut alice.browser).await;
        page.assert_page(422, &format!("id=\"{field}-error\">{error}"));
        assert_eq!(page.text.matches("-error\">").count(), 1, "{value}");
        assert_eq!(trial_form(&page).field(field), Some(value));
        assert_eq!(trial_form(&page).field("text"), Some("Hi"));
        assert!(!page.text.contains("class=\"sentence\""), "{value}");
    }
    let invalid_form =
        form.with_field("sender", "bob").with_field("room", "Kitchen").with_field("members", "x");
    let page = invalid_form.submit(&mut alice.browser).await;
    for field in ["sender", "room", "members"] {
        page.assert_page(422, &format!("id=\"{field}-error\""));
    }
    assert_eq!(page.text.matches(" autofocus").count(), 1);
}

#[tokio::test]
async fn sender_and_room_can_be_links_or_blank() {
    let mut alice = Alice::new().await;
    for path in ["global/sender/@bob:x", "global/room/!quiet:x"] {
        alice.client.put_rule_ok(path, &json!({ "actions": [] })).await;
    }
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", "Hi");
    for (sender, room, expected) in [
        ("https://matrix.to/#/@bob:x", "", "You would not be notified, because you muted @bob:x."),
        (
            "",
            "https://matrix.to/#/!quiet%3Ax?via=x",
            "You would not be notified, because you muted this room.",
        ),
        // A user id that cannot be a rule id.
        (
            "@bob/work:x",
            "",
            "You would be notified, because of the built-in rule for all other messages.",
        ),
    ] {
        let form = form.clone().with_field("sender", sender).with_field("room", room);
        assert_eq!(result_sentence(&form.submit(&mut alice.browser).await), expected);
    }
}

#[tokio::test]
async fn hostile_text_is_escaped() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        let rule = rule_path("global", "content", &name);
        alice.client.put_rule_ok(&rule, &json!({ "actions": [], "pattern": name })).await;
    }
    let hostile_text = "</textarea><script>alert(1)</script>\" onfocus=\"alert(1)";
    let fill_hostile_text = |form: PageForm, fields: &[&str]| {
        fields.iter().fold(form, |form, field| form.with_field(field, hostile_text))
    };
    let form = fill_hostile_text(
        trial_form(&alice.browser.get(TRY_PATH).await),
        &["text", "name", "profile"],
    );
    let result_page = form.submit(&mut alice.browser).await;
    result_sentence(&result_page);
    let form = fill_hostile_text(form, &["sender", "room"]);
    let rejected_page = form.submit(&mut alice.browser).await;
    assert_eq!(rejected_page.status, 422);
    assert_eq!(trial_form(&rejected_page).field("sender"), Some(hostile_text));
    for page in [result_page, rejected_page] {
        for raw_text in ["<script>", " onfocus=\"", "\u{202e}", "\r"] {
            assert!(!page.text.contains(raw_text), "{raw_text:?}: {}", page.text);
        }
    }
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_redirects_to_the_sign_in_page() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    alice.expire_sessions();
    let response = form.submit(&mut alice.browser).await;
    let expected = "/oauth/sign_in?return_to=try&notice=not-saved";
    assert_eq!(location(&response), expected);
}

#[tokio::test]
async fn a_form_from_another_site_is_rejected() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    alice.browser.fetch_site = Some("cross-site");
    form.submit(&mut alice.browser).await.assert_page(403, "This form could not be checked");
}
