//! Browser tests of presses that were intended for a different page: a key or the mouse button is
//! held while one of Belfry's pages appears. After such a page appears, `press-guard.js` ignores
//! input for up to a second: the pause.

use serde_json::{Value, json};

use super::fixture::{Fixture, with_browser};
use super::flow::STOP_TIMERS;
use super::tab::Key;

const ALLOW_BUTTON: &str = "button[value=allow]";
const REMOVE_BUTTON: &str = ".cards button[name=app]";
const END_SESSION_BUTTON: &str = ".cards button[name=session]";

/// Counts the forms that the page submits, and sets `isPauseOver` after 1.5 seconds, which is longer
/// than the pause.
const WATCH_SUBMISSIONS: &str = "(() => {
    window.submitted = 0;
    window.isPauseOver = false;
    addEventListener('submit', (event) => { if (!event.defaultPrevented) submitted += 1; });
    setTimeout(() => { isPauseOver = true; }, 1500);
})()";

/// One of Belfry's pages, and the control on it that receives a held key.
struct Target {
    url: String,
    css: &'static str,
}

async fn sign_in(fixture: &Fixture) {
    fixture.tab.goto(&account_url(fixture, "")).await;
    fixture.sign_in("alice").await;
    fixture.tab.find(".account").await;
}

/// Alice, who is signed in, allows the app; returns its token.
async fn allow_app(fixture: &Fixture) -> Value {
    fixture.tab.goto(&fixture.app.start_url(&[("scope", "read")])).await;
    fixture.allow().await;
    fixture.tab.find("#thanks").await;
    let code = fixture.app.next_callback().await.fields["code"].clone();
    fixture.app.redeem(&code, &fixture.app.redirect_uri, &[]).await
}

fn account_url(fixture: &Fixture, page: &str) -> String {
    format!("{}/oauth/account{page}", fixture.server.url)
}

/// Returns the URL of an authorization request that Alice has not approved before.
fn authorize_url(fixture: &Fixture) -> String {
    fixture.app.authorize_url(&[("scope", "write")])
}

/// Returns the number of forms that the page has submitted since `WATCH_SUBMISSIONS`; null on a
/// different page.
async fn submission_count(fixture: &Fixture) -> Value {
    fixture.tab.evaluate("window.submitted").await
}

/// Presses a key on an app page that then opens the target. Holds the key for longer than the pause
/// while the control has the focus, and releases it. Asserts that nothing is submitted.
async fn hold_key(fixture: &Fixture, target: &Target, key: Key) {
    let tab = &fixture.tab;
    tab.goto(&fixture.app.trap_url(&target.url)).await;
    tab.key_down(key).await;
    tab.find(target.css).await;
    tab.evaluate(WATCH_SUBMISSIONS).await;
    let css = target.css;
    let expand = format!(
        "document.querySelector('{css}').closest('details')?.toggleAttribute('open', true)"
    );
    tab.evaluate(&expand).await;
    tab.evaluate(&format!("document.querySelector('{css}').focus()")).await;
    while tab.evaluate("window.isPauseOver").await == json!(false) {
        tab.repeat_key(key).await;
    }
    tab.key_up(key).await;
    assert_eq!(submission_count(fixture).await, 0, "{} {key:?}", target.css);
    tab.find(&format!("{}:focus", target.css)).await;
    tab.wait_until_pause_ends().await;
}

async fn press_key(fixture: &Fixture, key: Key) {
    fixture.tab.key_down(key).await;
    fixture.tab.key_up(key).await;
}

#[test]
fn a_held_key_does_not_allow_an_app() {
    with_browser(async |fixture| {
        sign_in(fixture).await;
        let target = Target { url: authorize_url(fixture), css: ALLOW_BUTTON };
        for key in [Key::Enter, Key::Space] {
            hold_key(fixture, &target, key).await;
            assert!(fixture.app.has_no_callback().await, "{key:?}");
            press_key(fixture, key).await;
            fixture.tab.find("#thanks").await;
            assert!(fixture.app.next_callback().await.fields.contains_key("code"), "{key:?}");
        }
    });
}

