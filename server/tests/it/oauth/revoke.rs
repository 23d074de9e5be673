//! `POST /oauth/revoke`.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::oauth_client::expect_token;
use crate::support::{OAuthClient, Service};

// RFC 7009, section 2.2.
#[tokio::test]
async fn a_client_may_revoke_its_own_token_repeatedly() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let code = client.obtain_code(&mut service.browser(), "alice", &[]).await;
    let user_token = expect_token(&client.redeem(&code, &[]).await);
    for token in [client.obtain_app_token("read").await, user_token] {
        let token_client = service.anonymous_client().with_token(&token);
        assert_eq!(token_client.get("/api/v1/apps/verify_credentials").await.status, 200);
        for hint in ["refresh_token", "nonsense"] {
            let fields = [("token", &*token), ("token_type_hint", hint)];
            let response = client.post("/oauth/revoke", &fields).await;
            assert_eq!(response.expect_json(StatusCode::OK), json!({}));
            assert_eq!(response.header("cache-control"), "no-store");
        }
        let response = token_client.get("/api/v1/apps/verify_credentials").await;
        assert_eq!(response.status, 401);
        assert_eq!(response.json(), json!({ "error": "The access token was revoked" }));
    }
}

#[tokio::test]
async fn every_rejected_revocation_gets_the_same_error() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let other_client = service.register_client().await;
    let own_token = client.obtain_app_token("read").await;
    let other_token = other_client.obtain_app_token("read").await;
    let body = json!({
        "error": "unauthorized_client",
        "error_description": "You are not authorized to revoke this token",
    });
    let wrong_secret = OAuthClient { secret: "wrong".to_owned(), ..client.clone() };
    let unknown_client = OAuthClient { id: "unknown".to_owned(), ..client.clone() };
    let without_secret = OAuthClient { secret: String::new(), ..client.clone() };
    for (sender, fields) in [
        (&client, vec![("token", &*other_token)]),
        (&client, vec![("token", "random")]),
        (&client, vec![("token", "")]),
        (&client, vec![]),
        (&wrong_secret, vec![("token", &*own_token)]),
        (&unknown_client, vec![("token", &*own_token)]),
        (&without_secret, vec![("token", &*own_token)]),
    ] {
        let response = sender.post("/oauth/revoke", &fields).await;
        assert_eq!((response.status, response.json()), (403, body.clone()));
        assert_eq!(response.header("www-authenticate"), "");
    }
    for token in [own_token, other_token] {
        let token_client = service.anonymous_client().with_token(&token);
        assert_eq!(token_client.get("/api/v1/apps/verify_credentials").await.status, 200);
    }
}
