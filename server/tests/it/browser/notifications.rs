//! Browser tests of the notifications page.

use std::path::Path;

use serde_json::json;

use super::access::{HORIZONTAL_OVERFLOW, RUN, axe};
use super::fixture::{Fixture, with_browser};
use crate::support::report_skipped;

const ENTER: &str = "\u{e007}";
const SPACE: &str = "\u{e00d}";

/// Opens the page, signs Alice in, and returns the page's URL.
async fn open(fixture: &Fixture) -> String {
    let page = format!("{}/oauth/account/notifications", fixture.server.url);
    fixture.tab.goto(&page).await;
    fixture.sign_in("alice").await;
    fixture.tab.find("#switch-call").await;
    page
}

/// Returns whether a switch is on.
async fn is_on(fixture: &Fixture, switch: &str) -> bool {
    fixture.tab.has(&format!("#switch-{switch} > [aria-checked=true]")).await
}

#[test]
fn notifications_are_changed_with_the_keyboard_alone() {
    with_browser(async |fixture| {
        open(fixture).await;
        let tab = &fixture.tab;
        // A switch regains the focus after it has been turned off.
        tab.tab_to("#switch-call > button").await;
        tab.press(SPACE).await;
        tab.find("#switch-call > [aria-checked=false]:focus").await;
        tab.press(SPACE).await;
        tab.find("#switch-call > [aria-checked=true]").await;
        // A section without entries expands, and shows the form.
        tab.tab_to("#keywords > summary").await;
        tab.press(ENTER).await;
        tab.tab_to("#word").await;
        tab.press(&format!("cake{ENTER}")).await;
        tab.find("#keywords .notice").await;
        tab.wait_for_text("cake").await;
        // The entry expands, and its first check box is the sound.
        tab.tab_to("#keywords .entries summary").await;
        tab.press(ENTER).await;
        tab.tab_to("#keywords .entries [name=sound]").await;
        tab.press(SPACE).await;
        tab.tab_to("#keywords .entries button[value=keyword]").await;
        tab.press(ENTER).await;
        tab.find("#keywords .entries input[name=seen][value=highlight]").await;
        tab.tab_to("#muted-words > summary").await;
        tab.press(ENTER).await;
        tab.tab_to("#muted-word").await;
        tab.press(&format!("spam{ENTER}")).await;
        tab.tab_to("#muted-words button[value=remove-muted-word]").await;
        tab.press(ENTER).await;
        tab.find("#muted-words:not(:has(.entries)) .notice").await;
    });
}

#[test]
fn notifications_are_changed_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        open(fixture).await;
        let tab = &fixture.tab;
        assert!(tab.find(".utc").await.is_displayed().await.unwrap());
        tab.click("button[value=hour]").await;
        tab.find("button[value=resume]").await;
        tab.wait_for_text(" UTC.").await;
        tab.click("button[value=resume]").await;
        tab.find("button[value=hour]").await;

        tab.click("#subjects > summary").await;
        tab.fill("#id", "#tea:ring.example").await;
        tab.click("form:has(#id) button").await;
        tab.find("#id[aria-invalid=true]:focus").await;
        tab.wait_for_text("This is the address of a room, not its id.").await;
        tab.fill("#id", "!tea:ring.example").await;
        tab.click("form:has(#id) button").await;
        tab.wait_until_in_view("#subjects .notice").await;
        tab.find("#rooms + ul summary").await;
        tab.click("#rooms + ul summary").await;
        tab.click("#rooms + ul button[value=remove-subject]").await;
        tab.find("#subjects:not(:has(#rooms)) .notice").await;

        tab.click("details:has(#switch-bots) > summary").await;
        tab.click("#switch-bots > button").await;
        // The collapsed switches are shown again, with the notice in view.
        tab.wait_until_in_view("#switch-bots > .notice").await;
        assert!(is_on(fixture, "bots").await && !is_on(fixture, "edits").await);
    });
}

#[test]
fn switches_look_inactive_while_everything_is_paused() {
    with_browser(async |fixture| {
        open(fixture).await;
        let tab = &fixture.tab;
        let colours = "(() => {
            const style = (part) => getComputedStyle(
                document.querySelector('#switch-call .track'), part).backgroundColor;
            return [style('::before'), style('::after')];
        })()";
        let section = "document.querySelector('section:has(#switch-call)').innerText";
        let sentence = "Everything is paused until you switch it on again.";
        let active = tab.evaluate(colours).await;
        assert!(!tab.evaluate(section).await.as_str().unwrap().contains(sentence));
        tab.click("button[value=open]").await;
        tab.find("button[value=resume]").await;
        // The switch is still on, for the time after the pause.
        assert!(is_on(fixture, "call").await);
        let inactive = tab.evaluate(colours).await;
        for part in [0, 1] {
            assert_ne!(inactive[part], active[part]);
        }
        assert!(tab.evaluate(section).await.as_str().unwrap().contains(sentence));
        tab.click("button[value=resume]").await;
        tab.find("button[value=open]").await;
        assert_eq!(tab.evaluate(colours).await, active);
    });
}