#[test]
fn a_held_key_does_not_remove_an_app() {
    with_browser(async |fixture| {
        sign_in(fixture).await;
        let target = Target { url: account_url(fixture, ""), css: REMOVE_BUTTON };
        for key in [Key::Enter, Key::Space] {
            let token = allow_app(fixture).await;
            hold_key(fixture, &target, key).await;
            assert!(fixture.app.is_valid_token(&token).await, "{key:?}");
            press_key(fixture, key).await;
            fixture.tab.wait_for_text("That app no longer has access to your account.").await;
            assert!(!fixture.app.is_valid_token(&token).await, "{key:?}");
        }
    });
}

#[test]
fn a_held_key_does_not_end_a_session() {
    with_browser(async |fixture| {
        let target = Target { url: account_url(fixture, "/security"), css: END_SESSION_BUTTON };
        for key in [Key::Enter, Key::Space] {
            fixture.tab.goto(&target.url).await;
            fixture.sign_in("alice").await;
            fixture.tab.find(END_SESSION_BUTTON).await;
            hold_key(fixture, &target, key).await;
            press_key(fixture, key).await;
            fixture.tab.find(&format!("body:not(:has({END_SESSION_BUTTON}))")).await;
        }
    });
}

/// By default, browsers submit a form when Enter is pressed in one of its fields.
#[test]
fn a_held_key_in_a_field_does_not_submit_its_form() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        // The field has a value, as a browser may fill it in.
        tab.run_in_new_pages(
            "addEventListener('DOMContentLoaded', () => {
            const word = document.getElementById('word');
            if (!word) return;
            word.value = 'cake';
            document.querySelectorAll('details').forEach((it) => it.open = true);
        })",
        )
        .await;
        for css in ["#word", "#sound"] {
            let target = Target { url: account_url(fixture, "/notifications"), css };
            hold_key(fixture, &target, Key::Enter).await;
        }
        assert_eq!(fixture.get_rule("global/content/cake").await["errcode"], "M_NOT_FOUND");
        press_key(fixture, Key::Enter).await;
        tab.find("#keywords .notice").await;
        assert_eq!(fixture.get_rule("global/content/cake").await["pattern"], "cake");
    });
}

/// Text fields accept a repeated key, which submits nothing there.
#[test]
fn a_held_key_types_into_a_field() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        tab.goto(&account_url(fixture, "/notifications")).await;
        tab.evaluate("document.querySelector('#try').open = true").await;
        let field_value =
            async |css: &str| tab.evaluate(&format!("document.querySelector('{css}').value")).await;
        for (css, key, expected) in [
            ("#text", Key::Enter, "\n\n\n"),
            ("#text", Key::Space, "   "),
            ("#sender", Key::Space, "   "),
        ] {
            tab.evaluate(&format!(
                "(() => {{ const field = document.querySelector('{css}'); field.value = ''; field.focus(); }})()"
            ))
            .await;
            tab.key_down(key).await;
            tab.repeat_key(key).await;
            tab.repeat_key(key).await;
            tab.key_up(key).await;
            assert_eq!(field_value(css).await, expected, "{css} {key:?}");
        }
    });
}

#[test]
fn a_press_during_the_pause_has_no_effect_after_it() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        tab.run_in_new_pages(STOP_TIMERS).await;
        let focus_button = format!("document.querySelector('{ALLOW_BUTTON}').focus()");
        let open_consent = async || {
            tab.goto_without_waiting(&authorize_url(fixture)).await;
            tab.find(&format!("{ALLOW_BUTTON}[aria-disabled]")).await;
            tab.evaluate(
                "(() => {
                window.submitted = 0;
                addEventListener('submit', () => { submitted += 1; });
            })()",
            )
            .await;
            tab.evaluate(&focus_button).await;
        };
        // Each press restarts the pause. Otherwise one of many clicks in a row would take effect.
        let is_restarted = async |pauses: &Value| tab.evaluate("window.pauses").await != *pauses;
        for key in [Key::Enter, Key::Space] {
            open_consent().await;
            let pauses = tab.evaluate("window.pauses").await;
            tab.key_down(key).await;
            assert!(is_restarted(&pauses).await, "{key:?}");
            tab.evaluate("endPause()").await;
            tab.key_up(key).await;
            assert_eq!(submission_count(fixture).await, 0, "{key:?}");
        }
        open_consent().await;
        let pauses = tab.evaluate("window.pauses").await;
        tab.mouse_down(ALLOW_BUTTON).await;
        assert!(is_restarted(&pauses).await);
        tab.evaluate("endPause()").await;
        tab.mouse_up(ALLOW_BUTTON).await;
        assert_eq!(submission_count(fixture).await, 0);
        assert!(fixture.app.has_no_callback().await);
        tab.mouse_down(ALLOW_BUTTON).await;
        tab.mouse_up(ALLOW_BUTTON).await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

