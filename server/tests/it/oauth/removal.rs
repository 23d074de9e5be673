//! Removal of an app's access at `/oauth/account`.

use axum::http::StatusCode;
use belfry::auth::tokens::{FirstPartyApp, TokenIssuer};
use serde_json::{Value, json};

use super::account::{ACCOUNT, authorize_app, register_app, start_signed_in};
use crate::support::browser::visible_text;
use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::process::{add_account, run_successfully};
use crate::support::{Browser, OAuthClient, ServerProcess, Service, TestResponse, any_events};

const REMOVE_APP: &str = "/oauth/account/remove_app";
const REMOVED_PAGE: &str = "/oauth/account?notice=app-removed";

/// Returns an app's ID, as in the value of its button.
async fn app_id(service: &Service, client: &OAuthClient) -> String {
    service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id.to_string()
}

async fn remove_app(browser: &mut Browser, page: &TestResponse, app: &str) -> TestResponse {
    browser.submit(page, REMOVE_APP, &[("app", app)]).await
}

async fn token_status(service: &Service, token: &str) -> u16 {
    service
        .anonymous_client()
        .with_token(token)
        .get("/api/v1/accounts/verify_credentials")
        .await
        .status
}

#[tokio::test]
async fn first_party_apps_are_labelled_and_can_be_removed() {
    let (service, _client, mut browser) = start_signed_in().await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse alice",
    });
    let login = "POST /_matrix/client/v3/login";
    let response =
        service.anonymous_client().send(login, body.to_string()).await.expect_json(StatusCode::OK);
    let matrix_token = response["access_token"].as_str().unwrap();
    let scopes = "read".parse().unwrap();
    let cli = FirstPartyApp::CommandLine("My bot");
    let issuer = TokenIssuer { store: service.store(), now: service.now(), lifetime: None };
    let bot_token =
        issuer.issue_first_party_token(&any_events(), cli, alice, scopes).await.unwrap();

    let page = browser.get(ACCOUNT).await;
    let page_text = visible_text(&page);
    for text in [
        "Matrix clients|Apps in which you signed in with your password.|",
        "My bot|Issued by those who run this server.|See everything in your account|",
    ] {
        assert!(page_text.contains(text), "{page_text}");
    }
    // First-party apps can be removed like other apps.
    let app = service.store().app_by_client_id("matrix").await.unwrap().unwrap().app.id;
    remove_app(&mut browser, &page, &app.to_string()).await;
    assert_eq!(
        (
            token_status(&service, matrix_token).await,
            token_status(&service, bot_token.reveal()).await
        ),
        (401, 200)
    );
}

#[tokio::test]
async fn a_removed_app_loses_its_tokens_and_other_tokens_stay_valid() {
    let (service, client, mut browser) = start_signed_in().await;
    let other_client = service.register_client().await;
    let first_token = authorize_app(&client, &mut browser, "alice", "read").await;
    let second_token = authorize_app(&client, &mut browser, "alice", "read write").await;
    let other_apps_token = authorize_app(&other_client, &mut browser, "alice", "read").await;
    service.add_account("bob").await;
    let bobs_token = authorize_app(&client, &mut service.browser(), "bob", "read").await;
    let app_token = client.obtain_app_token("read").await;
    let user_tokens = [&first_token, &second_token, &other_apps_token, &bobs_token];
    for token in user_tokens {
        assert_eq!(token_status(&service, token).await, 200);
    }

    let page = browser.get(ACCOUNT).await;
    let app = app_id(&service, &client).await;
    page.assert_page(200, &format!("name=\"app\" value=\"{app}\""));
    let removal = remove_app(&mut browser, &page, &app).await;
    assert_eq!(removal.header("cache-control"), "no-store");

    let mut statuses = Vec::new();
    for token in user_tokens {
        statuses.push(token_status(&service, token).await);
    }
    assert_eq!(statuses, [401, 401, 200, 200]);
    let response = service
        .anonymous_client()
        .with_token(&app_token)
        .get("/api/v1/apps/verify_credentials")
        .await;
    assert_eq!(response.status, 200, "the app token stays valid");
    let rejection = service
        .anonymous_client()
        .with_token(&first_token)
        .get("/api/v1/accounts/verify_credentials")
        .await;
    assert_eq!(rejection.json()["error"], "The access token was revoked");

    // The confirmation is in the language of the page.
    let page = browser.get("/oauth/account?lang=de").await;
    let german_removal =
        browser.submit(&page, "/oauth/account/remove_app?lang=de", &[("app", &app)]).await;
    assert_eq!(german_removal.header("location"), "/oauth/account?lang=de&notice=app-removed");

    // The app is no longer listed, and needs consent again.
    let page = browser.follow(&removal).await;
    page.assert_page(200, "role=\"status\">That app no longer has access to your account.</p>");
    assert!(!page.text.contains(&format!("value=\"{app}\"")));
    let consent_page = browser.get(&client.authorize_path(&[("scope", "read")])).await;
    consent_page.assert_page(200, "name=\"decision\"");
}

