//! From the app to the server and back, with everything that a person may do on the way.

use super::app::{PKCE, VERIFIER};
use super::scene::{Scene, play};

const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";

/// Where the page for signing in or for consent is, Alice agrees.
async fn alice_lets_it_in(scene: &Scene) {
    scene.sign_in("alice").await;
    scene.allow().await;
}

#[test]
fn an_app_sends_its_user_and_gets_a_token() {
    play(async |scene| {
        let asked = [&PKCE[..], &[("scope", "read push"), ("state", "x y&z=é")]].concat();
        scene.tab.goto(&scene.app.start(&asked)).await;
        scene.tab.says("Tusky asks to use your account.").await;
        scene.sign_in("alice").await;
        for text in ["Let Tusky in?", "tusky.example", "alice", "@alice:ring.example"] {
            scene.tab.says(text).await;
        }
        scene.tab.says("See everything in your account").await;
        scene.allow().await;
        scene.tab.find("#thanks").await;

        let heard = scene.app.hears().await;
        assert_eq!(heard.method, "GET");
        assert_eq!(heard.fields.keys().collect::<Vec<_>>(), ["code", "iss", "state"]);
        assert_eq!(heard.fields["state"], "x y&z=é");
        assert_eq!(heard.fields["iss"], format!("{}/", scene.server.url));
        assert_eq!(heard.referer, None);
        let verifier = [("code_verifier", VERIFIER)];
        let token =
            scene.app.spend(&heard.fields["code"], &scene.app.redirect_uri, &verifier).await;
        assert_eq!(
            (&token["scope"], &token["token_type"]),
            (&"read push".into(), &"Bearer".into())
        );
        assert_eq!(scene.app.whose(&token).await, "alice");
    });
}

#[test]
fn who_denies_goes_back_to_the_app_without_a_code() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[("state", "s")])).await;
        scene.sign_in("alice").await;
        scene.deny().await;
        let heard = scene.app.hears().await;
        assert_eq!((&*heard.fields["error"], &*heard.fields["state"]), ("access_denied", "s"));
        assert_eq!(heard.fields.get("code"), None);
    });
}

#[test]
fn a_code_is_shown_to_be_copied_into_an_app_without_an_address() {
    play(async |scene| {
        scene.tab.goto(&scene.app.authorize_at(OOB, &[])).await;
        scene.sign_in("alice").await;
        scene.tab.says("After that you see a code to enter in Tusky.").await;
        scene.allow().await;
        let code = scene.tab.find("#code").await.prop("value").await.unwrap().unwrap();
        let url = scene.tab.url().await;
        assert_eq!((url.path(), url.query()), ("/oauth/authorize/native", None));

        scene.tab.click("#copy").await;
        scene.tab.says("Copied").await;
        let selected = scene.tab.evaluate("String(document.getSelection())").await;
        assert_eq!(selected, code);

        let token = scene.app.spend(&code, OOB, &[]).await;
        assert_eq!(scene.app.whose(&token).await, "alice");
        scene.tab.goto(url.as_str()).await;
        scene.tab.says("invalid_grant").await;
    });
}

#[test]
fn form_post_brings_the_answer_to_the_app_without_another_click() {
    play(async |scene| {
        let asked = [("response_mode", "form_post"), ("state", "\"><b>")];
        scene.tab.goto(&scene.app.start(&asked)).await;
        alice_lets_it_in(scene).await;
        scene.tab.find("#thanks").await;
        let heard = scene.app.hears().await;
        assert_eq!((&*heard.method, &*heard.fields["state"]), ("POST", "\"><b>"));
        assert_eq!(scene.tab.url().await.query(), None);
        let token = scene.app.spend(&heard.fields["code"], &scene.app.redirect_uri, &[]).await;
        assert_eq!(scene.app.whose(&token).await, "alice");
    });
}

#[test]
fn force_login_asks_for_the_password_in_a_live_session() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[])).await;
        alice_lets_it_in(scene).await;
        let heard = scene.app.hears().await;
        scene.app.spend(&heard.fields["code"], &scene.app.redirect_uri, &[]).await;
        // What was allowed once is allowed again, without a page.
        scene.tab.goto(&scene.app.start(&[("force_login", "false")])).await;
        scene.app.hears().await;

        scene.tab.goto(&scene.app.start(&[("force_login", "true")])).await;
        scene.tab.says("Tusky asks to use your account.").await;
        scene.sign_in("alice").await;
        scene.allow().await;
        assert!(scene.app.hears().await.fields.contains_key("code"));
    });
}

#[test]
fn a_wrong_password_is_told_and_the_name_stays() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[])).await;
        scene.sign_in_with("alice", "wrong").await;
        scene.tab.find("[role=alert]").await;
        scene.tab.says("The name or the password is wrong. Please check both.").await;
        let value = async |css| scene.tab.find(css).await.prop("value").await.unwrap().unwrap();
        assert_eq!((&*value("#username").await, &*value("#password").await), ("alice", ""));
        assert_eq!(scene.tab.evaluate("document.activeElement.id").await, "password");
        alice_lets_it_in(scene).await;
        assert!(scene.app.hears().await.fields.contains_key("code"));
    });
}

#[test]
fn who_has_two_accounts_chooses_while_the_request_waits() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[("state", "s")])).await;
        scene.sign_in("alice").await;
        scene.tab.says("@alice:ring.example").await;
        scene.switch().await;
        scene.tab.says("Tusky asks to use your account.").await;
        scene.sign_in("bob").await;
        scene.tab.says("@bob:ring.example").await;
        scene.allow().await;
        let heard = scene.app.hears().await;
        assert_eq!(heard.fields["state"], "s");
        let token = scene.app.spend(&heard.fields["code"], &scene.app.redirect_uri, &[]).await;
        assert_eq!(scene.app.whose(&token).await, "bob");
    });
}

#[test]
fn the_back_button_does_not_lead_to_a_second_code() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[])).await;
        alice_lets_it_in(scene).await;
        scene.tab.find("#thanks").await;
        scene.app.hears().await;
        scene.tab.back().await;
        scene.tab.find("main").await;
        // A browser that has kept the page shows it again; its button is of no use.
        if scene.tab.has("#allow").await {
            scene.allow().await;
        }
        scene.tab.says("This request is no longer open").await;
        assert!(scene.app.heard_nothing().await);
    });
}

#[test]
fn a_hasty_click_lets_nobody_in() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[])).await;
        scene.sign_in("alice").await;
        scene.tab.find("#allow").await;
        // The page comes to the front, under a finger that is already on its way.
        scene.tab.evaluate("dispatchEvent(new Event('focus'))").await;
        scene.tab.click("#allow").await;
        scene.tab.says("Let Tusky in?").await;
        assert!(scene.app.heard_nothing().await);
        scene.allow().await;
        assert!(scene.app.hears().await.fields.contains_key("code"));
    });
}

#[test]
fn a_double_click_is_one_decision() {
    play(async |scene| {
        scene.tab.goto(&scene.app.start(&[])).await;
        scene.sign_in("alice").await;
        scene.tab.find("#allow:not([aria-disabled])").await;
        // Counts what would be sent, and sends nothing.
        let counting = "(() => {
            let sent = 0;
            document.addEventListener('submit', (event) => {
                if (!event.defaultPrevented) sent += 1;
                event.preventDefault();
            });
            for (const press of [1, 2, 3]) document.getElementById('allow').click();
            document.querySelector('button[value=deny]').click();
            return sent;
        })()";
        assert_eq!(scene.tab.evaluate(counting).await, 1);
        assert!(scene.app.heard_nothing().await);
    });
}
