//! Browser tests of the pages about all rules.

use serde_json::json;

use super::fixture::{Fixture, with_browser};

/// Opens the pages about rules in all states and calls `show` with their names. Alice is signed in
/// and has rules of every kind.
pub(super) async fn visit(fixture: &Fixture, show: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    tab.goto(&rules(fixture)).await;
    show("rules").await;
    tab.goto(&format!("{}?scope=global&kind=override", rules(fixture))).await;
    show("rules-group").await;
    press(fixture, "global/room/%21bellringers%3Aring.example", "delete").await;
    tab.find("button[value=restore]").await;
    show("rules-deleted").await;
    tab.click("button[value=restore]").await;
    tab.find(":target").await;
    show("rules-restored").await;

    tab.goto(&editor(fixture, "global", "content", "sweets")).await;
    show("rule-edit").await;
    tab.fill("#json", "{\"actions\": [\"ring\"]}").await;
    tab.click("main form button").await;
    tab.find("#json-error").await;
    show("rule-edit-invalid").await;
    // Another client changes the rule while it is edited.
    let mine = "{\"actions\": [\"notify\"], \"pattern\": \"pie\"}";
    put(fixture, "global/content/sweets", r#"{"actions":["notify"],"pattern":"cake"}"#).await;
    tab.fill("#json", mine).await;
    tab.click("main form button").await;
    tab.find("pre").await;
    show("rule-edit-changed").await;
    tab.goto(&format!("{}/edit?kind=room", rules(fixture))).await;
    tab.fill("#rule-id", "a/b").await;
    tab.click("main form button").await;
    tab.find("#rule-id-error").await;
    show("rule-new").await;

    tab.goto(&format!("{}/oauth/account/try", fixture.server.url)).await;
    show("try").await;
    tab.fill("#text", "There is cake").await;
    tab.click("main form button").await;
    tab.find(".sentence").await;
    // By keyboard, so that the focus stays visible.
    tab.find("summary").await.send_keys("\u{e007}").await.unwrap();
    tab.find("details[open]").await;
    show("try-result").await;
}

fn rules(fixture: &Fixture) -> String {
    format!("{}/oauth/account/rules", fixture.server.url)
}

fn editor(fixture: &Fixture, scope: &str, kind: &str, id: &str) -> String {
    format!("{}/edit?scope={scope}&kind={kind}&rule_id={id}", rules(fixture))
}

/// Puts a rule of Alice, as an app does.
async fn put(fixture: &Fixture, rule: &str, body: &str) {
    fixture.put_rule(fixture.token(), rule, body).await;
}

/// Presses a button of a rule on the page of all rules.
async fn press(fixture: &Fixture, rule: &str, button: &str) {
    fixture.tab.goto(&rules(fixture)).await;
    let form = format!("form:has([name=rule][value='{rule}'])");
    fixture.tab.click(&format!("{form} [value={button}]")).await;
}

/// Signs Alice in on the page of all rules.
async fn sign_in(fixture: &Fixture) {
    fixture.tab.goto(&rules(fixture)).await;
    fixture.sign_in("alice").await;
    fixture.tab.find("summary").await;
}

/// The ids of the user's rules of a kind, in the order of the page.
async fn shown_rules(fixture: &Fixture, kind: &str) -> Vec<String> {
    fixture.tab.goto(&format!("{}?scope=global&kind={kind}", rules(fixture))).await;
    fixture.tab.find("h1").await;
    let names = "[...document.querySelectorAll('li:not(:has([name=rule][value*=\"/.m.\"])) .rule')]
        .map((name) => name.innerText)";
    let names = fixture.tab.evaluate(names).await;
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

async fn add_rooms(fixture: &Fixture, ids: &[&str]) {
    for id in ids.iter().rev() {
        put(fixture, &format!("global/room/{id}"), r#"{"actions":[]}"#).await;
    }
}

/// Signing in, moving, editing, deleting and restoring, without a pointer and without scripts.
#[test]
fn rules_are_changed_by_keyboard_without_scripts() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.disable_scripts().await;
        sign_in(fixture).await;
        add_rooms(fixture, &["a", "b", "c"]).await;
        let by_keyboard = async |css: &str| {
            tab.find(css).await.send_keys("\u{e007}").await.unwrap();
        };
        let button = |rule: &str, name: &str| {
            format!("form:has([name=rule][value='global/room/{rule}']) [value={name}]")
        };
        tab.goto(&rules(fixture)).await;
        by_keyboard(&button("c", "up")).await;
        tab.find(":target").await;
        tab.wait_for_text("Saved.").await;
        assert_eq!(shown_rules(fixture, "room").await, ["a", "c", "b"]);

        tab.goto(&rules(fixture)).await;
        by_keyboard(&button("a", "delete")).await;
        // The button that undoes the deletion has the focus.
        tab.find("button[value=restore]:focus").await;
        tab.wait_for_text("Deleted: a").await;
        by_keyboard("button[value=restore]").await;
        tab.wait_for_text("The rule is back.").await;
        assert_eq!(shown_rules(fixture, "room").await, ["a", "c", "b"]);

        tab.goto(&editor(fixture, "global", "room", "c")).await;
        tab.fill("#json", "{\"actions\": [\"notify\"]}").await;
        by_keyboard("main form button").await;
        tab.wait_for_text("Saved.").await;
        tab.wait_for_text("Notifies").await;
    });
}

