//! Errors on the paths of pages: a page for browsers, JSON for other clients.

use super::pages::assert_security_headers;
use crate::limits::count_admitted;
use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::{Service, TestClient};

/// Adds the headers that a browser sends.
fn as_browser(client: &TestClient, languages: &str) -> TestClient {
    client.with_header("accept", "text/html,*/*;q=0.8").with_header("accept-language", languages)
}

#[tokio::test]
async fn a_malformed_query_is_rejected() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let json_client = service.anonymous_client().with_header("accept", "application/json");
    for malformed_value in ["%", "%zz", "%00", "%ff"] {
        let path = format!("{}&state={malformed_value}", client.authorize_path(&[("lang", "de")]));
        let page = service.browser().get(&path).await;
        page.assert_page(400, "Dieser Server konnte nicht lesen, was gesendet wurde");
        page.assert_page(400, ">invalid_request</code>");
        assert_security_headers(&page, "'self'");
        assert_eq!(page.header("x-ratelimit-limit"), "300");
        assert_eq!(
            status_and_error(&json_client.get(&path).await),
            oauth_error(400, "invalid_request")
        );
    }
    let path_with_two_clients = client.authorize_path(&[("client_id", "x")]);
    let page = as_browser(&service.anonymous_client(), "fr").get(&path_with_two_clients).await;
    page.assert_page(400, "client_id");
    page.assert_page(400, "<html lang=\"fr\"");
}

#[tokio::test]
async fn an_exceeded_rate_limit_is_reported_on_a_page() {
    let service = Service::start().await;
    assert_eq!(count_admitted(&service.anonymous_client(), "GET /x", 300).await, 300);
    for path in [
        "/oauth/authorize",
        "/oauth/authorize/native",
        "/oauth/sign_in",
        "/oauth/sign_out",
        "/oauth/account",
    ] {
        let page = as_browser(&service.anonymous_client(), "pl").get(path).await;
        page.assert_page(429, "zbyt wiele żądań");
        assert_security_headers(&page, "'self'");
        let names = ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit"];
        let values = names.map(|name| page.header(name));
        assert_eq!(values, ["300", "300", "0", r#""ip";r=0;t=300"#], "{path}");
        assert_eq!(page.header("set-cookie"), "", "no session is created");
        let json_client = service.anonymous_client().with_header("accept", "application/json");
        assert_eq!(json_client.get(path).await.json()["error"], "Too many requests", "{path}");
    }
    for path in ["/oauth/token", "/api/v1/instance", "/oauth/userinfo"] {
        let response = as_browser(&service.anonymous_client(), "pl").get(path).await;
        assert_eq!(response.status, 429);
        assert_eq!(response.json()["error"], "Too many requests", "{path}");
    }
}

#[tokio::test]
async fn every_client_error_is_reported_to_a_browser_on_a_page() {
    let service = Service::start().await;
    let browser_client = as_browser(&service.anonymous_client(), "en");
    let text_client = browser_client.with_header("content-type", "text/plain");
    let form_client =
        browser_client.with_header("content-type", "application/x-www-form-urlencoded");
    let large_body = "a=".to_owned() + &"b".repeat(70_000);
    for (response, status, text) in [
        (text_client.send("POST /oauth/sign_in", "a=b").await, 415, "cannot be answered"),
        (form_client.send("POST /oauth/sign_in", "a=%").await, 400, "cannot be answered"),
        (form_client.send("POST /oauth/authorize", large_body).await, 413, "cannot be answered"),
        (browser_client.send("PUT /oauth/authorize", "").await, 405, "cannot be answered"),
        (browser_client.get("/oauth/authorize/nothing").await, 404, "Page not found"),
        (
            browser_client.get("/oauth/authorize/no").await,
            404,
            "<a class=\"button\" href=\"/oauth/account\">",
        ),
    ] {
        response.assert_page(status, text);
        assert_security_headers(&response, "'self'");
    }
    let response = browser_client.send("PUT /oauth/authorize", "").await;
    assert!(response.header("allow").contains("GET"));
}
