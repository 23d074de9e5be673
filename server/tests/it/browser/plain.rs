//! Browser tests of the pages without JavaScript.

use super::fixture::with_browser;

#[test]
fn an_app_gets_its_code_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&fixture.app.start_url(&[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.click("button[value=allow]").await;
        assert!(fixture.app.next_callback().await.fields.contains_key("code"));
    });
}

#[test]
fn form_post_takes_one_more_click_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&fixture.app.start_url(&[("response_mode", "form_post")])).await;
        fixture.sign_in("alice").await;
        fixture.tab.click("button[value=allow]").await;
        fixture.tab.wait_for_text("Your answer is on its way to Tusky.").await;
        fixture.tab.click("main button").await;
        let callback = fixture.app.next_callback().await;
        assert_eq!(callback.method, "POST");
        assert!(callback.fields.contains_key("code"));
    });
}

#[test]
fn a_code_is_shown_without_scripts() {
    with_browser(async |fixture| {
        fixture.tab.disable_scripts().await;
        fixture.tab.goto(&fixture.app.authorize_url_with("urn:ietf:wg:oauth:2.0:oob", &[])).await;
        fixture.sign_in("alice").await;
        fixture.tab.click("button[value=allow]").await;
        let code = fixture.tab.find("#code").await.prop("value").await.unwrap().unwrap();
        assert_eq!(code.len(), 13);
        assert!(!fixture.tab.find("#copy").await.is_displayed().await.unwrap());
    });
}
