//! `POST /oauth/token`: what is answered, and in which order things are wrong.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use crate::support::client::{error_of, refused, token_of};
use crate::support::service::config;
use crate::support::{Client, Service};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

// Attack 60: the answer is kept by nobody.
#[tokio::test]
async fn a_token_is_told_with_its_type_scope_and_time_and_kept_by_nobody() {
    let service = Service::start().await;
    let client = service.client().await;
    let answer = client.post("/oauth/token", &[GRANT, ("scope", "read push")]).await;
    let token = answer.expect(StatusCode::OK);
    let access_token = token["access_token"].as_str().unwrap();
    assert_eq!(access_token.len(), 51);
    let expected = json!({
        "access_token": access_token,
        "token_type": "Bearer",
        "scope": "read push",
        "created_at": service.now().as_second(),
    });
    assert_eq!(token, expected);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("pragma"), "no-cache");
    assert_eq!(answer.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_code_gives_a_token_of_its_user() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.client().await;
    let scope = [("scope", "write:statuses read")];
    let code = client.code(&mut service.browser(), "alice", &scope).await;
    // Attack 59: a scope at this endpoint changes nothing.
    let answer = client.spend(&code, &[("scope", "write")]).await;
    assert_eq!(answer.json()["scope"], "write:statuses read");
    let alice = service.anyone().bearing(&token_of(&answer));
    let account = alice.get("/api/v1/accounts/verify_credentials").await;
    assert_eq!(account.expect(StatusCode::OK)["username"], "alice");
}

#[tokio::test]
async fn an_app_gets_read_for_itself_when_it_names_no_scope() {
    let service = Service::start().await;
    let client = service.client().await;
    for fields in [vec![GRANT], vec![GRANT, ("scope", "")]] {
        assert_eq!(client.post("/oauth/token", &fields).await.json()["scope"], "read");
    }
    // What only codes need is not looked at.
    let more = [GRANT, ("redirect_uri", "nowhere"), ("code", "x"), ("code_verifier", "x")];
    assert_eq!(client.post("/oauth/token", &more).await.status, 200);
}

// Attacks 27 to 30 and 57.
#[tokio::test]
async fn an_app_gets_only_what_it_declared() {
    let service = Service::start().await;
    let declared = "read write:statuses admin:read";
    let client = Client::register_with(service.anyone(), "https://a.example/", declared).await;
    for scope in ["read", "read:accounts", "write:statuses read:lists"] {
        let answer = client.post("/oauth/token", &[GRANT, ("scope", scope)]).await;
        assert_eq!((answer.status, &answer.json()["scope"]), (200, &json!(scope)));
    }
    for scope in
        ["write", "push", "read write", "nope", "READ", "read  push", "\"read\"", "admin:read"]
    {
        let answer = client.post("/oauth/token", &[GRANT, ("scope", scope)]).await;
        assert_eq!(error_of(&answer), refused(400, "invalid_scope"), "{scope}");
        assert_eq!(answer.header("www-authenticate"), "");
    }
    let list = client.post("/oauth/token", &[GRANT, ("scope[]", "read")]).await;
    assert_eq!(error_of(&list), refused(400, "invalid_request"));
    let without = Client::register_with(service.anyone(), "https://a.example/", "push").await;
    let answer = without.post("/oauth/token", &[GRANT]).await;
    assert_eq!(error_of(&answer), refused(400, "invalid_scope"), "read was not declared");
}

// Attack 56.
#[tokio::test]
async fn what_is_wrong_with_the_request_is_told_before_its_client_is_judged() {
    let service = Service::start().await;
    let client = service.client().await;
    let code = ("grant_type", "authorization_code");
    for (fields, error, description) in [
        (vec![], "invalid_request", "Missing required parameter: grant_type."),
        (vec![("grant_type", "")], "invalid_request", "Missing required parameter: grant_type."),
        (
            vec![GRANT, GRANT],
            "invalid_request",
            "The parameter grant_type was sent more than once.",
        ),
        (vec![code], "invalid_request", "Missing required parameter: code."),
        (vec![code, ("code", "x")], "invalid_request", "Missing required parameter: redirect_uri."),
        (
            vec![GRANT, ("scope", "read"), ("scope", "read")],
            "invalid_request",
            "The parameter scope was sent more than once.",
        ),
    ] {
        let answer = client.post("/oauth/token", &fields).await;
        let body = json!({ "error": error, "error_description": description });
        assert_eq!((answer.status, answer.json()), (400, body), "{fields:?}");
        assert_eq!(answer.header("www-authenticate"), "");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    for grant in
        ["password", "refresh_token", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer"]
    {
        let answer = client.post("/oauth/token", &[("grant_type", grant)]).await;
        assert_eq!(error_of(&answer), refused(400, "unsupported_grant_type"), "{grant}");
    }
}

// Attacks 61 and 62.
#[tokio::test]
async fn nothing_is_read_from_the_query_string_and_only_a_post_is_answered() {
    let service = Service::start().await;
    let client = service.client().await;
    let query = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        client.id, client.secret
    );
    let answer = client.caller.call(&format!("POST /oauth/token?{query}"), "").await;
    assert_eq!(error_of(&answer), refused(400, "invalid_request"));
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        let answer = service.anyone().get(&format!("{path}?{query}")).await;
        assert_eq!(error_of(&answer), refused(405, "invalid_request"), "{path}");
        assert_eq!(answer.header("allow"), "POST");
    }
}

#[tokio::test]
async fn every_token_is_a_new_one() {
    let service = Service::start().await;
    let client = service.client().await;
    assert_ne!(client.own_token("read").await, client.own_token("read").await);
}

#[tokio::test]
async fn a_token_ends_when_the_settings_say_so() {
    let short = config(|config| config.oauth.token_lifetime = Some(Duration::from_mins(30)));
    let service = Service::with(short).await;
    service.add_account("alice").await;
    let client = service.client().await;
    let own = client.post("/oauth/token", &[GRANT]).await;
    let code = client.code(&mut service.browser(), "alice", &[]).await;
    let alices = client.spend(&code, &[]).await;
    for answer in [own, alices] {
        assert_eq!(answer.json()["expires_in"], 1800);
        let caller = service.anyone().bearing(&token_of(&answer));
        service.clock.advance(1799);
        assert_eq!(caller.get("/api/v1/apps/verify_credentials").await.status, 200);
        service.clock.advance(1);
        let answer = caller.get("/api/v1/apps/verify_credentials").await;
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (401, &json!("The access token expired"))
        );
        service.clock.advance(-1800);
    }
}