#[test]
fn times_are_in_the_time_zone_of_the_browser() {
    with_browser(async |fixture| {
        fixture.tab.set_time_zone("America/St_Johns").await;
        open(fixture).await;
        let tab = &fixture.tab;
        assert!(!tab.find(".utc").await.is_displayed().await.unwrap());
        tab.click("button[value=morning]").await;
        tab.find("button[value=resume]").await;
        let end = "(() => {
            const end = new Date(document.querySelector('time').dateTime);
            const hours = (end - Date.now()) / 3600000;
            return [end.getHours(), end.getMinutes(), hours > 3 && hours < 29];
        })()";
        assert_eq!(tab.evaluate(end).await, json!([8, 0, true]));
        let text = tab.evaluate("document.querySelector('time').innerText").await;
        let text = text.as_str().unwrap().to_owned();
        assert!(text.contains("8:00") && !text.contains("UTC"), "{text}");
        for page in ["rules", "security"] {
            tab.goto(&format!("{}/oauth/account/{page}", fixture.server.url)).await;
            let text = tab.evaluate("document.querySelector('main time').innerText").await;
            let text = text.as_str().unwrap().to_owned();
            // The server would write 2026-11-16.
            assert!(!text.contains("UTC") && !text.contains('-'), "{page}: {text}");
        }
    });
}

#[test]
fn the_form_of_a_timed_mute_shows_when_it_expires() {
    with_browser(async |fixture| {
        fixture.tab.set_time_zone("America/St_Johns").await;
        let page = open(fixture).await;
        let tab = &fixture.tab;
        let until = r#"{"actions":[],"until":4102444800000}"#;
        fixture.put_rule(fixture.token(), "global/sender/@bob:ring.example", until).await;
        tab.goto(&page).await;
        tab.find("#people + ul select").await;
        let labels = "[document.querySelector('#people + ul select').selectedOptions[0].text,
            document.querySelector('#people + ul .mark:last-child').textContent]";
        let labels = tab.evaluate(labels).await;
        assert_eq!(labels[0], labels[1]);
        let label = labels[0].as_str().unwrap();
        assert!(label.starts_with("Until ") && label.contains("8:30"), "{label}");
    });
}

/// An app changes the entry that the page shows.
#[test]
fn a_stale_page_says_what_happened_and_overwrites_nothing() {
    with_browser(async |fixture| {
        let page = open(fixture).await;
        let tab = &fixture.tab;
        tab.click("#keywords > summary").await;
        tab.fill("#word", &format!("cake{ENTER}")).await;
        tab.find("#keywords .entries").await;
        // Meanwhile the keyword is changed in an app.
        let token = fixture.issue_token(&["push"]);
        let quiet = r#"{"pattern":"cake","actions":["notify"]}"#;
        fixture.put_rule(&token, "global/content/cake", quiet).await;
        tab.click("#keywords .entries summary").await;
        tab.click("#keywords .entries [name=highlight]").await;
        tab.click("#keywords .entries button[value=keyword]").await;
        tab.find("#keywords [role=alert]:focus").await;
        tab.wait_for_text("cake was changed in the meantime").await;
        tab.goto(&page).await;
        tab.find("#keywords .entries input[name=seen][value=notify]").await;
    });
}

/// States that the accessibility tests of all pages do not cover, in both writing directions
/// and colour schemes, on a phone and on a desktop.
#[test]
fn notifications_are_accessible_while_paused_expanded_and_after_an_error() {
    let axe = match axe() {
        Ok(axe) => axe,
        Err(reason) => return report_skipped("axe-core", &reason),
    };
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&dir).unwrap();
    with_browser(async |fixture| {
        let page = open(fixture).await;
        fixture.add_apps_and_rules().await;
        let tab = &fixture.tab;
        for (lang, schemes) in [("en", ["light", "dark"]), ("ar", ["dark", "light"])] {
            for state in ["error", "paused"] {
                tab.goto(&format!("{page}?lang={lang}")).await;
                if state == "error" {
                    tab.click("#subjects .add > summary").await;
                    tab.fill("#id", &format!("bob{ENTER}")).await;
                    tab.find("#id-error").await;
                } else {
                    tab.click("button[value=hour]").await;
                    tab.find("button[value=resume]").await;
                }
                let expand = "document.querySelectorAll('details').forEach((it) => it.open = true)";
                tab.evaluate(expand).await;
                for (width, scheme) in [320, 1280].into_iter().zip(schemes) {
                    let name = format!("notifications-{state}-{lang}-{scheme}-{width}");
                    tab.prefer_color_scheme(scheme).await;
                    tab.resize(width, 800).await;
                    assert_eq!(tab.run_axe(&axe, RUN).await, json!([true, []]), "{name}");
                    assert_eq!(tab.evaluate(HORIZONTAL_OVERFLOW).await, json!([]), "{name}");
                    let image = tab.screenshot(width).await;
                    std::fs::write(dir.join(format!("{name}.png")), image).unwrap();
                }
            }
            tab.click("button[value=resume]").await;
            tab.find("button[value=hour]").await;
        }
    });
}