#[tokio::test]
async fn a_removed_apps_code_cannot_be_redeemed() {
    let (service, client, mut browser) = start_signed_in().await;
    let other_client = service.register_client().await;
    authorize_app(&client, &mut browser, "alice", "read").await;
    let code = client.obtain_code(&mut browser, "alice", &[("scope", "write")]).await;
    let other_code = other_client.obtain_code(&mut browser, "alice", &[]).await;
    let page = browser.get(ACCOUNT).await;
    remove_app(&mut browser, &page, &app_id(&service, &client).await).await;
    assert_eq!(
        status_and_error(&client.redeem(&code, &[]).await),
        oauth_error(400, "invalid_grant")
    );
    assert_eq!(other_client.redeem(&other_code, &[]).await.status, 200);
}

#[tokio::test]
async fn removing_an_app_twice_or_an_unknown_app_is_not_an_error() {
    let (service, client, mut browser) = start_signed_in().await;
    service.add_account("bob").await;
    let other_client = register_app(&service, "Strange", "").await;
    let bobs_token = authorize_app(&other_client, &mut service.browser(), "bob", "read").await;
    let token = authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    let own_app = app_id(&service, &client).await;
    let other_app = app_id(&service, &other_client).await;
    for app in ["", "x", "-1", "99999999999999999999", "1 or 1=1", &other_app] {
        let response = remove_app(&mut browser, &page, app).await;
        assert_eq!((response.status, response.header("location")), (303, REMOVED_PAGE), "{app}");
    }
    assert_eq!(
        (token_status(&service, &token).await, token_status(&service, &bobs_token).await),
        (200, 200)
    );
    for _ in 0..2 {
        let response = remove_app(&mut browser, &page, &own_app).await;
        browser.follow(&response).await.assert_page(200, "no longer has access to your account.");
        assert_eq!(token_status(&service, &token).await, 401);
    }
    // Without a session nothing is removed; the user must sign in first.
    let token = authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    service.execute_sql("delete from sessions");
    let response = remove_app(&mut browser, &page, &own_app).await;
    browser.follow(&response).await;
    assert_eq!(token_status(&service, &token).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_logged_once_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let password = add_account(dir.path(), "alice");
    let server = ServerProcess::start(dir.path(), &[]);
    let tokens = ["read", "push"]
        .map(|scope| run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", scope]));
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", "alice"), ("password", &*password)];
    let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
    let page = browser.follow(&response).await;
    page.assert_page(200, "Command line");
    let app = page.text.split("name=\"app\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for _ in 0..2 {
        assert_eq!(remove_app(&mut browser, &page, app).await.status, 303);
    }
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("app access revoked")).collect();
    let [line] = *lines else { panic!("{log}") };
    let entry: Value = serde_json::from_str(line).unwrap();
    let account = &entry["request"]["account"];
    assert!(account.is_string(), "{entry}");
    let expected = json!(["INFO", account, app, 2]);
    assert_eq!(json!([entry["level"], entry["account"], entry["app"], entry["tokens"]]), expected);
    let csrf = page.hidden_fields(REMOVE_APP)[0].1.clone();
    let secrets =
        [&password, browser.session_cookie(), &csrf, tokens[0].trim_end(), tokens[1].trim_end()];
    for secret in secrets {
        assert!(!log.contains(secret), "{log}");
    }
}