#[test]
fn a_move_in_a_stale_tab_says_that_the_order_has_changed() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        add_rooms(fixture, &["a", "b", "c"]).await;
        tab.goto(&rules(fixture)).await;
        let first = tab.window().await;
        let second = tab.open_window(&rules(fixture)).await;
        tab.click("form:has([value='global/room/b']) [value=up]").await;
        tab.wait_for_text("Saved.").await;
        tab.switch_to(&first).await;
        tab.click("form:has([value='global/room/c']) [value=up]").await;
        tab.wait_for_text("The order has changed in the meantime.").await;
        assert_eq!(shown_rules(fixture, "room").await, ["b", "a", "c"]);
        tab.switch_to(&second).await;
    });
}

#[test]
fn a_double_click_on_delete_can_be_undone() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        add_rooms(fixture, &["a", "b", "c"]).await;
        tab.goto(&rules(fixture)).await;
        tab.double_click("form:has([value='global/room/b']) [value=delete]").await;
        tab.find("button[value=restore]").await;
        assert_eq!(tab.evaluate("document.querySelectorAll('[value=restore]').length").await, 1);
        tab.click("button[value=restore]").await;
        tab.wait_for_text("The rule is back.").await;
        assert_eq!(shown_rules(fixture, "room").await, ["a", "b", "c"]);
    });
}

#[test]
fn the_text_of_an_edit_survives_the_end_of_the_session() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        add_rooms(fixture, &["a"]).await;
        tab.goto(&editor(fixture, "global", "room", "a")).await;
        let text = "{\"actions\": [\"notify\"], \"org.x\": \"<b>\"}";
        tab.fill("#json", text).await;
        fixture.end_sessions();
        tab.click("main form button").await;
        tab.wait_for_text("You were signed out, so nothing was saved.").await;
        let first = tab.window().await;
        let sign_in = tab.find("[role=alert] a").await.prop("href").await.unwrap().unwrap();
        tab.open_window(&sign_in).await;
        fixture.sign_in("alice").await;
        tab.find("summary").await;
        tab.switch_to(&first).await;
        tab.click("main form button").await;
        tab.wait_for_text("You have signed in since this page was opened").await;
        let shown = tab.find("#json").await.prop("value").await.unwrap().unwrap();
        assert_eq!(shown, text);
        tab.click("main form button").await;
        tab.wait_for_text("Saved.").await;
        tab.wait_for_text("Notifies").await;
    });
}

/// The browser sends the names back as they are, and runs nothing.
#[test]
fn rules_with_hostile_names_are_changed() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        tab.run_in_new_pages("window.alert = () => { document.title = 'alert' }").await;
        let names =
            ["<img src=x onerror=alert(1)>", "\u{202e}gnp.exe", "a\r\nb\tc", &"é".repeat(127)];
        for name in names {
            let path = format!("global/room/{}", belfry_core::percent::encode(name));
            add_rooms(fixture, &["last"]).await;
            put(fixture, &path, r#"{"actions":[]}"#).await;
            let rule = format!("form:has([value='{path}'])");
            tab.goto(&rules(fixture)).await;
            tab.resize(320, 800).await;
            let overflow = "document.documentElement.scrollWidth - innerWidth";
            assert!(tab.evaluate(overflow).await.as_i64().unwrap() <= 0, "{name:?}");
            tab.click(&format!("{rule} [value=down]")).await;
            tab.wait_for_text("Saved.").await;
            tab.click(&format!("{rule} [value=up]")).await;
            tab.wait_for_text("Saved.").await;
            assert_eq!(shown_rules(fixture, "room").await[1], "last");
            tab.goto(&rules(fixture)).await;
            tab.click(&format!("{rule} a")).await;
            tab.fill("#json", "{\"actions\": [\"notify\"]}").await;
            tab.click("main form button").await;
            tab.find(":target").await;
            tab.click(&format!("{rule} [value=delete]")).await;
            tab.click("button[value=restore]").await;
            tab.wait_for_text("The rule is back.").await;
            let actions = fixture.get_rule(&path).await["actions"].clone();
            assert_eq!(actions, json!(["notify"]), "{name:?}");
            assert_ne!(tab.evaluate("document.title").await, "alert");
            press(fixture, &path, "delete").await;
            tab.find("button[value=restore]").await;
        }
    });
}
