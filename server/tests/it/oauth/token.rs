//! `POST /oauth/token`: responses, and the precedence of errors.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use crate::support::Service;
use crate::support::oauth_client::{expect_token, oauth_error, status_and_error};
use crate::support::service::config_with;

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

#[tokio::test]
async fn a_code_is_redeemed_for_a_user_token() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let scope = [("scope", "write:statuses read")];
    let code = client.obtain_code(&mut service.browser(), "alice", &scope).await;
    // The scope parameter has no effect here.
    let response = client.redeem(&code, &[("scope", "write")]).await;
    assert_eq!(response.json()["scope"], "write:statuses read");
    let alice = service.anonymous_client().with_token(&expect_token(&response));
    let account = alice.get("/api/v1/accounts/verify_credentials").await;
    assert_eq!(account.expect_json(StatusCode::OK)["username"], "alice");
}

#[tokio::test]
async fn an_app_tokens_scope_defaults_to_read() {
    let service = Service::start().await;
    let client = service.register_client().await;
    for fields in [vec![GRANT], vec![GRANT, ("scope", "")]] {
        assert_eq!(client.post("/oauth/token", &fields).await.json()["scope"], "read");
    }
    // Parameters of other grant types are ignored.
    let fields = [GRANT, ("redirect_uri", "nowhere"), ("code", "x"), ("code_verifier", "x")];
    assert_eq!(client.post("/oauth/token", &fields).await.status, 200);
}

// RFC 6749, section 2.3.1: credentials must not be in the URL.
#[tokio::test]
async fn the_query_is_ignored_and_only_post_is_allowed() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let query = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        client.id, client.secret
    );
    let response = client.http.send(&format!("POST /oauth/token?{query}"), "").await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_request"));
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        let response = service.anonymous_client().get(&format!("{path}?{query}")).await;
        assert_eq!(status_and_error(&response), oauth_error(405, "invalid_request"), "{path}");
        assert_eq!(response.header("allow"), "POST");
    }
}

#[tokio::test]
async fn a_token_expires_after_the_configured_lifetime() {
    let config_with_lifetime =
        config_with(|config| config.oauth.token_lifetime = Some(Duration::from_mins(30)));
    let service = Service::start_with(config_with_lifetime).await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let app_token_response = client.post("/oauth/token", &[GRANT]).await;
    let code = client.obtain_code(&mut service.browser(), "alice", &[]).await;
    let user_token_response = client.redeem(&code, &[]).await;
    for response in [app_token_response, user_token_response] {
        assert_eq!(response.json()["expires_in"], 1800);
        let token_client = service.anonymous_client().with_token(&expect_token(&response));
        service.clock.advance(1799);
        assert_eq!(token_client.get("/api/v1/apps/verify_credentials").await.status, 200);
        service.clock.advance(1);
        let response = token_client.get("/api/v1/apps/verify_credentials").await;
        assert_eq!(
            (response.status, &response.json()["error"]),
            (401, &json!("The access token expired"))
        );
        service.clock.advance(-1800);
    }
}
