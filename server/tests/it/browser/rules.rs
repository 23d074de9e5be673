//! Browser tests of the rule pages.

use serde_json::json;

use super::fixture::{Fixture, with_browser};
use super::tab::ENTER_KEY;

/// Opens the rule pages in several states and calls `on_page` with their names. Alice is signed in
/// and has rules.
pub(super) async fn visit_rule_pages(fixture: &Fixture, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    tab.goto(&rules_url(fixture)).await;
    on_page("rules").await;
    add_highlight_rule(fixture, "room", "#tea:ring.example").await;
    tab.find("#value-error").await;
    on_page("rules-invalid").await;
    add_highlight_rule(fixture, "room", "!tea:ring.example").await;
    tab.find(":target").await;
    on_page("rules-saved").await;
    tab.goto(&rule_url(fixture, "global/content/sweets")).await;
    on_page("rule").await;

    tab.goto(&format!("{}/oauth/account/try", fixture.server.url)).await;
    on_page("try").await;
    tab.fill("#text", "There is cake").await;
    tab.click("main form button").await;
    tab.find(".sentence").await;
    // The keyboard is used so that the focus stays visible.
    tab.find("summary").await.send_keys(ENTER_KEY).await.unwrap();
    tab.find("details[open]").await;
    on_page("try-result").await;
}

fn rules_url(fixture: &Fixture) -> String {
    format!("{}/oauth/account/rules", fixture.server.url)
}

/// Returns the URL of a rule's page.
fn rule_url(fixture: &Fixture, path: &str) -> String {
    format!("{}/rule?rule={}", rules_url(fixture), belfry_core::percent::encode(path))
}

/// Submits the form on the list of rules, which is open, to highlight a word, a person or a room.
async fn add_highlight_rule(fixture: &Fixture, subject: &str, value: &str) {
    let tab = &fixture.tab;
    tab.find("details:has(#value)").await;
    tab.evaluate("document.querySelector('details:has(#value)').open = true").await;
    tab.click("#effect [value=highlight]").await;
    tab.click(&format!("#subject [value={subject}]")).await;
    tab.fill("#value", &format!("{value}{ENTER_KEY}")).await;
}

/// Puts a rule with Alice's token, as an app does.
async fn put_rule(fixture: &Fixture, path: &str, body: &str) {
    fixture.put_rule(fixture.alice_token(), path, body).await;
}

/// Opens the list of rules, and signs Alice in.
async fn open_rules_and_sign_in(fixture: &Fixture) {
    fixture.tab.goto(&rules_url(fixture)).await;
    fixture.sign_in("alice").await;
    fixture.tab.find("summary").await;
}

/// Opens the list, and returns the ids of the user rules of a kind in its order.
async fn listed_rule_ids(fixture: &Fixture, kind: &str) -> Vec<String> {
    fixture.tab.goto(&rules_url(fixture)).await;
    fixture.tab.find("h1").await;
    let rows = format!("li:has([name=rule][value^='global/{kind}/']):not(:has([value*='/.m.']))");
    let paths_expression =
        format!("[...document.querySelectorAll(\"{rows} [name=rule]\")].map((rule) => rule.value)");
    let paths = fixture.tab.evaluate(&paths_expression).await;
    let rule_id = |path: &serde_json::Value| {
        let path = path.as_str().unwrap();
        let id = path.rsplit_once('/').unwrap().1;
        belfry_core::percent::decode_segment(id).unwrap().into_owned()
    };
    paths.as_array().unwrap().iter().map(rule_id).collect()
}

