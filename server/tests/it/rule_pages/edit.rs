//! The editor of a rule as JSON.

use serde_json::json;

use super::{
    Alice, EDIT, RULES, edit_path, editor, hostile_names, location, notify, rule_path, unescape,
    with_query,
};
use crate::oauth::assert_security_headers;
use crate::support::browser::visible_text;

/// The text of the rule as the editor shows it.
const SILENT: &str = "{\n  \"actions\": []\n}";
const NOTIFY: &str = "{\n  \"actions\": [\n    \"notify\"\n  ]\n}";

#[tokio::test]
async fn an_edited_rule_is_saved_at_its_position() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c"]).await;
    alice.client.put_ok("global/room/b/enabled", &json!(false)).await;
    let page = alice.browser.get(&edit_path("global", "room", "b")).await;
    page.page(200, "<h1>Edit a rule</h1>");
    assert_security_headers(&page, "'self'");
    let form = editor(&page);
    assert_eq!(form.value("json"), Some(SILENT));
    // As a browser sends the lines of a text area.
    let text = "{\r\n \"actions\": [\"notify\"],\r\n \"org.x\": 1\r\n}";
    let saved = form.set("json", text).submit(&mut alice.browser).await;
    assert_eq!(location(&saved), format!("{RULES}?scope=global&kind=room&notice=saved"));
    alice.browser.follow(&saved).await.page(200, "Saved.");
    let stored = alice.client.get_rules("global/room/b").await;
    let expected = json!({
        "rule_id": "b", "default": false, "enabled": false, "actions": ["notify"], "org.x": 1,
    });
    assert_eq!(stored, expected);
    assert_eq!(alice.rooms().await, "a b c");
}

#[tokio::test]
async fn an_error_is_shown_beside_the_field_with_the_text() {
    let mut alice = Alice::new().await;
    let rule = json!({ "actions": [], "conditions": [] });
    alice.client.put_ok("global/override/a", &rule).await;
    let form = editor(&alice.browser.get(&edit_path("global", "override", "a")).await);
    for (text, reason) in [
        ("{\"actions\": [\"notify\"", "the body is not JSON: EOF while parsing"),
        ("[]", "the body must be a JSON object"),
        ("{}", "actions is missing"),
        ("{\"actions\":[\"ring\"]}", "actions[0] must be notify, dont_notify"),
        ("{\"actions\":[],\"actions\":[]}", "duplicate key in object"),
        (
            "{\"actions\":[],\"conditions\":[{\"kind\":\"event_match\",\"key\":\"</textarea><b>\"}]}",
            "conditions[0].pattern is missing",
        ),
        ("{\"actions\":[],\"until\":1}", "until must be in the future"),
        ("", "the body is not JSON"),
    ] {
        let page = form.clone().set("json", text).submit(&mut alice.browser).await;
        page.page(422, "The rule was not saved: <bdi lang=\"en\">");
        assert!(unescape(&page.text).contains(reason), "{reason}: {}", page.text);
        assert!(page.text.contains("aria-describedby=\"json-hint json-error\" aria-invalid"));
        assert!(page.text.contains("<p class=\"field-error\" id=\"json-error\">"));
        assert_eq!(editor(&page).value("json"), Some(text));
        assert_eq!(editor(&page).value("shown"), form.value("shown"));
    }
    assert_eq!(alice.client.get_rules("global/override/a").await["conditions"], json!([]));
}

/// The reason is that of the API, which is English, and is marked as such for screen readers.
#[tokio::test]
async fn an_error_of_the_json_begins_with_a_sentence_in_the_language_of_the_page() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let path = edit_path("global", "room", "a");
    for (lang, sentence) in [
        ("de", "Die Regel wurde nicht gespeichert: "),
        ("fr", "La règle n’a pas été enregistrée : "),
        ("ar", "لم تُحفظ القاعدة: "),
    ] {
        let page = alice.browser.get(&format!("{path}&lang={lang}")).await;
        let page = editor(&page).set("json", "{}").submit(&mut alice.browser).await;
        page.page(422, &format!("{sentence}<bdi lang=\"en\">actions is missing"));
    }
}

