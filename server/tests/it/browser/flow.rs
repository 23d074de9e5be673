//! Browser tests of the authorization flow from the app to the server and back.

use super::app::{PKCE, VERIFIER};
use super::fixture::{Fixture, with_browser};
use super::tab::ENTER_KEY;

/// Stops the timers of every new page, so that the pause lasts until `endPause()` is called.
pub(super) const STOP_TIMERS: &str = "window.pauses = 0;
    window.setTimeout = (callback) => { window.endPause = callback; return ++window.pauses; };";

const OOB_URI: &str = "urn:ietf:wg:oauth:2.0:oob";

async fn sign_in_and_allow(fixture: &Fixture) {
    fixture.sign_in("alice").await;
    fixture.allow().await;
}

#[test]
fn an_app_sends_its_user_and_gets_a_token() {
    with_browser(async |fixture| {
        let parameters = [&PKCE[..], &[("scope", "read push"), ("state", "x y&z=é")]].concat();
        fixture.tab.goto(&fixture.app.start_url(&parameters)).await;
        fixture.tab.wait_for_text("Tusky asks to use your account.").await;
        fixture.sign_in("alice").await;
        for text in ["Allow Tusky to use your account?", "alice", "@alice:ring.example"] {
            fixture.tab.wait_for_text(text).await;
        }
        fixture.tab.wait_for_text("See everything in your account").await;
        fixture.allow().await;
        fixture.tab.find("#thanks").await;

        let callback = fixture.app.next_callback().await;
        assert_eq!(callback.method, "GET");
        assert_eq!(callback.fields.keys().collect::<Vec<_>>(), ["code", "iss", "state"]);
        assert_eq!(callback.fields["state"], "x y&z=é");
        assert_eq!(callback.fields["iss"], format!("{}/", fixture.server.url));
        assert_eq!(callback.referer, None);
        let verifier = [("code_verifier", VERIFIER)];
        let token = fixture
            .app
            .redeem(&callback.fields["code"], &fixture.app.redirect_uri, &verifier)
            .await;
        assert_eq!(
            (&token["scope"], &token["token_type"]),
            (&"read push".into(), &"Bearer".into())
        );
        assert_eq!(fixture.app.token_owner(&token).await, "alice");
    });
}

#[test]
fn a_denial_returns_to_the_app_without_a_code() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[("state", "s")])).await;
        fixture.sign_in("alice").await;
        fixture.deny().await;
        let callback = fixture.app.next_callback().await;
        assert_eq!(
            (&*callback.fields["error"], &*callback.fields["state"]),
            ("access_denied", "s")
        );
        assert_eq!(callback.fields.get("code"), None);
    });
}

#[test]
fn a_code_is_shown_for_an_app_without_a_redirect_uri() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.authorize_url_with(OOB_URI, &[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.wait_for_text("After that you see a code to enter in Tusky.").await;
        fixture.allow().await;
        let code = fixture.tab.find("#code").await.prop("value").await.unwrap().unwrap();
        let url = fixture.tab.url().await;
        assert_eq!((url.path(), url.query()), ("/oauth/authorize/native", None));

        fixture.tab.click("#copy").await;
        fixture.tab.wait_for_text("Copied").await;
        let selection = fixture.tab.evaluate("String(document.getSelection())").await;
        assert_eq!(selection, code);

        let token = fixture.app.redeem(&code, OOB_URI, &[]).await;
        assert_eq!(fixture.app.token_owner(&token).await, "alice");
        fixture.tab.goto(url.as_str()).await;
        fixture.tab.wait_for_text("invalid_grant").await;
    });
}

#[test]
fn form_post_submits_the_response_without_another_click() {
    with_browser(async |fixture| {
        let parameters = [("response_mode", "form_post"), ("state", "\"><b>")];
        fixture.tab.goto(&fixture.app.start_url(&parameters)).await;
        sign_in_and_allow(fixture).await;
        fixture.tab.find("#thanks").await;
        let callback = fixture.app.next_callback().await;
        assert_eq!((&*callback.method, &*callback.fields["state"]), ("POST", "\"><b>"));
        assert_eq!(fixture.tab.url().await.query(), None);
        let token =
            fixture.app.redeem(&callback.fields["code"], &fixture.app.redirect_uri, &[]).await;
        assert_eq!(fixture.app.token_owner(&token).await, "alice");
    });
}

#[test]
fn force_login_asks_for_the_password_in_a_live_session() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&PKCE)).await;
        sign_in_and_allow(fixture).await;
        let callback = fixture.app.next_callback().await;
        let verifier = [("code_verifier", VERIFIER)];
        fixture.app.redeem(&callback.fields["code"], &fixture.app.redirect_uri, &verifier).await;
        // A second request for the same scopes is approved without a page, because it uses PKCE.
        let parameters = [&PKCE[..], &[("force_login", "false")]].concat();
        fixture.tab.goto(&fixture.app.start_url(&parameters)).await;
        fixture.app.next_callback().await;

        fixture.tab.goto(&fixture.app.start_url(&[("force_login", "true")])).await;
        fixture.tab.wait_for_text("Tusky asks to use your account.").await;
        fixture.sign_in("alice").await;
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

