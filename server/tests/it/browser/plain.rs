//! The pages without JavaScript.

use super::scene::play;

#[test]
fn an_app_gets_its_code_without_a_script() {
    play(async |scene| {
        scene.tab.without_scripts().await;
        scene.tab.goto(&scene.app.start(&[])).await;
        scene.sign_in("alice").await;
        scene.tab.click("#allow").await;
        assert!(scene.app.hears().await.fields.contains_key("code"));
    });
}

#[test]
fn form_post_takes_one_more_click_without_a_script() {
    play(async |scene| {
        scene.tab.without_scripts().await;
        scene.tab.goto(&scene.app.start(&[("response_mode", "form_post")])).await;
        scene.sign_in("alice").await;
        scene.tab.click("#allow").await;
        scene.tab.says("Your answer is on its way to Tusky.").await;
        scene.tab.click("main button").await;
        let heard = scene.app.hears().await;
        assert_eq!(heard.method, "POST");
        assert!(heard.fields.contains_key("code"));
    });
}

#[test]
fn a_code_is_copied_by_hand_without_a_script() {
    play(async |scene| {
        scene.tab.without_scripts().await;
        scene.tab.goto(&scene.app.authorize_at("urn:ietf:wg:oauth:2.0:oob", &[])).await;
        scene.sign_in("alice").await;
        scene.tab.click("#allow").await;
        let code = scene.tab.find("#code").await.prop("value").await.unwrap().unwrap();
        assert_eq!(code.len(), 51);
        assert!(!scene.tab.find("#copy").await.is_displayed().await.unwrap());
    });
}
