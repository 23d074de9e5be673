//! Removal of an app's access at `/oauth/account`.

use axum::http::StatusCode;
use belfry::auth::tokens::{FirstPartyApp, TokenIssuer};
use serde_json::{Value, json};

use super::account::{ACCOUNT, authorize_app, register_app, start_signed_in};
use super::pages::assert_security_headers;
use crate::support::browser::{encode_form, visible_text};
use crate::support::oauth_client::{expect_error, oauth_error};
use crate::support::process::{add_account, run_successfully};
use crate::support::{Browser, OAuthClient, Process, Service, TestResponse, any_events};

const REMOVE: &str = "/oauth/account/remove_app";
const REMOVED: &str = "/oauth/account?notice=app-removed";

/// Returns the ID of an app, as in the value of its button.
async fn app_id(service: &Service, client: &OAuthClient) -> String {
    service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id.to_string()
}

async fn remove(browser: &mut Browser, page: &TestResponse, app: &str) -> TestResponse {
    browser.submit(page, REMOVE, &[("app", app)]).await
}

async fn status(service: &Service, token: &str) -> u16 {
    service
        .anonymous_client()
        .with_token(token)
        .get("/api/v1/accounts/verify_credentials")
        .await
        .status
}

#[tokio::test]
async fn tokens_of_first_party_apps_are_labelled() {
    let (service, _client, mut browser) = start_signed_in().await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse alice",
    });
    let login = "POST /_matrix/client/v3/login";
    let matrix =
        service.anonymous_client().send(login, body.to_string()).await.expect_json(StatusCode::OK);
    let matrix = matrix["access_token"].as_str().unwrap();
    let scopes = "read".parse().unwrap();
    let cli = FirstPartyApp::CommandLine("My bot");
    let issuer = TokenIssuer { store: service.store(), now: service.now(), lifetime: None };
    let bot = issuer.issue_first_party(&any_events(), cli, alice, scopes).await.unwrap();

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
    remove(&mut browser, &page, &app.to_string()).await;
    assert_eq!((status(&service, matrix).await, status(&service, bot.reveal()).await), (401, 200));
}

#[tokio::test]
async fn a_removed_app_loses_its_tokens_and_other_tokens_stay_valid() {
    let (service, client, mut browser) = start_signed_in().await;
    let other = service.register_client().await;
    let first = authorize_app(&client, &mut browser, "alice", "read").await;
    let second = authorize_app(&client, &mut browser, "alice", "read write").await;
    let others = authorize_app(&other, &mut browser, "alice", "read").await;
    service.add_account("bob").await;
    let bobs = authorize_app(&client, &mut service.browser(), "bob", "read").await;
    let app_token = client.obtain_app_token("read").await;
    let all = [&first, &second, &others, &bobs];
    for token in all {
        assert_eq!(status(&service, token).await, 200);
    }

    let page = browser.get(ACCOUNT).await;
    let app = app_id(&service, &client).await;
    page.assert_page(200, &format!("name=\"app\" value=\"{app}\""));
    let removed = remove(&mut browser, &page, &app).await;
    assert_eq!(removed.header("cache-control"), "no-store");

    let mut statuses = Vec::new();
    for token in all {
        statuses.push(status(&service, token).await);
    }
    assert_eq!(statuses, [401, 401, 200, 200]);
    let response = service
        .anonymous_client()
        .with_token(&app_token)
        .get("/api/v1/apps/verify_credentials")
        .await;
    assert_eq!(response.status, 200, "the app token stays valid");
    let rejected = service
        .anonymous_client()
        .with_token(&first)
        .get("/api/v1/accounts/verify_credentials")
        .await;
    assert_eq!(rejected.json()["error"], "The access token was revoked");

    // The confirmation is in the language of the page.
    let page = browser.get("/oauth/account?lang=de").await;
    let german = browser.submit(&page, "/oauth/account/remove_app?lang=de", &[("app", &app)]).await;
    assert_eq!(german.header("location"), "/oauth/account?lang=de&notice=app-removed");

    // The app is no longer listed, and needs consent again.
    let page = browser.follow(&removed).await;
    page.assert_page(
        200,
        "role=\"status\">\u{2068}Tusky\u{2069} no longer has access to your account.</p>",
    );
    assert!(!page.text.contains(&format!("value=\"{app}\"")));
    let again = browser.get(&client.authorize_path(&[("scope", "read")])).await;
    again.assert_page(200, "name=\"decision\"");
}

/// Anyone can register an app whose name is a message.
#[tokio::test]
async fn a_link_cannot_put_the_name_of_an_app_into_the_notice() {
    let (service, client, mut browser) = start_signed_in().await;
    authorize_app(&client, &mut browser, "alice", "read").await;
    let other = service.register_client().await;
    let (app, other) = (app_id(&service, &client).await, app_id(&service, &other).await);
    let page = browser.get(ACCOUNT).await;
    let removed = remove(&mut browser, &page, &app).await.header("location").to_owned();
    browser
        .get(&removed)
        .await
        .assert_page(200, "Tusky\u{2069} no longer has access to your account.");
    let elsewhere = service.browser().sign_in_as("alice").await;
    let other_app = removed.replace(&format!("app={app}"), &format!("app={other}"));
    let without_proof = format!("{ACCOUNT}?app={app}&notice=app-removed");
    for (mut browser, links) in
        [(browser, [other_app, without_proof]), (elsewhere, [removed.clone(), removed])]
    {
        for link in links {
            let page = browser.get(&link).await;
            page.assert_page(200, "That app no longer has access to your account.");
            assert!(!page.text.contains("Tusky"), "{link}");
        }
    }
}