/// A site can navigate back to a page that one of Belfry's forms opened. The browser shows it from
/// memory, or loads it again with the headers of the original request. Even its first frame shows
/// the buttons as disabled.
#[test]
fn a_page_from_the_history_ignores_early_input() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.run_in_new_pages(STOP_TIMERS).await;
        // Runs after the listeners of `press-guard.js`, when the page is about to be stored. A pause with
        // a timer could end before that of the page's return begins.
        tab.run_in_new_pages(&format!(
            "window.clearTimeout = () => {{ window.endPause = undefined; }};
            addEventListener('visibilitychange', () => {{
                const isDisabled = document.querySelector('{ALLOW_BUTTON}[aria-disabled]');
                if (document.hidden) window.wasPaused = !!isDisabled && !window.endPause;
            }})"
        ))
        .await;
        tab.goto_without_waiting(&fixture.app.start_url(&[])).await;
        fixture.sign_in("alice").await;
        tab.find(ALLOW_BUTTON).await;
        tab.evaluate("endPause()").await;
        for is_cached in [true, false] {
            tab.find(&format!("{ALLOW_BUTTON}:not([aria-disabled])")).await;
            let cache_script = if is_cached { "0" } else { "addEventListener('unload', () => 0)" };
            tab.evaluate(cache_script).await;
            tab.evaluate("window.wasHere = true").await;
            tab.goto_without_waiting(&fixture.app.trap_url("")).await;
            tab.evaluate("history.back()").await;
            tab.find(&format!("{ALLOW_BUTTON}[aria-disabled]")).await;
            // A browser with little memory loads the page again in any case.
            let is_from_memory = tab.evaluate("window.wasHere").await == true;
            assert!(is_cached || !is_from_memory);
            assert_eq!(tab.evaluate("!!window.wasPaused").await == true, is_from_memory);
            tab.evaluate("endPause()").await;
        }
    });
}

#[test]
fn a_mouse_button_pressed_on_another_page_does_not_allow_an_app() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        tab.goto(&fixture.app.trap_url(&authorize_url(fixture))).await;
        tab.mouse_down("h1").await;
        tab.find(ALLOW_BUTTON).await;
        tab.evaluate(WATCH_SUBMISSIONS).await;
        tab.wait_until_pause_ends().await;
        tab.mouse_up(ALLOW_BUTTON).await;
        assert_eq!(submission_count(fixture).await, 0);
        assert!(fixture.app.has_no_callback().await);
        tab.click(ALLOW_BUTTON).await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

/// A link focuses the element that its fragment names.
#[test]
fn without_scripts_a_held_key_changes_nothing_whatever_a_link_focuses() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        sign_in(fixture).await;
        fixture.add_apps_and_rules().await;
        tab.disable_scripts().await;
        let consent_url = authorize_url(fixture);
        let account_urls =
            ["", "/notifications", "/security"].map(|page| account_url(fixture, page));
        for page_url in std::iter::once(&consent_url).chain(&account_urls) {
            tab.goto(page_url).await;
            let ids =
                tab.evaluate("[...document.querySelectorAll('[id]')].map(({ id }) => id)").await;
            for key in [Key::Enter, Key::Space] {
                // Leaves the page to reset its fields, which Space has changed. A different fragment
                // alone would not reload it.
                tab.goto(&fixture.app.trap_url("")).await;
                // A text area would accept the keys, and its form would then be complete.
                for id in ids.as_array().unwrap().iter().filter(|id| **id != "text") {
                    let url = format!("{page_url}#{}", id.as_str().unwrap());
                    tab.goto(&url).await;
                    for _ in 0..3 {
                        tab.repeat_key(key).await;
                    }
                    tab.key_up(key).await;
                    assert_eq!(tab.url().await.as_str(), url, "{key:?}");
                }
            }
        }
        assert!(fixture.app.has_no_callback().await);
    });
}
