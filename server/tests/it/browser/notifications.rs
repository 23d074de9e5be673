//! Browser tests of the notifications page.

use std::path::Path;

use serde_json::json;

use super::access::{HORIZONTAL_OVERFLOW, RUN_AXE, axe_script};
use super::fixture::{Fixture, with_browser};
use super::tab::{ENTER_KEY, SPACE_KEY};
use crate::support::report_skipped;

/// Opens the page, signs Alice in, and returns the page's URL.
async fn open_notifications(fixture: &Fixture) -> String {
    let url = format!("{}/oauth/account/notifications", fixture.server.url);
    fixture.tab.goto(&url).await;
    fixture.sign_in("alice").await;
    fixture.tab.find("#switch-call").await;
    url
}

/// Returns whether a switch is on.
async fn is_on(fixture: &Fixture, switch: &str) -> bool {
    fixture.tab.has_element(&format!("#switch-{switch} > [aria-checked=true]")).await
}

#[test]
fn notifications_are_changed_with_the_keyboard_alone() {
    with_browser(async |fixture| {
        open_notifications(fixture).await;
        let tab = &fixture.tab;
        // A switch regains the focus after it has been turned off.
        tab.tab_to("#switch-call > button").await;
        tab.press(SPACE_KEY).await;
        tab.find("#switch-call > [aria-checked=false]:focus").await;
        tab.press(SPACE_KEY).await;
        tab.find("#switch-call > [aria-checked=true]").await;
        // A section without entries expands, and shows the form.
        tab.tab_to("#keywords > summary").await;
        tab.press(ENTER_KEY).await;
        tab.tab_to("#word").await;
        tab.press(&format!("cake{ENTER_KEY}")).await;
        tab.find("#keywords .notice").await;
        tab.wait_for_text("cake").await;
        // The entry expands, and its first check box is the sound.
        tab.tab_to("#keywords .entries summary").await;
        tab.press(ENTER_KEY).await;
        tab.tab_to("#keywords .entries [name=sound]").await;
        tab.press(SPACE_KEY).await;
        tab.tab_to("#keywords .entries button[value=keyword]").await;
        tab.press(ENTER_KEY).await;
        tab.find("#keywords .entries input[name=seen][value=highlight]").await;
        tab.tab_to("#muted-words > summary").await;
        tab.press(ENTER_KEY).await;
        tab.tab_to("#muted-word").await;
        tab.press(&format!("spam{ENTER_KEY}")).await;
        tab.tab_to("#muted-words button[value=remove-muted-word]").await;
        tab.press(ENTER_KEY).await;
        tab.find("#muted-words:not(:has(.entries)) .notice").await;
        // The result has the focus, so that screen readers say it.
        tab.tab_to("#try > summary").await;
        tab.press(ENTER_KEY).await;
        tab.tab_to("#text").await;
        tab.press("Some cake?").await;
        tab.tab_to("#try button").await;
        tab.press(ENTER_KEY).await;
        tab.find("#try .result:focus").await;
        tab.wait_for_text("because of your keyword cake.").await;
    });
}

/// Names run no script and do not widen the page; the browser sends them back unchanged.
#[test]
fn rules_of_apps_with_hostile_names_are_switched_off_and_deleted() {
    with_browser(async |fixture| {
        let page_url = open_notifications(fixture).await;
        let tab = &fixture.tab;
        tab.run_in_new_pages("window.alert = () => { document.title = 'alert' }").await;
        tab.resize(320, 800).await;
        for name in
            ["<img src=x onerror=alert(1)>", "\u{202e}gnp.exe", "a\r\nb\tc", &"é".repeat(127)]
        {
            let path = format!("global/override/{}", belfry_core::percent::encode(name));
            let body = r#"{"actions":[],"conditions":[]}"#;
            fixture.put_rule(fixture.alice_token(), &path, body).await;
            tab.goto(&page_url).await;
            tab.click("#rules .entries summary").await;
            assert_eq!(tab.evaluate(HORIZONTAL_OVERFLOW).await, json!([]), "{name:?}");
            tab.click("#rules button[value=disable-rule]").await;
            tab.wait_until_in_view("#rules .notice").await;
            assert_eq!(fixture.get_rule(&path).await["enabled"], json!(false), "{name:?}");
            tab.click("#rules .entries summary").await;
            tab.find("#rules button[value=enable-rule]").await;
            tab.click("#rules button[value=remove-rule]").await;
            tab.find("#rules:not(:has(.entries li)) .notice").await;
            assert_ne!(tab.evaluate("document.title").await, "alert");
        }
    });
}

