//! Browser tests of page languages.

use serde_json::json;

use super::fixture::with_browser;

#[test]
fn the_browsers_language_is_used() {
    with_browser(async |fixture| {
        fixture.tab.set_accept_language("tlh, fr-CA;q=0.9, en;q=0.5").await;
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        assert_eq!(fixture.tab.evaluate("document.documentElement.lang").await, "fr");
        fixture.tab.wait_for_text("Connexion").await;
    });
}

#[test]
fn the_language_can_be_changed_during_an_authorization_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&fixture.app.start_url(&[("lang", "fr")])).await;
        fixture.tab.click(".languages summary").await;
        fixture.tab.click(".languages [lang=de]").await;
        fixture.tab.find("html[lang=de] #username").await;
        fixture.sign_in_with("alice", "falsch").await;
        fixture.tab.find("html[lang=de] #problem").await;
        fixture.sign_in("alice").await;
        fixture.tab.find("html[lang=de] button[value=allow]").await;
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
        fixture.tab.goto(&format!("{}/oauth/account", fixture.server.url)).await;
        fixture.tab.find("html[lang=de] .sections").await;
    });
}

#[test]
fn arabic_is_written_from_right_to_left() {
    with_browser(async |fixture| {
        fixture.tab.goto(&fixture.app.start_url(&[("lang", "ar")])).await;
        assert_eq!(fixture.tab.evaluate("document.documentElement.dir").await, "rtl");
        fixture.sign_in("alice").await;
        fixture.tab.find("button[value=allow]").await;
        let direction = "getComputedStyle(document.querySelector('h1')).direction";
        assert_eq!(fixture.tab.evaluate(direction).await, "rtl");
        // The account's name is aligned to the right.
        let rectangle = |css| format!("document.querySelector('{css}').getBoundingClientRect()");
        let name = rectangle(".account .name bdi");
        let account_box = rectangle(".account");
        let is_right_aligned =
            format!("{name}.left - {account_box}.left > {account_box}.right - {name}.right");
        assert_eq!(fixture.tab.evaluate(&is_right_aligned).await, true);
        fixture.allow().await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

/// German has the longest words. The link to the current page is bold and therefore wider.
#[test]
fn the_navigation_does_not_wrap_words_and_fits_one_row_on_a_phone() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.goto(&format!("{}/oauth/sign_in?lang=de", fixture.server.url)).await;
        fixture.sign_in("alice").await;
        for page in ["", "/notifications", "/devices", "/security"] {
            tab.goto(&format!("{}/oauth/account{page}?lang=de", fixture.server.url)).await;
            tab.wait_for_text("Benachrichtigungen").await;
            for width in [320, 1280] {
                tab.resize(width, 800).await;
                let wrapped_links =
                    "[...document.querySelectorAll('.sections a')].filter((link) => {
                    const text = document.createRange();
                    text.selectNodeContents(link);
                    return text.getClientRects().length > 1;
                }).map((link) => link.innerText)";
                assert_eq!(tab.evaluate(wrapped_links).await, json!([]), "{page}, {width}");
            }
            tab.resize(320, 800).await;
            tab.goto(&format!("{}/oauth/account{page}?lang=de", fixture.server.url)).await;
            tab.wait_for_text("Benachrichtigungen").await;
            // All links are in one row, and the current one is visible without scrolling.
            let row_count = "new Set([...document.querySelectorAll('.sections a')]
                .map((link) => link.getBoundingClientRect().top)).size";
            assert_eq!(tab.evaluate(row_count).await, 1, "{page}");
            let is_current_visible = "(({ left, right }) => left >= 0 && right <= 320)
                (document.querySelector('.sections [aria-current]').getBoundingClientRect())";
            assert_eq!(tab.evaluate(is_current_visible).await, true, "{page}");
            let has_horizontal_scroll = "document.documentElement.scrollWidth > 320";
            assert_eq!(tab.evaluate(has_horizontal_scroll).await, false, "{page}");
        }
    });
}