#[tokio::test]
async fn limits_are_explained_in_the_language_of_the_page() {
    let mut alice = Alice::with(|config| {
        config.rules.max_rules = 1;
        config.rules.max_bytes = 2000;
        config.rules.max_body_bytes = 3000;
    })
    .await;
    alice.client.put_ok("global/override/a", &notify()).await;
    let form = editor(&alice.browser.get(&edit_path("global", "override", "a")).await);
    let long = |bytes: usize| format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(bytes));
    let condition = ["{\"kind\":\"a\"}"; 65].join(",");
    let conditions = format!("{{\"actions\":[],\"conditions\":[{condition}]}}");
    for (text, reason) in [
        (long(2500), "Your rules take too much space (maximum in bytes: 2000)."),
        (long(3000), "This text is too long (maximum in bytes: 3000)."),
        (conditions, "This rule has too many conditions (maximum: 64)."),
    ] {
        let page = form.clone().set("json", &text).submit(&mut alice.browser).await;
        page.page(422, reason);
        assert_eq!(editor(&page).value("json"), Some(&*text));
    }
    let new = editor(&alice.browser.get(&with_query(EDIT, &[("kind", "room")])).await);
    let page = new.set("rule_id", "!a:x").submit(&mut alice.browser).await;
    page.page(422, "You have as many rules as this server allows: 1. Delete some first.");
    assert_eq!(editor(&page).value("rule_id"), Some("!a:x"));
}

#[tokio::test]
async fn a_rule_that_was_changed_in_another_tab_is_not_overwritten() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let path = edit_path("global", "room", "a");
    let (first, second) = (alice.browser.get(&path).await, alice.browser.get(&path).await);
    editor(&first).set("json", NOTIFY).submit(&mut alice.browser).await;

    let mine = "{\"actions\":[\"coalesce\"]}";
    let page = editor(&second).set("json", mine).submit(&mut alice.browser).await;
    page.page(409, "This rule was changed in the meantime, so nothing was saved yet.");
    // Both versions are shown.
    let both = unescape(&page.text);
    assert!(both.contains(&format!("dir=\"ltr\">{NOTIFY}</pre>")), "{both}");
    assert_eq!(editor(&page).value("json"), Some(mine));
    assert_eq!(alice.client.get_rules("global/room/a/actions").await, notify());
    // The user decides to replace the other version.
    let saved = editor(&page).submit(&mut alice.browser).await;
    assert_eq!(saved.status, 303, "{saved:?}");
    let stored = alice.client.get_rules("global/room/a/actions").await;
    assert_eq!(stored, json!({ "actions": ["coalesce"] }));
}

#[tokio::test]
async fn turning_a_rule_off_in_another_tab_is_not_a_conflict() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let form = editor(&alice.browser.get(&edit_path("global", "room", "b")).await);
    alice.client.put_ok("global/room/b/enabled", &json!(false)).await;
    let saved = form.set("json", NOTIFY).submit(&mut alice.browser).await;
    assert_eq!(saved.status, 303, "{saved:?}");
    assert_eq!(alice.client.get_rules("global/room/b").await["enabled"], false);
}

#[tokio::test]
async fn an_edit_that_is_submitted_twice_is_saved_once() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let form = editor(&alice.browser.get(&edit_path("global", "room", "a")).await);
    let new = editor(&alice.browser.get(&with_query(EDIT, &[("kind", "room")])).await);
    let new = new.set("rule_id", "b");
    for form in [form.set("json", NOTIFY), new] {
        for _ in 0..2 {
            let response = form.submit(&mut alice.browser).await;
            assert_eq!(response.status, 303, "{response:?}");
        }
    }
    assert_eq!(alice.rooms().await, "b a");
    assert_eq!(alice.client.get_rules("global/room/a/actions").await, notify());
}