#[test]
fn notifications_are_changed_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        open_notifications(fixture).await;
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
fn quiet_hours_are_in_the_browsers_time_zone_unless_scripts_are_disabled() {
    with_browser(async |fixture| {
        let page_url = open_notifications(fixture).await;
        let tab = &fixture.tab;
        let zone = tab.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone").await;
        let filled_in_zone = "document.querySelector('[name=timezone]').value";
        assert_eq!(tab.evaluate(filled_in_zone).await, zone);
        let zone_count = "document.querySelectorAll('#time-zones > option').length";
        assert!(tab.evaluate(zone_count).await.as_u64().unwrap() > 100);

        tab.disable_scripts().await;
        tab.goto(&page_url).await;
        tab.click("#quiet-hours > summary").await;
        tab.find("[name=timezone][value=UTC]").await;
        tab.click("#quiet-hours [value=total]").await;
        tab.click("#quiet-hours button[value=quiet-hours]").await;
        tab.wait_until_in_view("#quiet-hours .notice").await;
        tab.find("#quiet-hours [name=level][value=total][checked]").await;
        tab.click("#quiet-hours button[value=quiet-hours-off]").await;
        tab.find("#quiet-hours:not(:has([value=quiet-hours-off])) .notice").await;
    });
}

#[test]
fn switches_look_inactive_while_everything_is_paused() {
    with_browser(async |fixture| {
        open_notifications(fixture).await;
        let tab = &fixture.tab;
        let colours_expression = "(() => {
            const style = (part) => getComputedStyle(
                document.querySelector('#switch-call .track'), part).backgroundColor;
            return [style('::before'), style('::after')];
        })()";
        let section_text_expression =
            "document.querySelector('section:has(#switch-call)').innerText";
        let sentence = "Everything is paused until you switch it on again.";
        let active_colours = tab.evaluate(colours_expression).await;
        assert!(!tab.evaluate(section_text_expression).await.as_str().unwrap().contains(sentence));
        tab.click("button[value=open]").await;
        tab.find("button[value=resume]").await;
        // The switch is still on, for the time after the pause.
        assert!(is_on(fixture, "call").await);
        let inactive_colours = tab.evaluate(colours_expression).await;
        for part in [0, 1] {
            assert_ne!(inactive_colours[part], active_colours[part]);
        }
        assert!(tab.evaluate(section_text_expression).await.as_str().unwrap().contains(sentence));
        tab.click("button[value=resume]").await;
        tab.find("button[value=open]").await;
        assert_eq!(tab.evaluate(colours_expression).await, active_colours);
    });
}

#[test]
fn times_are_in_the_browsers_time_zone() {
    with_browser(async |fixture| {
        fixture.tab.set_time_zone("America/St_Johns").await;
        open_notifications(fixture).await;
        let tab = &fixture.tab;
        assert!(!tab.find(".utc").await.is_displayed().await.unwrap());
        tab.click("button[value=morning]").await;
        tab.find("button[value=resume]").await;
        let pause_end_expression = "(() => {
            const end = new Date(document.querySelector('time').dateTime);
            const hours = (end - Date.now()) / 3600000;
            return [end.getHours(), end.getMinutes(), hours > 3 && hours < 29];
        })()";
        assert_eq!(tab.evaluate(pause_end_expression).await, json!([8, 0, true]));
        let value = tab.evaluate("document.querySelector('time').innerText").await;
        let text = value.as_str().unwrap();
        assert!(text.contains("8:00") && !text.contains("UTC"), "{text}");
        tab.goto(&format!("{}/oauth/account/security", fixture.server.url)).await;
        let value = tab.evaluate("document.querySelector('main time').innerText").await;
        let text = value.as_str().unwrap();
        // The server would write 2026-11-16.
        assert!(!text.contains("UTC") && !text.contains('-'), "{text}");
    });
}

