//! What can happen anywhere, where people look at pages: a page for people, an object for programs.

use super::pages::guarded;
use crate::limits::admitted;
use crate::support::client::{error_of, refused};
use crate::support::{Caller, Service};

/// What a browser says of itself, and of who sits before it.
fn person(caller: &Caller, languages: &str) -> Caller {
    caller.with("accept", "text/html,*/*;q=0.8").with("accept-language", languages)
}

// Attack 145.
#[tokio::test]
async fn a_query_that_cannot_be_read_in_one_way_only_is_refused() {
    let service = Service::start().await;
    let client = service.client().await;
    let program = service.anyone().with("accept", "application/json");
    for broken in ["%", "%zz", "%00", "%ff"] {
        let path = format!("{}&state={broken}", client.authorize(&[("lang", "de")]));
        let page = service.browser().get(&path).await;
        page.page(400, "Dieser Server konnte nicht lesen, was gesendet wurde");
        page.page(400, "<code>invalid_request</code>");
        guarded(&page, "'self'");
        assert_eq!(page.header("x-ratelimit-limit"), "300");
        assert_eq!(error_of(&program.get(&path).await), refused(400, "invalid_request"));
    }
    let twice = client.authorize(&[("client_id", "x")]);
    let page = person(&service.anyone(), "fr").get(&twice).await;
    page.page(400, "client_id");
    page.page(400, "<html lang=\"fr\"");
}

#[tokio::test]
async fn too_many_calls_of_a_page_are_answered_with_a_page() {
    let service = Service::start().await;
    assert_eq!(admitted(&service.anyone(), "GET /x", 300).await, 300);
    for path in [
        "/oauth/authorize",
        "/oauth/authorize/native",
        "/oauth/sign_in",
        "/oauth/sign_out",
        "/oauth/account",
    ] {
        let page = person(&service.anyone(), "pl").get(path).await;
        page.page(429, "zbyt wiele żądań");
        guarded(&page, "'self'");
        let told = ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit"];
        let told = told.map(|name| page.header(name));
        assert_eq!(told, ["300", "300", "0", r#""ip";r=0;t=300"#], "{path}");
        assert_eq!(page.header("set-cookie"), "", "nobody was looked up");
        let program = service.anyone().with("accept", "application/json");
        assert_eq!(program.get(path).await.json()["error"], "Too many requests", "{path}");
    }
    for path in ["/oauth/token", "/api/v1/instance", "/oauth/userinfo"] {
        let answer = person(&service.anyone(), "pl").get(path).await;
        assert_eq!(answer.status, 429);
        assert_eq!(answer.json()["error"], "Too many requests", "{path}");
    }
}

#[tokio::test]
async fn whatever_a_browser_does_wrong_it_is_shown_a_page() {
    let service = Service::start().await;
    let browser = person(&service.anyone(), "en");
    let plain = browser.with("content-type", "text/plain");
    let form = browser.with("content-type", "application/x-www-form-urlencoded");
    let large = "a=".to_owned() + &"b".repeat(70_000);
    for (answer, status, says) in [
        (plain.call("POST /oauth/sign_in", "a=b").await, 415, "cannot be answered"),
        (form.call("POST /oauth/sign_in", "a=%").await, 400, "cannot be answered"),
        (form.call("POST /oauth/authorize", large).await, 413, "cannot be answered"),
        (browser.call("PUT /oauth/authorize", "").await, 405, "cannot be answered"),
        (browser.get("/oauth/authorize/nothing").await, 404, "Page not found"),
    ] {
        answer.page(status, says);
        guarded(&answer, "'self'");
    }
    let wrong = browser.call("PUT /oauth/authorize", "").await;
    assert!(wrong.header("allow").contains("GET"));
}
