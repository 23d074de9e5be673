//! How an app is shown the door at `/oauth/account`.

use axum::http::StatusCode;
use belfry::tokens::{MATRIX, TokenIssuer};
use serde_json::{Value, json};

use super::account::{ACCOUNT, app_named, let_in, with_alice, words};
use super::pages::guarded;
use crate::support::browser::form;
use crate::support::client::{error_of, refused};
use crate::support::process::{add_account, run_successfully};
use crate::support::{Answer, Browser, Client, Process, Service};

const REMOVE: &str = "/oauth/account/remove_app";

/// The number of an app, as its button carries it.
async fn number(service: &Service, client: &Client) -> String {
    service.store().app_by_client_id(&client.id).await.unwrap().unwrap().id.to_string()
}

async fn remove(browser: &mut Browser, page: &Answer, app: &str) -> Answer {
    browser.submit(page, REMOVE, &[("app", app)]).await
}

async fn status(service: &Service, token: &str) -> u16 {
    service.anyone().bearing(token).get("/api/v1/accounts/verify_credentials").await.status
}

#[tokio::test]
async fn tokens_that_were_issued_without_oauth_are_shown_for_what_they_are() {
    let (service, _client, mut browser) = with_alice().await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse alice",
    });
    let login = "POST /_matrix/client/v3/login";
    let matrix = service.anyone().call(login, body.to_string()).await.expect(StatusCode::OK);
    let matrix = matrix["access_token"].as_str().unwrap();
    let read = "read".parse().unwrap();
    let cli = ("cli:My bot", "My bot");
    let issuer = TokenIssuer { store: service.store(), now: service.now(), lifetime: None };
    let bot = issuer.issue_first_party(cli, alice, None, read).await.unwrap();

    let page = browser.get(ACCOUNT).await;
    let shown = words(&page);
    for text in [
        "Matrix clients|Apps in which you signed in with your password.|",
        "My bot|Issued by those who run this server.|See everything in your account|",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    // They are removed like any other.
    let app = service.store().app_by_client_id(MATRIX.0).await.unwrap().unwrap().id;
    remove(&mut browser, &page, &app.to_string()).await;
    assert_eq!((status(&service, matrix).await, status(&service, bot.reveal()).await), (401, 200));
}

// Attack 70.
#[tokio::test]
async fn a_removed_app_has_no_token_and_nobody_else_loses_one() {
    let (service, client, mut browser) = with_alice().await;
    let other = service.client().await;
    let first = let_in(&client, &mut browser, "alice", "read").await;
    let second = let_in(&client, &mut browser, "alice", "read write").await;
    let others = let_in(&other, &mut browser, "alice", "read").await;
    service.add_account("bob").await;
    let bobs = let_in(&client, &mut service.browser(), "bob", "read").await;
    let own = client.own_token("read").await;
    let all = [&first, &second, &others, &bobs];
    for token in all {
        assert_eq!(status(&service, token).await, 200);
    }

    let page = browser.get(ACCOUNT).await;
    let app = number(&service, &client).await;
    page.page(200, &format!("name=\"app\" value=\"{app}\""));
    let answer = remove(&mut browser, &page, &app).await;
    assert_eq!((answer.status, answer.header("location")), (303, ACCOUNT));
    assert_eq!(answer.header("cache-control"), "no-store");

    let mut seen = Vec::new();
    for token in all {
        seen.push(status(&service, token).await);
    }
    assert_eq!(seen, [401, 401, 200, 200]);
    let whose = service.anyone().bearing(&own).get("/api/v1/apps/verify_credentials").await;
    assert_eq!(whose.status, 200, "the app's own token is not alice's to end");
    let refused = service.anyone().bearing(&first).get("/api/v1/accounts/verify_credentials").await;
    assert_eq!(refused.json()["error"], "The access token was revoked");

    // In the language of the page.
    let page = browser.get("/oauth/account?lang=de").await;
    let german = browser.submit(&page, "/oauth/account/remove_app?lang=de", &[("app", &app)]).await;
    assert_eq!(german.header("location"), "/oauth/account?lang=de");

    // The app is gone from the page, and asks again when it comes back.
    let page = browser.follow(&answer).await;
    assert!(!page.text.contains(&format!("value=\"{app}\"")));
    let again = browser.get(&client.authorize(&[("scope", "read")])).await;
    again.page(200, "name=\"decision\"");
}

// Attack 70.
#[tokio::test]
async fn a_code_of_a_removed_app_is_not_spent() {
    let (service, client, mut browser) = with_alice().await;
    let other = service.client().await;
    let_in(&client, &mut browser, "alice", "read").await;
    let code = client.code(&mut browser, "alice", &[("scope", "write")]).await;
    let others = other.code(&mut browser, "alice", &[]).await;
    let page = browser.get(ACCOUNT).await;
    remove(&mut browser, &page, &number(&service, &client).await).await;
    assert_eq!(error_of(&client.spend(&code, &[]).await), refused(400, "invalid_grant"));
    assert_eq!(other.spend(&others, &[]).await.status, 200);
}