#[test]
fn a_timed_mutes_form_shows_when_it_expires() {
    with_browser(async |fixture| {
        fixture.tab.set_time_zone("America/St_Johns").await;
        let page_url = open_notifications(fixture).await;
        let tab = &fixture.tab;
        let timed_rule = r#"{"actions":[],"until":4102444800000}"#;
        fixture
            .put_rule(fixture.alice_token(), "global/sender/@bob:ring.example", timed_rule)
            .await;
        tab.goto(&page_url).await;
        tab.find("#people + ul select").await;
        let labels_expression =
            "[document.querySelector('#people + ul select').selectedOptions[0].text,
            document.querySelector('#people + ul .mark:last-child').textContent]";
        let labels = tab.evaluate(labels_expression).await;
        assert_eq!(labels[0], labels[1]);
        let label = labels[0].as_str().unwrap();
        assert!(label.starts_with("Until ") && label.contains("8:30"), "{label}");
    });
}

/// An app changes the entry that the page shows.
#[test]
fn a_stale_page_reports_the_conflict_and_overwrites_nothing() {
    with_browser(async |fixture| {
        let page_url = open_notifications(fixture).await;
        let tab = &fixture.tab;
        tab.click("#keywords > summary").await;
        tab.fill("#word", &format!("cake{ENTER_KEY}")).await;
        tab.find("#keywords .entries").await;
        // Meanwhile the keyword is changed in an app.
        let token = fixture.issue_token("push", &[]);
        let quiet_rule = r#"{"pattern":"cake","actions":["notify"]}"#;
        fixture.put_rule(&token, "global/content/cake", quiet_rule).await;
        tab.click("#keywords .entries summary").await;
        tab.click("#keywords .entries [name=highlight]").await;
        tab.click("#keywords .entries button[value=keyword]").await;
        tab.find("#keywords [role=alert]:focus").await;
        tab.wait_for_text("cake was changed in the meantime").await;
        tab.goto(&page_url).await;
        tab.find("#keywords .entries input[name=seen][value=notify]").await;
    });
}

/// States that the accessibility tests of all pages do not cover, in both writing directions
/// and colour schemes, on a phone and on a desktop.
#[test]
fn notifications_are_accessible_while_paused_expanded_and_after_an_error() {
    let axe_script = match axe_script() {
        Ok(axe_script) => axe_script,
        Err(reason) => return report_skipped("axe-core", &reason),
    };
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&dir).unwrap();
    with_browser(async |fixture| {
        let page_url = open_notifications(fixture).await;
        fixture.add_apps_and_rules().await;
        let tab = &fixture.tab;
        for (lang, schemes) in [("en", ["light", "dark"]), ("ar", ["dark", "light"])] {
            for state in ["error", "paused"] {
                tab.goto(&format!("{page_url}?lang={lang}")).await;
                if state == "error" {
                    tab.fill("#id", &format!("bob{ENTER_KEY}")).await;
                    tab.find("#id-error").await;
                } else {
                    tab.click("button[value=hour]").await;
                    tab.find("button[value=resume]").await;
                }
                let expand_all =
                    "document.querySelectorAll('details').forEach((it) => it.open = true)";
                tab.evaluate(expand_all).await;
                for (width, scheme) in [320, 1280].into_iter().zip(schemes) {
                    let name = format!("notifications-{state}-{lang}-{scheme}-{width}");
                    tab.prefer_color_scheme(scheme).await;
                    tab.resize(width, 800).await;
                    assert_eq!(
                        tab.run_axe(&axe_script, RUN_AXE).await,
                        json!([true, []]),
                        "{name}"
                    );
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