async fn add_room_rules(fixture: &Fixture, ids: &[&str]) {
    for id in ids.iter().rev() {
        put_rule(fixture, &format!("global/room/{id}"), r#"{"actions":[]}"#).await;
    }
}

/// Signs in, and adds, turns off and deletes rules.
#[test]
fn rules_are_changed_by_keyboard_without_scripts() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.disable_scripts().await;
        open_rules_and_sign_in(fixture).await;
        add_room_rules(fixture, &["a", "b"]).await;
        let press_enter = async |css: &str| {
            tab.find(css).await.send_keys(ENTER_KEY).await.unwrap();
        };
        tab.goto(&rules_url(fixture)).await;
        press_enter("details:has(#value) summary").await;
        // The first letters choose the options.
        tab.find("#effect").await.send_keys("H").await.unwrap();
        tab.find("#subject").await.send_keys("Messages in").await.unwrap();
        tab.fill("#value", &format!("!tea:x{ENTER_KEY}")).await;
        tab.wait_for_text("Saved.").await;
        tab.find(":target").await;
        tab.wait_for_text("Highlight").await;
        assert_eq!(listed_rule_ids(fixture, "room").await, ["!tea:x", "a", "b"]);

        tab.goto(&rules_url(fixture)).await;
        press_enter("form:has([value='global/room/a']) [value=disable]").await;
        // The page shows the rule again, with the notice in view.
        tab.wait_until_in_view("li:has(:target) .notice").await;
        assert_eq!(fixture.get_rule("global/room/a").await["enabled"], json!(false));

        press_enter("li:has([value='global/room/a']) a.danger").await;
        tab.find("#delete:target").await;
        press_enter("button[value=delete]").await;
        tab.wait_for_text("Removed.").await;
        assert_eq!(listed_rule_ids(fixture, "room").await, ["!tea:x", "b"]);
    });
}

/// Built-in rules have no link to delete them, and rules have titles of different lengths.
#[test]
fn the_controls_of_all_rules_are_aligned() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        open_rules_and_sign_in(fixture).await;
        add_room_rules(fixture, &["a", "!a-room-with-a-long-name:ring.example"]).await;
        tab.goto(&rules_url(fixture)).await;
        let expand_all = "document.querySelectorAll('details').forEach((it) => it.open = true)";
        tab.evaluate(expand_all).await;
        for width in [320, 1280] {
            tab.resize(width, 800).await;
            for css in [".rules .track", ".rules a.secondary", ".rules a.danger"] {
                let edge_count = format!(
                    "[...new Set([...document.querySelectorAll('{css}')]
                        .map((it) => Math.round(it.getBoundingClientRect().right)))].length"
                );
                assert_eq!(tab.evaluate(&edge_count).await, 1, "{css} {width}");
            }
        }
    });
}

#[test]
fn a_double_click_on_delete_deletes_one_rule() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        open_rules_and_sign_in(fixture).await;
        add_room_rules(fixture, &["a", "b", "c"]).await;
        tab.goto(&rule_url(fixture, "global/room/b")).await;
        tab.double_click("button[value=delete]").await;
        tab.wait_for_text("Removed.").await;
        assert_eq!(listed_rule_ids(fixture, "room").await, ["a", "c"]);
    });
}

/// The browser sends the names back unchanged, and runs no script in them.
#[test]
fn rules_with_hostile_names_can_be_changed() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        open_rules_and_sign_in(fixture).await;
        tab.run_in_new_pages("window.alert = () => { document.title = 'alert' }").await;
        let names =
            ["<img src=x onerror=alert(1)>", "\u{202e}gnp.exe", "a\r\nb\tc", &"é".repeat(127)];
        for name in names {
            let path = format!("global/room/{}", belfry_core::percent::encode(name));
            put_rule(fixture, &path, r#"{"actions":[]}"#).await;
            let row = format!("li:has([value='{path}'])");
            tab.goto(&rules_url(fixture)).await;
            tab.resize(320, 800).await;
            let overflow_expression = "document.documentElement.scrollWidth - innerWidth";
            assert!(tab.evaluate(overflow_expression).await.as_i64().unwrap() <= 0, "{name:?}");
            tab.click(&format!("{row} [value=disable]")).await;
            tab.wait_for_text("Saved.").await;
            assert_eq!(fixture.get_rule(&path).await["enabled"], json!(false), "{name:?}");
            tab.click(&format!("{row} a.secondary")).await;
            tab.find("pre").await;
            assert!(tab.evaluate(overflow_expression).await.as_i64().unwrap() <= 0, "{name:?}");
            assert_ne!(tab.evaluate("document.title").await, "alert");
            tab.click("button[value=delete]").await;
            tab.wait_for_text("Removed.").await;
            assert!(listed_rule_ids(fixture, "room").await.is_empty(), "{name:?}");
        }
    });
}