#[test]
fn going_back_does_not_issue_a_second_code() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        sign_in_and_allow(fixture).await;
        fixture.tab.find("#thanks").await;
        fixture.app.next_callback().await;
        fixture.tab.go_back().await;
        fixture.tab.find("main").await;
        // A cached page may be shown again; its button has no effect.
        if fixture.tab.has_element("button[value=allow]").await {
            fixture.allow().await;
        }
        fixture.tab.wait_for_text("This request is no longer open").await;
        assert!(fixture.app.has_no_callback().await);
    });
}

/// A person may press Enter as soon as a password manager has filled in the fields.
#[test]
fn sign_in_and_sign_up_work_without_a_pause_but_the_consent_page_has_one() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        // The timers do not run, so a pause would last until `endPause()`.
        tab.run_in_new_pages(STOP_TIMERS).await;
        tab.goto_without_waiting(&format!("{}/oauth/sign_up", fixture.server.url)).await;
        tab.evaluate("dispatchEvent(new Event('focus'))").await;
        tab.fill("#username", "carol").await;
        tab.fill("#password", "a long password").await;
        tab.click("#agreement").await;
        tab.fill("#password-again", &format!("a long password{ENTER_KEY}")).await;
        tab.find(".account").await;
        tab.goto_without_waiting(&fixture.app.start_url(&[])).await;
        tab.find("form[action='/oauth/sign_out'] button[aria-disabled]").await;
        tab.evaluate("endPause()").await;
        fixture.switch_account().await;
        tab.find("#username").await;
        tab.evaluate("dispatchEvent(new Event('focus'))").await;
        fixture.sign_in("alice").await;
        // Another click at the place of the first one does not allow the app.
        tab.find("button[value=allow][aria-disabled]").await;
        tab.click("button[value=allow]").await;
        tab.wait_for_text("Allow Tusky to use your account?").await;
        assert!(fixture.app.has_no_callback().await);
        tab.evaluate("endPause()").await;
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

#[test]
fn for_a_visitor_from_another_site_the_allow_button_is_disabled_at_first() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.find("button[value=allow]").await;
        // The pause's timer does not run, so that the test can inspect the button.
        fixture.tab.run_in_new_pages(STOP_TIMERS).await;
        fixture.tab.goto_without_waiting(&fixture.app.start_url(&[])).await;
        let button_style = "getComputedStyle(document.querySelector('[value=allow]'))";
        let colour = format!("{button_style}.backgroundColor");
        fixture.tab.find("button[value=allow][aria-disabled]").await;
        let paused_colour = fixture.tab.evaluate(&colour).await;
        assert_eq!(fixture.tab.evaluate(&format!("{button_style}.cursor")).await, "progress");
        fixture.tab.click("button[value=allow]").await;
        fixture.tab.wait_for_text("Allow Tusky to use your account?").await;
        assert!(fixture.app.has_no_callback().await);
        fixture.tab.evaluate("endPause()").await;
        assert_ne!(fixture.tab.evaluate(&colour).await, paused_colour);
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

#[test]
fn a_click_right_after_focus_is_ignored() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.find("button[value=allow]:not([aria-disabled])").await;
        // The page gets the focus just before the click. Its timer does not run, so that the click
        // is early enough even on a slow machine.
        let focus_page = "dispatchEvent(new Event('focus'))";
        let stop_timers = "window.realTimeout = setTimeout; window.setTimeout = () => 0;";
        fixture.tab.evaluate(&format!("(() => {{ {stop_timers} {focus_page}; }})()")).await;
        fixture.tab.click("button[value=allow]").await;
        fixture.tab.wait_for_text("Allow Tusky to use your account?").await;
        assert!(fixture.app.has_no_callback().await);
        fixture.tab.find("button[value=allow][aria-disabled]").await;
        // With the timer, the pause ends by itself.
        let restore_timers = "window.setTimeout = window.realTimeout;";
        fixture.tab.evaluate(&format!("(() => {{ {restore_timers} {focus_page}; }})()")).await;
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

#[test]
fn a_double_click_is_submitted_once() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.find("button[value=allow]:not([aria-disabled])").await;
        // Counts the submissions and sends none.
        let count_submissions = "(() => {
            let sent = 0;
            document.addEventListener('submit', (event) => {
                if (!event.defaultPrevented) sent += 1;
                event.preventDefault();
            });
            for (const press of [1, 2, 3]) document.querySelector('[value=allow]').click();
            document.querySelector('button[value=deny]').click();
            return sent;
        })()";
        assert_eq!(fixture.tab.evaluate(count_submissions).await, 1);
        assert!(fixture.app.has_no_callback().await);
    });
}
