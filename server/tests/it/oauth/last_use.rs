//! The last use of apps, and the limit on their tokens.

use axum::http::StatusCode;
use jiff::Timestamp;

use crate::support::oauth_client::expect_token;
use crate::support::service::config_with;
use crate::support::{OAuthClient, Service};

/// Returns the stored last use of a registered app.
async fn last_used_at(service: &Service, client: &OAuthClient) -> Option<Timestamp> {
    service.state.flush_uses().await;
    let id = service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id;
    service.store().app(id).await.unwrap().unwrap().last_used_at
}

/// Advances the clock by two hours, after which the last use is stored again.
fn advance_two_hours(service: &Service) -> Timestamp {
    service.clock.advance(2 * 60 * 60);
    service.now()
}

#[tokio::test]
async fn every_request_with_a_valid_token_updates_its_apps_last_use() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    assert_eq!(last_used_at(&service, &client).await, None);
    let code = client.obtain_code(&mut service.browser(), "alice", &[("scope", "read push")]).await;
    let token = expect_token(&client.redeem(&code, &[]).await);
    let user_client = service.anonymous_client().with_token(&token);
    let app_token = client.obtain_app_token("read").await;
    let app_client = service.anonymous_client().with_token(&app_token);
    assert_eq!(last_used_at(&service, &client).await, Some(service.now()), "a token was issued");

    let now = advance_two_hours(&service);
    user_client.get("/_matrix/client/v3/pushrules/").await.expect_json(StatusCode::OK);
    assert_eq!(last_used_at(&service, &client).await, Some(now), "reading push rules is a use");

    let now = advance_two_hours(&service);
    app_client.get("/api/v1/apps/verify_credentials").await.expect_json(StatusCode::OK);
    assert_eq!(last_used_at(&service, &client).await, Some(now), "an API request is a use");

    let now = advance_two_hours(&service);
    let proxy =
        user_client.with_header("x-original-method", "GET").with_header("x-original-uri", "/x");
    assert_eq!(proxy.get("/gateway/check").await.status, 200);
    assert_eq!(last_used_at(&service, &client).await, Some(now), "gateway");

    let now = advance_two_hours(&service);
    let response = client.post("/oauth/introspect", &[("token", &app_token)]).await;
    assert_eq!(response.expect_json(StatusCode::OK)["active"], true);
    assert_eq!(last_used_at(&service, &client).await, Some(now), "introspection");

    advance_two_hours(&service);
    client.post("/oauth/revoke", &[("token", &token)]).await.expect_json(StatusCode::OK);
    assert_eq!(user_client.get("/_matrix/client/v3/pushrules/").await.status, 401);
    assert_eq!(proxy.get("/gateway/check").await.status, 401);
    assert_eq!(last_used_at(&service, &client).await, Some(now), "a revoked token is not a use");
}

#[tokio::test]
async fn an_app_with_too_many_tokens_loses_the_least_recently_used_tokens() {
    let service = Service::start_with(config_with(|config| config.oauth.max_app_tokens = 2)).await;
    let app = service.register_client().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        service.clock.advance(60);
        clients.push(service.anonymous_client().with_token(&app.obtain_app_token("read").await));
    }
    let path = "/api/v1/apps/verify_credentials";
    clients[0].get(path).await.expect_json(StatusCode::OK);
    service.state.flush_uses().await;

    service.state.delete_excess_rows().await;

    let mut statuses = Vec::new();
    for client in &clients {
        statuses.push(client.get(path).await.status);
    }
    assert_eq!(statuses, [200, 401, 200]);
    let metrics = service.operator_client().get("/metrics").await.text;
    assert!(metrics.contains("belfry_deleted_rows_total{table=\"tokens\"} 1"), "{metrics}");
}
