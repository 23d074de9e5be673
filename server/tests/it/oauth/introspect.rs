//! `POST /oauth/introspect`.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use crate::support::oauth_client::{expect_token, oauth_error, status_and_error};
use crate::support::service::{config_with, metric_value};
use crate::support::{OAuthClient, Service, any_events};

// RFC 7662, section 2.2.
#[tokio::test]
async fn tokens_of_other_clients_and_revoked_tokens_are_inactive() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let other_client = service.register_client().await;
    let revoked_token = client.obtain_app_token("read").await;
    let other_token = other_client.obtain_app_token("read").await;
    client.post("/oauth/revoke", &[("token", &revoked_token)]).await;
    for token in [&*revoked_token, &other_token, "random"] {
        let response = client.post("/oauth/introspect", &[("token", token)]).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({ "active": false }));
    }
    let response = client.post("/oauth/introspect", &[]).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_request"));
    let wrong_secret = OAuthClient { secret: "wrong".to_owned(), ..client.clone() };
    let response = wrong_secret.post("/oauth/introspect", &[("token", &other_token)]).await;
    assert_eq!(status_and_error(&response), oauth_error(401, "invalid_client"));
    let response = client.http.send("POST /oauth/introspect", format!("token={other_token}")).await;
    assert_eq!(status_and_error(&response), oauth_error(401, "invalid_client"));
}

#[tokio::test]
async fn a_token_is_inactive_if_it_is_revoked_or_expired_or_its_account_is_disabled() {
    let config_with_lifetime =
        config_with(|config| config.oauth.token_lifetime = Some(Duration::from_mins(1)));
    let service = Service::start_with(config_with_lifetime).await;
    let alice = service.add_account("alice").await;
    let client = service.register_client().await;
    let is_active = async |token: &str| {
        let response = client.post("/oauth/introspect", &[("token", token)]).await;
        let body = response.expect_json(StatusCode::OK);
        let active = body["active"] == true;
        assert!(active || body == json!({ "active": false }), "{body}");
        active
    };
    let mut browser = service.browser();
    let code = client.obtain_code(&mut browser, "alice", &[]).await;
    let token = expect_token(&client.redeem(&code, &[]).await);
    assert!(is_active(&token).await);

    service
        .store()
        .set_account_disabled_at(&any_events(), alice, Some(service.now()))
        .await
        .unwrap();
    assert!(!is_active(&token).await, "the account is disabled");
    service.store().set_account_disabled_at(&any_events(), alice, None).await.unwrap();
    assert!(is_active(&token).await);

    let app_token = client.obtain_app_token("read").await;
    assert!(is_active(&app_token).await);
    client.post("/oauth/revoke", &[("token", &app_token)]).await.expect_json(StatusCode::OK);
    assert!(!is_active(&app_token).await, "the token is revoked");

    service.clock.advance(59);
    assert!(is_active(&token).await);
    service.clock.advance(1);
    assert!(!is_active(&token).await, "the token has expired");
}

#[tokio::test]
async fn a_resource_server_may_introspect_every_token_of_an_enabled_app() {
    let database = crate::support::TestDatabase::sqlite();
    let service = Service::start_on(database, config_with(|_| {})).await;
    let resource_server = service.register_client().await;
    let other_client = service.register_client().await;
    let token = other_client.obtain_app_token("read").await;
    let config_with_resource_server =
        config_with(|config| config.oauth.resource_servers = vec![resource_server.id.clone()]);
    let service = service.restart(config_with_resource_server).await;
    let resource_server = OAuthClient {
        http: service
            .anonymous_client()
            .with_header("content-type", "application/x-www-form-urlencoded"),
        ..resource_server
    };
    let introspect =
        async || resource_server.post("/oauth/introspect", &[("token", &token)]).await.json();
    assert_eq!(introspect().await["client_id"], other_client.id);
    let id = service.store().app_by_client_id(&other_client.id).await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(&any_events(), id, Some(service.now())).await.unwrap();
    assert_eq!(introspect().await, json!({ "active": false }));
}

#[tokio::test]
async fn a_repeated_introspection_does_not_read_the_database() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let token = client.obtain_app_token("read").await;
    let introspect_and_count_reads = async || {
        let response = client.post("/oauth/introspect", &[("token", &token)]).await.json();
        assert_eq!(response["client_id"], client.id);
        let series =
            "belfry_store_operation_duration_seconds_count{engine=\"sqlite\",operation=\"read\"}";
        metric_value(&service.metrics().await, series)
    };
    let first_count = introspect_and_count_reads().await;
    assert!(first_count > 0.0);
    let second_count = introspect_and_count_reads().await;
    assert!(second_count <= first_count, "{second_count} reads, {first_count} before");
}