#[tokio::test]
async fn a_rule_that_was_deleted_in_another_tab_can_be_created_again() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let path = edit_path("global", "room", "a");
    let form = editor(&alice.browser.get(&path).await);
    alice.client.delete("global/room/a").await;
    let page = form.set("json", NOTIFY).submit(&mut alice.browser).await;
    page.page(409, "This rule was deleted in the meantime, so nothing was saved yet.");
    assert_eq!(alice.rooms().await, "");
    let saved = editor(&page).submit(&mut alice.browser).await;
    assert_eq!(saved.status, 303, "{saved:?}");
    assert_eq!(alice.client.get_rules("global/room/a/actions").await, notify());
    // A link to a rule that does not exist leads to the list.
    alice.client.delete("global/room/a").await;
    alice.browser.get(&path).await.page(404, "This rule does not exist any more");
}

#[tokio::test]
async fn a_rule_is_created_for_all_devices_or_a_profile() {
    let mut alice = Alice::new().await;
    for (kind, profile, id, path) in [
        ("override", "", "mine", "global/override/mine"),
        ("content", "", "word", "global/content/word"),
        ("room", "phone", "!r:x", "device/phone/room/%21r%3Ax"),
        ("sender", "", " @bob:x ", "global/sender/%40bob%3Ax"),
        ("underride", "a b", "rest", "device/a%20b/underride/rest"),
    ] {
        let page = alice.browser.get(&with_query(EDIT, &[("kind", kind)])).await;
        page.page(200, "<h1>New rule</h1>");
        let form = editor(&page).set("rule_id", id).set("profile", profile);
        let saved = form.submit(&mut alice.browser).await;
        alice.browser.follow(&saved).await.page(200, "Saved.");
        alice.client.get_rules(path).await;
    }
    // The link of a group chooses its profile.
    let page = with_query(EDIT, &[("scope", "device/phone"), ("kind", "room")]);
    assert_eq!(editor(&alice.browser.get(&page).await).value("profile"), Some("phone"));
}

#[tokio::test]
async fn an_invalid_or_used_name_is_reported_at_its_field() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["!used:x"]).await;
    let form = editor(&alice.browser.get(&with_query(EDIT, &[("kind", "room")])).await);
    let long = "x".repeat(256);
    for (id, profile, status, problem) in [
        ("", "", 422, "Please enter a name."),
        (".m.rule.x", "", 422, "Names that begin with a dot belong to built-in rules."),
        ("a/b", "", 422, "A name cannot contain \u{2068}/\u{2069}"),
        (&*long, "", 422, "This name is too long (maximum in bytes: 255)."),
        ("a", "x\\y", 422, "A name cannot contain \u{2068}\\\u{2069}"),
        ("!used:x", "", 409, "You already have a rule with this name: \u{2068}!used:x\u{2069}"),
    ] {
        let text = "{\"actions\":[\"notify\"]}";
        let form = form.clone().set("rule_id", id).set("profile", profile).set("json", text);
        let page = form.submit(&mut alice.browser).await;
        page.page(status, problem);
        let field = if profile.is_empty() { "rule-id-error" } else { "profile-error" };
        assert!(page.text.contains(&format!("class=\"field-error\" id=\"{field}\"")), "{id}");
        assert_eq!(editor(&page).value("rule_id"), Some(id));
        assert_eq!(editor(&page).value("profile"), Some(profile));
        assert_eq!(editor(&page).value("json"), Some(text));
    }
    assert_eq!(alice.rooms().await, "!used:x");
}

#[tokio::test]
async fn the_actions_of_a_builtin_rule_are_edited() {
    let mut alice = Alice::new().await;
    let page = alice.browser.get(&edit_path("global", "underride", ".m.rule.message")).await;
    page.page(200, "This rule is built in. Only its actions can be changed.");
    let form = editor(&page);
    assert_eq!(form.value("json"), Some(NOTIFY));
    let with_conditions = "{\"actions\":[],\"conditions\":[]}";
    let rejected = form.clone().set("json", with_conditions).submit(&mut alice.browser).await;
    rejected.page(422, "only the actions of a built-in rule can be changed, not conditions");
    form.set("json", SILENT).submit(&mut alice.browser).await;
    let stored = alice.client.get_rules("global/underride/.m.rule.message/actions").await;
    assert_eq!(stored, json!({ "actions": [] }));
}

