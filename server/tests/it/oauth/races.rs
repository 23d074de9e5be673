//! Concurrent requests to the OAuth endpoints.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::browser::encode_form;
use crate::support::oauth_client::{CALLBACK, expect_token, oauth_error, status_and_error};
use crate::support::process::run_successfully;
use crate::support::service::unlimited_config;
use crate::support::{Browser, ServerProcess, Service, TestDatabase};

/// Redeems one code 200 times concurrently, and asserts that exactly one redemption succeeds and
/// that the replays revoke its token.
async fn redeem_200_times(database: TestDatabase) {
    let service = Service::start_on(database, unlimited_config()).await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let code: Arc<str> = client.obtain_code(&mut service.browser(), "alice", &[]).await.into();
    let redemptions: JoinSet<_> = (0..200)
        .map(|_| {
            let client = client.clone();
            let code = Arc::clone(&code);
            async move { client.redeem(&code, &[]).await }
        })
        .collect();
    let mut tokens = Vec::new();
    for response in redemptions.join_all().await {
        if response.status == 200 {
            tokens.push(expect_token(&response));
        } else {
            assert_eq!(status_and_error(&response), oauth_error(400, "invalid_grant"));
        }
    }
    assert_eq!(tokens.len(), 1);
    // The others were replays, so the first token is revoked (RFC 6749, section 4.1.2).
    let token_client = service.anonymous_client().with_token(&tokens[0]);
    assert_eq!(token_client.get("/api/v1/apps/verify_credentials").await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_200_concurrent_redemptions_succeeds_on_sqlite() {
    redeem_200_times(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_200_concurrent_redemptions_succeeds_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        redeem_200_times(database).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_200_concurrent_redemptions_succeeds_on_two_nodes() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--database", database.url().unwrap(), "--limits", "off"];
    let nodes = [
        ServerProcess::start(dir.path(), &arguments),
        ServerProcess::start(dir.path(), &arguments),
    ];
    let output =
        run_successfully(dir.path(), &["account", "add", "alice", arguments[0], arguments[1]]);
    let password = output.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();

    let http_client = reqwest::Client::new();
    let app: serde_json::Value = http_client
        .post(format!("{}/api/v1/apps", nodes[0].url))
        .form(&[("client_name", "A"), ("redirect_uris", CALLBACK)])
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let id = app["client_id"].as_str().unwrap();
    let secret = app["client_secret"].as_str().unwrap();
    // Successive steps are sent to different nodes.
    let path = crate::support::browser::with_query(
        "/oauth/authorize",
        &[("response_type", "code"), ("client_id", id), ("redirect_uri", CALLBACK)],
    );
    let mut browser = Browser::over_http(&nodes[0].url);
    let page = browser.get(&path).await;
    let fields = [("username", "alice"), ("password", password)];
    browser.switch_node(&nodes[1].url);
    let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
    browser.switch_node(&nodes[0].url);
    let page = browser.follow(&response).await;
    let code = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK)["code"].clone();

    let body = encode_form(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", CALLBACK),
        ("client_id", id),
        ("client_secret", secret),
    ]);
    let redemptions: JoinSet<_> = (0..200)
        .map(|number| {
            let request = http_client
                .post(format!("{}/oauth/token", nodes[number % 2].url))
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body.clone());
            async move { request.send().await.unwrap().status().as_u16() }
        })
        .collect();
    let statuses = redemptions.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 199, "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_approvals_gets_a_code() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[])).await;
    let page = browser.sign_in(&page, "alice").await;
    let hidden_fields = page.hidden_fields("/oauth/authorize");
    let mut fields: Vec<(&str, &str)> =
        hidden_fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.push(("decision", "allow"));
    let body = encode_form(&fields);
    let cookie = format!("__Host-belfry={}", browser.session_cookie());
    let approvals: JoinSet<_> = (0..32)
        .map(|_| {
            let session_client = client.http.with_header("cookie", &cookie);
            let body = body.clone();
            async move { session_client.send("POST /oauth/authorize", body).await.status }
        })
        .collect();
    let statuses = approvals.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 31, "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_requests_are_served_during_a_hundred_sign_in_attempts() {
    let service = Service::start_with(unlimited_config()).await;
    let alice = service.user_client("alice").await;
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let csrf = page.hidden_fields("/oauth/sign_in")[0].1.clone();
    let body = encode_form(&[("csrf", &csrf), ("username", "alice"), ("password", "wrong")]);
    let session_client = service
        .anonymous_client()
        .with_header("cookie", &format!("__Host-belfry={}", browser.session_cookie()))
        .with_header("content-type", "application/x-www-form-urlencoded");
    let attempts: JoinSet<_> = (0..100)
        .map(|_| {
            let client = session_client.clone();
            let body = body.clone();
            async move { client.send("POST /oauth/sign_in", body).await.status }
        })
        .collect();
    // Other requests are served before the attempts are awaited.
    for _ in 0..20 {
        let request = alice.get("/_matrix/client/v3/pushrules/");
        let response = tokio::time::timeout(Duration::from_mins(2), request).await.unwrap();
        assert_eq!(response.status, 200);
    }
    let statuses = tokio::time::timeout(Duration::from_mins(2), attempts.join_all()).await.unwrap();
    assert_eq!(statuses.len(), 100);
    assert!(statuses.iter().all(|status| matches!(status, 401 | 503)), "{statuses:?}");
    assert!(statuses.contains(&401), "{statuses:?}");
}
