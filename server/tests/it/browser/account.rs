//! The page of an account, in a browser.

use serde_json::Value;

use super::scene::{Scene, play};

/// Alice signs in and lets the app in; gives its token.
async fn let_in(scene: &Scene) -> Value {
    scene.tab.goto(&scene.app.start(&[("scope", "read push")])).await;
    scene.sign_in("alice").await;
    scene.allow().await;
    scene.tab.find("#thanks").await;
    let heard = scene.app.hears().await;
    scene.app.spend(&heard.fields["code"], &scene.app.redirect_uri, &[]).await
}

fn account(scene: &Scene) -> String {
    format!("{}/oauth/account", scene.server.url)
}

#[test]
fn an_app_is_removed_with_one_click() {
    play(async |scene| {
        let token = let_in(scene).await;
        assert!(scene.app.is_good(&token).await);
        scene.tab.goto(&account(scene)).await;
        for text in ["Tusky", "tusky.example", "See everything in your account", "Since 20"] {
            scene.tab.says(text).await;
        }
        let name = "document.querySelector('.cards button').ariaLabelledByElements
            .map((part) => part.innerText).join(' ')";
        let name = scene.tab.evaluate(name).await;
        let name = name.as_str().unwrap().replace(['\u{2068}', '\u{2069}'], "");
        assert_eq!(name, "Remove access Tusky");

        scene.tab.click(".cards button").await;
        scene.tab.says("No app has access to your account.").await;
        assert_eq!(scene.tab.url().await.path(), "/oauth/account");
        assert!(!scene.app.is_good(&token).await);
        // The page from before, shown again by the browser, does no harm.
        scene.tab.back().await;
        scene.tab.find("main").await;
        if scene.tab.has(".cards button").await {
            scene.tab.click(".cards button").await;
        }
        scene.tab.goto(&account(scene)).await;
        scene.tab.says("No app has access to your account.").await;
        // The app has to ask again.
        scene.tab.goto(&scene.app.start(&[("scope", "read push")])).await;
        scene.tab.says("Let Tusky in?").await;
    });
}

#[test]
fn an_app_is_removed_without_a_script_too() {
    play(async |scene| {
        let token = let_in(scene).await;
        scene.tab.without_scripts().await;
        scene.tab.goto(&account(scene)).await;
        scene.tab.click(".cards button").await;
        scene.tab.find("main:not(:has(.cards))").await;
        assert!(!scene.app.is_good(&token).await);
    });
}

#[test]
fn who_comes_without_a_session_signs_in_and_out_here() {
    play(async |scene| {
        scene.tab.goto(&account(scene)).await;
        scene.sign_in("alice").await;
        scene.tab.says("@alice:ring.example").await;
        scene.tab.says("You have no rules of your own.").await;
        assert_eq!(scene.tab.url().await.path(), "/oauth/account");
        scene.switch().await;
        scene.tab.says("You are signed out").await;
        scene.tab.click("a.button").await;
        scene.sign_in("bob").await;
        scene.tab.says("@bob:ring.example").await;
    });
}

#[test]
fn the_page_of_a_code_leads_to_where_the_app_can_be_removed() {
    play(async |scene| {
        scene.tab.goto(&scene.app.authorize_at("urn:ietf:wg:oauth:2.0:oob", &[])).await;
        scene.sign_in("alice").await;
        scene.allow().await;
        let code = scene.tab.find("#code").await.prop("value").await.unwrap().unwrap();
        scene.app.spend(&code, "urn:ietf:wg:oauth:2.0:oob", &[]).await;
        scene.tab.click("main a").await;
        scene.tab.says("Remove access").await;
    });
}