#[tokio::test]
async fn rules_with_hostile_names_are_edited() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        let rule = rule_path("global", "content", &name);
        alice.client.put_ok(&rule, &json!({ "actions": [], "pattern": name, "x": name })).await;
        let before = alice.client.get_rules(&rule).await;
        // The editor is opened by the link on the list.
        let page = alice.browser.get(RULES).await;
        let (_, row) = page.text.split_once(&format!("value=\"{rule}\"")).unwrap();
        let (_, link) = row.split_once("class=\"button secondary\" href=\"").unwrap();
        let page = alice.browser.get(&unescape(link.split_once('"').unwrap().0)).await;
        for raw in ["<script>", "\u{202e}", "onfocus=\"alert", "\r"] {
            assert!(!page.text.contains(raw), "{raw:?}: {}", page.text);
        }
        let form = editor(&page);
        assert_eq!(form.submit(&mut alice.browser).await.status, 303, "{name:?}");
        assert_eq!(alice.client.get_rules(&rule).await, before, "nothing has changed");
        let text =
            form.value("json").unwrap().replace("\"actions\": []", "\"actions\": [\"notify\"]");
        let saved = form.set("json", &text).submit(&mut alice.browser).await;
        assert_eq!(saved.status, 303, "{saved:?}");
        let after = alice.client.get_rules(&rule).await;
        assert_eq!((&after["actions"], &after["pattern"]), (&json!(["notify"]), &json!(name)));
        alice.client.delete(&rule).await;
    }
}

#[tokio::test]
async fn the_text_is_not_lost_when_the_session_has_ended() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let form = editor(&alice.browser.get(&edit_path("global", "room", "a")).await);
    alice.expire_sessions();
    let text = "{\"actions\":[\"notify\"],\"org.x\":\"</textarea>\"}";
    let page = form.set("json", text).submit(&mut alice.browser).await;
    page.page(401, "You were signed out, so nothing was saved.");
    assert!(page.text.contains("href=\"/oauth/sign_in?return_to=rules\" target=\"_blank\""));
    assert_eq!(editor(&page).value("json"), Some(text));
    assert!(!visible_text(&page).contains("The rule as it is now"));

    // The user signs in in another tab of the browser, which has a new cookie then.
    let mut browser = alice.service.browser().signed_in("alice").await;
    let page = editor(&page).submit(&mut browser).await;
    page.page(403, "You have signed in since this page was opened, so nothing was saved yet.");
    assert_eq!(editor(&page).value("json"), Some(text));
    let client = alice.service.user("alice").await;
    assert_eq!(client.get_rules("global/room/a/actions").await, json!({ "actions": [] }));
    let saved = editor(&page).submit(&mut browser).await;
    assert_eq!(saved.status, 303, "{saved:?}");
    assert_eq!(client.get_rules("global/room/a/actions").await, notify());
}

#[tokio::test]
async fn a_form_of_another_site_is_not_shown_again() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let form = editor(&alice.browser.get(&edit_path("global", "room", "a")).await);
    alice.browser.fetch_site = Some("cross-site");
    let page = form.set("json", "{\"x\":1}").submit(&mut alice.browser).await;
    page.page(403, "This form could not be checked");
    assert!(!page.text.contains("{&#34;x&#34;"));
}

#[tokio::test]
async fn other_addresses_are_not_found() {
    let mut alice = Alice::new().await;
    for query in [[("scope", "x"), ("kind", "room")], [("scope", "global"), ("kind", "x")]] {
        alice.browser.get(&with_query(EDIT, &query)).await.page(404, "Page not found");
    }
}
