//! Metrics for sign-ins by outcome, and for tokens by grant.

use serde_json::json;

use super::text::Scrape;
use crate::support::browser::encode_form;
use crate::support::{Service, TestResponse};

/// Logs in like a Matrix client.
async fn login(service: &Service, name: &str, password: &str) -> TestResponse {
    let body = json!({ "type": "m.login.password", "user": name, "password": password });
    service.anonymous_client().send("POST /_matrix/client/v3/login", body.to_string()).await
}

#[tokio::test]
async fn sign_ins_are_counted_by_method_and_outcome() {
    let settings = "[limits.abuse]\nsign_in_name = { requests = 1, window = '1h' }";
    let service = Service::start_with(toml::from_str(settings).unwrap()).await;
    for name in ["alice", "bob"] {
        service.add_account(name).await;
    }
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await;
    assert_eq!(login(&service, "alice", "correct horse alice").await.status, 200);
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    // The second attempt exceeds the limit.
    for status in [401, 429] {
        let wrong_fields = [("username", "bob"), ("password", "wrong")];
        assert_eq!(browser.submit(&page, "/oauth/sign_in", &wrong_fields).await.status, status);
    }
    for status in [403, 429] {
        assert_eq!(login(&service, "alice", "wrong").await.status, status);
    }

    let scrape = Scrape::parse(&service.metrics().await);
    for method in ["page", "matrix"] {
        for (outcome, count) in
            [("success", 1.0), ("rejected", 1.0), ("rate_limited", 1.0), ("busy", 0.0)]
        {
            let labels = [("method", method), ("outcome", outcome)];
            let value = scrape.value("belfry_sign_ins_total", &labels);
            assert_eq!(value, Some(count), "{method} {outcome}");
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_by_grant() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let app = service.register_client().await;
    let code = app.obtain_code(&mut service.browser(), "alice", &[]).await;
    assert_eq!(app.redeem(&code, &[]).await.status, 200);
    assert_eq!(app.redeem(&code, &[]).await.status, 400, "no token is issued or counted");
    let app_token = app.obtain_app_token("write:accounts").await;
    let sign_up_fields = [
        ("username", "bob"),
        ("email", "bob@example.org"),
        ("password", "correct horse"),
        ("agreement", "true"),
    ];
    let app_client = app.http.with_token(&app_token);
    assert_eq!(
        app_client.send("POST /api/v1/accounts", encode_form(&sign_up_fields)).await.status,
        200
    );
    assert_eq!(login(&service, "alice", "correct horse alice").await.status, 200);

    let scrape = Scrape::parse(&service.metrics().await);
    for grant in ["authorization_code", "client_credentials", "sign_up", "matrix_login"] {
        let count = scrape.value("belfry_tokens_issued_total", &[("grant", grant)]);
        assert_eq!(count, Some(1.0), "{grant}");
    }
}
