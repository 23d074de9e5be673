//! The pages in the reader's language.

use super::scene::play;

#[test]
fn an_app_asks_for_a_language_and_it_stays_until_the_end() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[("lang", "de")])).await;
        assert_eq!(scene.tab.evaluate("document.documentElement.lang").await, "de");
        scene.tab.says("Tusky möchte dein Konto nutzen.").await;
        scene.sign_in_with("alice", "falsch").await;
        scene.tab.says("Name oder Passwort ist falsch.").await;
        scene.sign_in("alice").await;
        scene.tab.says("Tusky Zugang geben?").await;
        // The session remembers it, also where no app asks for anything.
        scene.tab.goto(&format!("{}/oauth/account", scene.server.url)).await;
        scene.tab.says("Dein Konto").await;
    });
}

#[test]
fn a_browser_that_prefers_french_is_answered_in_french() {
    play(async |scene| {
        scene.tab.accept_language("tlh, fr-CA;q=0.9, en;q=0.5").await;
        scene.tab.goto(&scene.app.start(&[])).await;
        assert_eq!(scene.tab.evaluate("document.documentElement.lang").await, "fr");
        scene.tab.says("Connexion").await;
    });
}

#[test]
fn arabic_is_written_from_right_to_left() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[("lang", "ar")])).await;
        assert_eq!(scene.tab.evaluate("document.documentElement.dir").await, "rtl");
        scene.sign_in("alice").await;
        scene.tab.find("#allow").await;
        let direction = "getComputedStyle(document.querySelector('h1')).direction";
        assert_eq!(scene.tab.evaluate(direction).await, "rtl");
        // The account's name stands at the right of its box.
        let place = |css| format!("document.querySelector('{css}').getBoundingClientRect()");
        let (name, sheet) = (place(".account .name bdi"), place(".account"));
        let right = format!("{name}.left - {sheet}.left > {sheet}.right - {name}.right");
        assert_eq!(scene.tab.evaluate(&right).await, true);
        scene.allow().await;
        assert!(scene.app.hears().await.fields.contains_key("code"));
    });
}
