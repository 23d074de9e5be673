//! Snapshots of apps, accounts, tokens, and the endpoints that describe them.

use std::time::Duration;

use super::{Cases, Exchange, FORM_TYPE, assert_snapshot};
use crate::support::browser::encode_form;
use crate::support::oauth_client::expect_token;
use crate::support::service::config_with;
use crate::support::{OAuthClient, Service};

/// Returns a service whose tokens expire after an hour.
async fn service_with_token_lifetime() -> Service {
    let config_with_lifetime =
        config_with(|config| config.oauth.token_lifetime = Some(Duration::from_hours(1)));
    Service::start_with(config_with_lifetime).await
}

/// Posts a form with the client's credentials.
async fn post(client: &OAuthClient, path: &str, fields: &[(&str, &str)]) -> Exchange {
    Exchange::new(&format!("POST {path}"), &client.post(path, fields).await)
}

/// Approves these scopes as Alice, and redeems the code.
async fn redeem_code(service: &Service, client: &OAuthClient, scopes: &str) -> Exchange {
    let code = client.obtain_code(&mut service.browser(), "alice", &[("scope", scopes)]).await;
    Exchange::new("POST /oauth/token", &client.redeem(&code, &[]).await)
}

#[tokio::test]
async fn app_registration_matches_its_snapshot() {
    let service = Service::start().await;
    let fields = encode_form(&[
        ("client_name", "Tusky"),
        ("redirect_uris", "https://app.example/cb\nurn:ietf:wg:oauth:2.0:oob"),
        ("scopes", "read write push"),
        ("website", "https://app.example"),
    ]);
    let client = service.anonymous_client().with_header("content-type", FORM_TYPE);
    client.exchange("POST /api/v1/apps", fields).await.assert_snapshot("app_registration");
}

#[tokio::test]
async fn app_credentials_match_their_snapshot() {
    let service = Service::start().await;
    let token = service.register_client().await.obtain_app_token("read").await;
    let client = service.anonymous_client().with_token(&token);
    let app = client.exchange("GET /api/v1/apps/verify_credentials", "").await;
    app.assert_snapshot("app_verify_credentials");
}

#[tokio::test]
async fn account_credentials_match_their_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read:accounts").await;
    let account = alice.exchange("GET /api/v1/accounts/verify_credentials", "").await;
    account.assert_snapshot("account_verify_credentials");
}

#[tokio::test]
async fn sign_up_matches_its_snapshot() {
    let service = Service::start().await;
    let token = service.register_client().await.obtain_app_token("write:accounts").await;
    let client =
        service.anonymous_client().with_token(&token).with_header("content-type", FORM_TYPE);
    let fields = encode_form(&[
        ("username", "alice"),
        ("email", "alice@example.org"),
        ("password", "correct horse"),
        ("agreement", "true"),
    ]);
    client.exchange("POST /api/v1/accounts", fields).await.assert_snapshot("sign_up");
}

#[tokio::test]
async fn authorization_response_matches_its_snapshot() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("state", "a b")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let approval = browser.decide(&page, "allow").await.redirect_parameters(&client.redirect_uri);
    let page =
        browser.get(&client.authorize_path(&[("state", "a b"), ("scope", "read push")])).await;
    let denial = browser.decide(&page, "deny").await.redirect_parameters(&client.redirect_uri);
    assert_snapshot("authorization_response", &approval);
    assert_snapshot("authorization_response_denied", &denial);
}

#[tokio::test]
async fn user_token_matches_its_snapshot() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    redeem_code(&service, &client, "read push").await.assert_snapshot("token_authorization_code");
}

#[tokio::test]
async fn user_token_with_a_lifetime_matches_its_snapshot() {
    let service = service_with_token_lifetime().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let token = redeem_code(&service, &client, "read push").await;
    token.assert_snapshot("token_authorization_code_with_lifetime");
}

#[tokio::test]
async fn app_token_matches_its_snapshot() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let fields = [("grant_type", "client_credentials")];
    post(&client, "/oauth/token", &fields).await.assert_snapshot("token_client_credentials");
}

#[tokio::test]
async fn app_token_with_a_lifetime_matches_its_snapshot() {
    let service = service_with_token_lifetime().await;
    let client = service.register_client().await;
    let fields = [("grant_type", "client_credentials"), ("scope", "read write:accounts")];
    let token = post(&client, "/oauth/token", &fields).await;
    token.assert_snapshot("token_client_credentials_with_lifetime");
}

#[tokio::test]
async fn revocation_matches_its_snapshot() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let token = client.obtain_app_token("read").await;
    post(&client, "/oauth/revoke", &[("token", &token)]).await.assert_snapshot("revocation");
}

#[tokio::test]
async fn introspection_matches_its_snapshot() {
    let service = service_with_token_lifetime().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut cases = Cases(Vec::new());
    let code = client.obtain_code(&mut service.browser(), "alice", &[("scope", "read push")]).await;
    let user_token = expect_token(&client.redeem(&code, &[]).await);
    let app_token = client.obtain_app_token("read").await;
    for (case, token) in [
        ("active user token", &*user_token),
        ("active app token", &app_token),
        ("unknown token", "unknown"),
    ] {
        cases.add(case, post(&client, "/oauth/introspect", &[("token", token)]).await);
    }
    assert_snapshot("introspection", &cases);
}

#[tokio::test]
async fn introspection_of_a_token_without_a_lifetime_matches_its_snapshot() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let token = client.obtain_app_token("read").await;
    let introspection = post(&client, "/oauth/introspect", &[("token", &token)]).await;
    introspection.assert_snapshot("introspection_without_lifetime");
}

#[tokio::test]
async fn userinfo_matches_its_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "profile").await;
    alice.exchange("GET /oauth/userinfo", "").await.assert_snapshot("userinfo");
}

#[tokio::test]
async fn gateway_check_matches_its_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read write:media").await;
    let proxy = alice
        .with_header("x-original-method", "POST")
        .with_header("x-original-uri", "/api/v1/media");
    let check = proxy.exchange("GET /gateway/check?scope=write:media", "").await;
    check.assert_snapshot("gateway_check");
}