#[tokio::test]
async fn to_remove_twice_or_what_is_not_there_is_answered_alike() {
    let (service, client, mut browser) = with_alice().await;
    service.add_account("bob").await;
    let strangers = app_named(&service, "Strange", "").await;
    let bobs = let_in(&strangers, &mut service.browser(), "bob", "read").await;
    let token = let_in(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    let (own, foreign) = (number(&service, &client).await, number(&service, &strangers).await);
    for app in ["", "x", "-1", "99999999999999999999", "1 or 1=1", &foreign] {
        let answer = remove(&mut browser, &page, app).await;
        assert_eq!((answer.status, answer.header("location")), (303, ACCOUNT), "{app}");
    }
    assert_eq!((status(&service, &token).await, status(&service, &bobs).await), (200, 200));
    for _ in 0..2 {
        let answer = remove(&mut browser, &page, &own).await;
        assert_eq!((answer.status, answer.header("location")), (303, ACCOUNT));
        assert_eq!(status(&service, &token).await, 401);
    }
    // A session that is over ends nothing; one signs in first.
    let token = let_in(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    service.store().end_sessions(alice).await.unwrap();
    let answer = remove(&mut browser, &page, &own).await;
    browser.follow(&answer).await;
    assert_eq!(status(&service, &token).await, 200);
}

// Attack 95.
#[tokio::test]
async fn a_form_of_another_site_removes_nothing() {
    let (service, client, mut browser) = with_alice().await;
    let token = let_in(&client, &mut browser, "alice", "read").await;
    let app = number(&service, &client).await;
    let page = browser.get(ACCOUNT).await;
    let csrf = page.form(REMOVE)[0].1.clone();
    // A token that is good in another browser.
    service.add_account("bob").await;
    let mut bob = service.browser();
    let bobs = bob.get("/oauth/sign_in").await;
    let bobs = bob.sign_in(&bobs, "bob").await.form("/oauth/sign_out")[0].1.clone();
    for wrong in ["", "x", &bobs] {
        let answer = browser.post(REMOVE, &[("csrf", wrong), ("app", &app)]).await;
        answer.page(403, "could not be checked");
        guarded(&answer, "'self'");
    }
    browser.post(REMOVE, &[("app", &app)]).await.page(403, "could not be checked");
    for site in ["cross-site", "same-site"] {
        browser.fetch_site = Some(site);
        remove(&mut browser, &page, &app).await.page(403, "could not be checked");
    }
    browser.fetch_site = None;
    let with_origin = service
        .anyone()
        .with("cookie", &format!("__Host-belfry={}", browser.cookie()))
        .with("content-type", "application/x-www-form-urlencoded")
        .with("accept", "text/html")
        .with("origin", "https://evil.example");
    let body = form(&[("csrf", &csrf), ("app", &app)]);
    let answer = with_origin.call(&format!("POST {REMOVE}"), body).await;
    answer.page(403, "could not be checked");
    // A link removes nothing either.
    browser.get(REMOVE).await.page(405, "cannot be answered");
    browser.get(&format!("{REMOVE}?app={app}&csrf={csrf}")).await.page(405, "cannot be answered");
    assert_eq!(status(&service, &token).await, 200);

    // A browser that says nothing of where it comes from: the token protects, and lets in.
    assert_eq!(remove(&mut browser, &page, &app).await.status, 303);
    assert_eq!(status(&service, &token).await, 401);
}

// Attack 70: one entry for who looks into it later, and no secret in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_one_line_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let password = add_account(folder.path(), "alice");
    let server = Process::start(folder.path(), &[]);
    let tokens = ["read", "push"]
        .map(|it| run_successfully(folder.path(), &["token", "issue", "alice", "--scopes", it]));
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", "alice"), ("password", &*password)];
    let welcome = browser.submit(&page, "/oauth/sign_in", &fields).await;
    let page = browser.follow(&welcome).await;
    page.page(200, "Command line");
    let app = page.text.split("name=\"app\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for _ in 0..2 {
        assert_eq!(remove(&mut browser, &page, app).await.status, 303);
    }
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("access of an app")).collect();
    let [line] = *lines else { panic!("{log}") };
    let told: Value = serde_json::from_str(line).unwrap();
    let expected = json!(["INFO", "alice", app.parse::<i64>().unwrap(), 2]);
    assert_eq!(json!([told["level"], told["account"], told["app"], told["tokens"]]), expected);
    let csrf = page.form(REMOVE)[0].1.clone();
    let secrets = [&password, browser.cookie(), &csrf, tokens[0].trim_end(), tokens[1].trim_end()];
    for secret in secrets {
        assert!(!log.contains(secret), "{log}");
    }
}
