//! The consent page and the decision.

use belfry_store::Store;

use super::start_with_alice;
use crate::support::browser::encode_form;
use crate::support::oauth_client::{CALLBACK, expect_token};
use crate::support::{Browser, OAuthClient, TestResponse, any_events};

async fn open_consent_page(client: &OAuthClient, browser: &mut Browser) -> TestResponse {
    let page = browser.get(&client.authorize_path(&[])).await;
    let page = browser.sign_in(&page, "alice").await;
    page.assert_page(200, "name=\"decision\"");
    page
}

#[tokio::test]
async fn a_denied_request_returns_access_denied_and_stores_nothing() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[("state", "s")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let parameters = browser.decide(&page, "deny").await.redirect_parameters(CALLBACK);
    assert_eq!((&*parameters["error"], &*parameters["state"]), ("access_denied", "s"));
    assert_eq!(parameters["iss"], "https://ring.example/");
    assert_eq!(
        parameters["error_description"],
        "The resource owner or authorization server denied the request."
    );
    // The next request requires consent again.
    browser.get(&client.authorize_path(&[])).await.assert_page(200, "name=\"decision\"");
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let app_id = service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id;
    assert!(service.store().active_grants(alice, app_id, service.now()).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_same_scopes_are_granted_again_without_asking() {
    let (service, client, mut browser) = start_with_alice().await;
    let code = client.obtain_code(&mut browser, "alice", &[("scope", "read push")]).await;
    // A code that was not redeemed is not a grant.
    browser
        .get(&client.authorize_path(&[("scope", "read push")]))
        .await
        .assert_page(200, "decision");
    let first_token = expect_token(&client.redeem(&code, &[]).await);

    let same_scopes = [("scope", "push read"), ("state", "s")];
    let parameters =
        browser.get(&client.authorize_path(&same_scopes)).await.redirect_parameters(CALLBACK);
    assert_eq!(parameters["state"], "s");
    let second_token = expect_token(&client.redeem(&parameters["code"], &[]).await);

    for other_scopes in ["read", "read push write", "push"] {
        browser
            .get(&client.authorize_path(&[("scope", other_scopes)]))
            .await
            .assert_page(200, "decision");
    }
    let other_client = service.register_client().await;
    browser
        .get(&other_client.authorize_path(&[("scope", "read push")]))
        .await
        .assert_page(200, "decision");

    // The grant is active while one of its tokens is valid.
    client.post("/oauth/revoke", &[("token", &first_token)]).await;
    assert_eq!(browser.get(&client.authorize_path(&same_scopes)).await.status, 303);
    client.post("/oauth/revoke", &[("token", &second_token)]).await;
    browser.get(&client.authorize_path(&same_scopes)).await.assert_page(200, "decision");
}

#[tokio::test]
async fn the_website_is_shown_only_if_the_response_goes_there() {
    let (service, _, mut browser) = start_with_alice().await;
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await;
    for (redirect_uri, is_shown) in [
        ("https://tusky.app/cb", true),
        ("https://evil.example/cb", false),
        ("https://tusky.app.evil.example/cb", false),
        ("app.tusky://cb", false),
        ("http://127.0.0.1/cb", false),
    ] {
        let form_client = service
            .anonymous_client()
            .with_header("content-type", "application/x-www-form-urlencoded");
        let fields = [
            ("client_name", "Tusky"),
            ("redirect_uris", redirect_uri),
            ("website", "https://Tusky.app/about"),
        ];
        let app = form_client.send("POST /api/v1/apps", encode_form(&fields)).await.json();
        let id = app["client_id"].as_str().unwrap().to_owned();
        let secret = String::new();
        let client =
            OAuthClient { http: form_client, id, secret, redirect_uri: redirect_uri.to_owned() };
        let page = browser.get(&client.authorize_path(&[])).await;
        page.assert_page(200, "decision");
        assert_eq!(page.text.contains("<bdi>tusky.app</bdi>"), is_shown, "{redirect_uri}");
    }
}

#[tokio::test]
async fn the_page_says_that_the_operator_has_added_the_app() {
    let (service, client, mut browser) = start_with_alice().await;
    let sentence = "The people who run this server have added this app.";
    let page = open_consent_page(&client, &mut browser).await;
    assert!(!page.text.contains(sentence), "{page:?}");
    service.execute_sql("update apps set registered_by = 'operator'");
    tokio::time::sleep(Store::VISIBILITY_DELAY).await;
    browser.get(&client.authorize_path(&[])).await.assert_page(200, sentence);
}

#[tokio::test]
async fn force_login_requires_password_and_consent_again() {
    let (_service, client, mut browser) = start_with_alice().await;
    let code = client.obtain_code(&mut browser, "alice", &[]).await;
    assert_eq!(client.redeem(&code, &[]).await.status, 200);
    assert_eq!(browser.get(&client.authorize_path(&[])).await.status, 303);
    let page = browser.get(&client.authorize_path(&[("force_login", "true")])).await;
    page.assert_page(200, "name=\"username\" value=\"alice\"");

    let old_cookie = browser.session_cookie().to_owned();
    let page = browser.get(&client.authorize_path(&[("force_login", "true")])).await;
    page.assert_page(200, "name=\"password\"");
    // Neither the existing session nor a forged form bypasses the password.
    let hidden_fields = page.hidden_fields("/oauth/sign_in");
    let fields: Vec<(&str, &str)> =
        hidden_fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let resume_path = format!("/oauth/authorize/resume?request={}", hidden_fields[1].1);
    browser.get(&resume_path).await.assert_page(200, "name=\"password\"");
    let page = browser.get(&client.authorize_path(&[("force_login", "true")])).await;
    let forged_fields = [&fields[..], &[("decision", "allow")]].concat();
    browser.post("/oauth/authorize", &forged_fields).await.assert_page(400, "no longer open");

    let page = browser.sign_in(&page, "alice").await;
    page.assert_page(200, "name=\"decision\"");
    assert_ne!(browser.session_cookie(), old_cookie, "a sign-in issues a new cookie");
    assert!(
        browser.decide(&page, "allow").await.redirect_parameters(CALLBACK).contains_key("code")
    );
}

#[tokio::test]
async fn the_form_cannot_change_the_request() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = open_consent_page(&client, &mut browser).await;
    let forged_fields = [
        ("decision", "allow"),
        ("scope", "read write"),
        ("redirect_uri", "https://evil.example/"),
        ("client_id", "other"),
        ("state", "evil"),
    ];
    let parameters = browser
        .submit(&page, "/oauth/authorize", &forged_fields)
        .await
        .redirect_parameters(CALLBACK);
    assert_eq!(parameters.get("state"), None);
    assert_eq!(client.redeem(&parameters["code"], &[]).await.json()["scope"], "read");
}

#[tokio::test]
async fn query_parameters_in_a_form_post_are_ignored() {
    let (service, client, mut browser) = start_with_alice().await;
    service.add_account("bob").await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let form_fields = |page: &TestResponse, action: &str, extra_fields: &[(&str, &str)]| {
        let mut fields = page.hidden_fields(action);
        fields
            .extend(extra_fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        fields
    };
    let post = async |browser: &mut Browser, path: &str, fields: Vec<(String, String)>| {
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        browser.post(path, &fields).await
    };
    let credentials = [("username", "alice"), ("password", "correct horse alice")];
    let fields = form_fields(&page, "/oauth/sign_in", &credentials);
    let path = "/oauth/sign_in?username=bob&password=correct+horse+bob&csrf=x&request=x";
    let response = post(&mut browser, path, fields).await;
    let page = browser.follow(&response).await;
    page.assert_page(200, "@alice:ring.example");

    let path = "/oauth/authorize?decision=allow&csrf=x&request=x&scope=write&client_id=x";
    let fields = form_fields(&page, "/oauth/authorize", &[]);
    post(&mut browser, path, fields).await.assert_page(403, "could not be checked");
    let fields = form_fields(&page, "/oauth/authorize", &[("decision", "deny")]);
    let parameters = post(&mut browser, path, fields).await.redirect_parameters(CALLBACK);
    assert_eq!(parameters["error"], "access_denied");
    assert!(!parameters.contains_key("code"));
}

#[tokio::test]
async fn a_decision_is_accepted_once_and_only_from_its_session() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = open_consent_page(&client, &mut browser).await;
    // Bob posts the request of Alice's page with the CSRF token of his own session.
    service.add_account("bob").await;
    let mut bobs_browser = service.browser();
    let bobs_page = bobs_browser.get(&client.authorize_path(&[])).await;
    let bobs_page = bobs_browser.sign_in(&bobs_page, "bob").await;
    let mut forged_fields = bobs_page.hidden_fields("/oauth/authorize");
    forged_fields[1].1.clone_from(&page.hidden_fields("/oauth/authorize")[1].1);
    let fields: Vec<(&str, &str)> =
        forged_fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let fields = [&fields[..], &[("decision", "allow")]].concat();
    bobs_browser.post("/oauth/authorize", &fields).await.assert_page(400, "no longer open");

    assert_eq!(browser.decide(&page, "allow").await.status, 303);
    browser.decide(&page, "allow").await.assert_page(400, "no longer open");
    browser.decide(&page, "deny").await.assert_page(400, "no longer open");
}

#[tokio::test]
async fn a_consent_page_is_invalid_after_another_account_signs_in() {
    let (service, client, mut browser) = start_with_alice().await;
    service.add_account("bob").await;
    let alices_page = open_consent_page(&client, &mut browser).await;
    let second_page = browser.get(&client.authorize_path(&[])).await;
    let response = browser.submit(&second_page, "/oauth/sign_out", &[]).await;
    let page = browser.follow(&response).await;
    browser.sign_in(&page, "bob").await.assert_page(200, "@bob:ring.example");
    browser.decide(&alices_page, "allow").await.assert_page(403, "could not be checked");
}

#[tokio::test]
async fn switching_the_account_continues_the_same_request() {
    let (service, client, mut browser) = start_with_alice().await;
    service.add_account("bob").await;
    let page = browser.get(&client.authorize_path(&[("state", "s")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let response = browser.submit(&page, "/oauth/sign_out", &[]).await;
    let page = browser.follow(&response).await;
    page.assert_page(200, "name=\"password\"");
    let page = browser.sign_in(&page, "bob").await;
    page.assert_page(200, "@bob:ring.example");
    let parameters = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK);
    assert_eq!(parameters["state"], "s");
    let token = client.redeem(&parameters["code"], &[]).await.json();
    let bob = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    let account = bob.get("/api/v1/accounts/verify_credentials").await.json();
    assert_eq!(account["username"], "bob");
}

#[tokio::test]
async fn a_request_expires_after_an_hour() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = open_consent_page(&client, &mut browser).await;
    service.clock.advance(3600);
    browser.decide(&page, "allow").await.assert_page(400, "no longer open");
    let second_page = browser.get(&client.authorize_path(&[])).await;
    service.clock.advance(3599);
    assert_eq!(browser.decide(&second_page, "allow").await.status, 303);
}

#[tokio::test]
async fn an_app_that_is_disabled_before_the_decision_gets_no_code() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = open_consent_page(&client, &mut browser).await;
    let app_id = service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(&any_events(), app_id, Some(service.now())).await.unwrap();
    browser.decide(&page, "allow").await.assert_page(401, "invalid_client");
}

#[tokio::test]
async fn an_unknown_decision_is_rejected() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = open_consent_page(&client, &mut browser).await;
    for decision in ["", "yes", "ALLOW"] {
        browser.decide(&page, decision).await.assert_page(403, "could not be checked");
    }
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
}
