//! `/oauth/authorize/native`: the code for an app that has no address.

use crate::support::browser::with_query;
use crate::support::{Answer, Browser, Client, Service};

const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";

async fn with_alice() -> (Service, Client, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = Client::register_with(service.anyone(), OOB, "read").await;
    let browser = service.browser();
    (service, client, browser)
}

/// Alice agrees; gives the answer to that, and the page that she gets to see.
async fn agreed(client: &Client, browser: &mut Browser) -> (Answer, Answer) {
    let page = browser.get(&client.authorize(&[("state", "s")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let answer = browser.decide(&page, "allow").await;
    let shown = browser.follow(&answer).await;
    (answer, shown)
}

fn code_of(page: &Answer) -> &str {
    let (_, rest) = page.text.split_once("<textarea class=\"oauth-code\"").unwrap();
    rest.split_once("</textarea>").unwrap().0.split_once('>').unwrap().1
}

// Attack 107.
#[tokio::test]
async fn the_code_is_shown_and_stands_in_no_url() {
    let (_service, client, mut browser) = with_alice().await;
    let (answer, shown) = agreed(&client, &mut browser).await;
    assert_eq!(answer.header("location"), "/oauth/authorize/native");
    shown.page(200, "Tusky");
    assert_eq!(shown.header("cache-control"), "no-store");
    let code = code_of(&shown);
    assert_eq!(code.len(), 51);
    // It is still there when the page is loaded again, until it is spent.
    browser.get("/oauth/authorize/native").await.page(200, code);
    assert_eq!(client.spend(code, &[]).await.status, 200);
    browser.get("/oauth/authorize/native").await.page(400, "invalid_grant");
}

#[tokio::test]
async fn a_code_that_is_wrong_used_too_old_or_anothers_is_an_invalid_grant() {
    let (service, client, mut browser) = with_alice().await;
    let native = |code: &str| with_query("/oauth/authorize/native", &[("code", code)]);
    let (_, shown) = agreed(&client, &mut browser).await;
    let code = code_of(&shown);
    browser.get(&native("wrong")).await.page(400, "invalid_grant");
    browser.get(&native(code)).await.page(200, code);
    // In a browser where alice is not signed in.
    service.browser().get(&native(code)).await.page(400, "invalid_grant");
    service.browser().get("/oauth/authorize/native").await.page(400, "invalid_grant");
    let program = service.anyone().with("accept", "application/json");
    let answer = program.get(&native("wrong")).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &"invalid_grant".into()));
    service.clock.advance(600);
    browser.get(&native(code)).await.page(400, "invalid_grant");
    service.clock.advance(-600);
    assert_eq!(client.spend(code, &[]).await.status, 200);
    browser.get(&native(code)).await.page(400, "invalid_grant");
}

#[tokio::test]
async fn a_refusal_is_shown_where_it_cannot_be_sent() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let page = browser.sign_in(&page, "alice").await;
    browser.decide(&page, "deny").await.page(400, "Access denied");
    browser.get(&client.authorize(&[("scope", "nope")])).await.page(400, "invalid_scope");
}

#[tokio::test]
async fn the_page_keeps_the_language_that_the_app_wished_for() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[("lang", "de")])).await;
    page.page(200, "<html lang=\"de\"");
    let page = browser.sign_in(&page, "alice").await;
    page.page(200, "<html lang=\"de\"");
    let answer = browser.decide(&page, "allow").await;
    browser.follow(&answer).await.page(200, "<html lang=\"de\"");
}