#[tokio::test]
async fn a_code_of_a_removed_app_cannot_be_redeemed() {
    let (service, client, mut browser) = start_signed_in().await;
    let other = service.register_client().await;
    authorize_app(&client, &mut browser, "alice", "read").await;
    let code = client.obtain_code(&mut browser, "alice", &[("scope", "write")]).await;
    let others = other.obtain_code(&mut browser, "alice", &[]).await;
    let page = browser.get(ACCOUNT).await;
    remove(&mut browser, &page, &app_id(&service, &client).await).await;
    assert_eq!(expect_error(&client.redeem(&code, &[]).await), oauth_error(400, "invalid_grant"));
    assert_eq!(other.redeem(&others, &[]).await.status, 200);
}

#[tokio::test]
async fn removing_an_app_twice_or_an_unknown_app_is_not_an_error() {
    let (service, client, mut browser) = start_signed_in().await;
    service.add_account("bob").await;
    let other_client = register_app(&service, "Strange", "").await;
    let bobs = authorize_app(&other_client, &mut service.browser(), "bob", "read").await;
    let token = authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    let (own, foreign) = (app_id(&service, &client).await, app_id(&service, &other_client).await);
    for app in ["", "x", "-1", "99999999999999999999", "1 or 1=1", &foreign] {
        let response = remove(&mut browser, &page, app).await;
        assert_eq!((response.status, response.header("location")), (303, REMOVED), "{app}");
    }
    assert_eq!((status(&service, &token).await, status(&service, &bobs).await), (200, 200));
    for _ in 0..2 {
        let response = remove(&mut browser, &page, &own).await;
        browser.follow(&response).await.assert_page(200, "no longer has access to your account.");
        assert_eq!(status(&service, &token).await, 401);
    }
    // Without a session nothing is removed; the user must sign in first.
    let token = authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    service.execute_sql("delete from sessions");
    let response = remove(&mut browser, &page, &own).await;
    browser.follow(&response).await;
    assert_eq!(status(&service, &token).await, 200);
}

// Cross-site request forgery.
#[tokio::test]
async fn a_form_from_another_site_removes_nothing() {
    let (service, client, mut browser) = start_signed_in().await;
    let token = authorize_app(&client, &mut browser, "alice", "read").await;
    let app = app_id(&service, &client).await;
    let page = browser.get(ACCOUNT).await;
    let csrf = page.form(REMOVE)[0].1.clone();
    // The CSRF token of another browser.
    service.add_account("bob").await;
    let mut bob = service.browser();
    let bobs = bob.get("/oauth/sign_in").await;
    let bobs = bob.sign_in(&bobs, "bob").await.form("/oauth/sign_out")[0].1.clone();
    for wrong in ["", "x", &bobs] {
        let response = browser.post(REMOVE, &[("csrf", wrong), ("app", &app)]).await;
        response.assert_page(403, "could not be checked");
        assert_security_headers(&response, "'self'");
    }
    browser.post(REMOVE, &[("app", &app)]).await.assert_page(403, "could not be checked");
    for site in ["cross-site", "same-site"] {
        browser.fetch_site = Some(site);
        remove(&mut browser, &page, &app).await.assert_page(403, "could not be checked");
    }
    browser.fetch_site = None;
    let with_origin = service
        .anonymous_client()
        .with_header("cookie", &format!("__Host-belfry={}", browser.cookie()))
        .with_header("content-type", "application/x-www-form-urlencoded")
        .with_header("accept", "text/html")
        .with_header("origin", "https://evil.example");
    let body = encode_form(&[("csrf", &csrf), ("app", &app)]);
    let response = with_origin.send(&format!("POST {REMOVE}"), body).await;
    response.assert_page(403, "could not be checked");
    // A GET request removes nothing either.
    browser.get(REMOVE).await.assert_page(405, "cannot be answered");
    browser
        .get(&format!("{REMOVE}?app={app}&csrf={csrf}"))
        .await
        .assert_page(405, "cannot be answered");
    assert_eq!(status(&service, &token).await, 200);

    // Without Sec-Fetch-Site and Origin the CSRF token suffices.
    assert_eq!(remove(&mut browser, &page, &app).await.status, 303);
    assert_eq!(status(&service, &token).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_logged_once_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let password = add_account(dir.path(), "alice");
    let server = Process::start(dir.path(), &[]);
    let tokens = ["read", "push"]
        .map(|scope| run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", scope]));
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", "alice"), ("password", &*password)];
    let signed_in = browser.submit(&page, "/oauth/sign_in", &fields).await;
    let page = browser.follow(&signed_in).await;
    page.assert_page(200, "Command line");
    let app = page.text.split("name=\"app\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for _ in 0..2 {
        assert_eq!(remove(&mut browser, &page, app).await.status, 303);
    }
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("access of an app")).collect();
    let [line] = *lines else { panic!("{log}") };
    let entry: Value = serde_json::from_str(line).unwrap();
    let account = &entry["request"]["account"];
    assert!(account.is_string(), "{entry}");
    let expected = json!(["INFO", account, app, 2]);
    assert_eq!(json!([entry["level"], entry["account"], entry["app"], entry["tokens"]]), expected);
    let csrf = page.form(REMOVE)[0].1.clone();
    let secrets = [&password, browser.cookie(), &csrf, tokens[0].trim_end(), tokens[1].trim_end()];
    for secret in secrets {
        assert!(!log.contains(secret), "{log}");
    }
}
