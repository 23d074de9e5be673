//! `POST /oauth/introspect`.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use crate::support::client::{error_of, refused, token_of};
use crate::support::service::config;
use crate::support::{Client, Service};

#[tokio::test]
async fn a_client_learns_what_its_own_tokens_are() {
    let lasting = config(|config| config.oauth.token_lifetime = Some(Duration::from_mins(1)));
    let service = Service::with(lasting).await;
    let id = service.add_account("alice").await;
    let client = service.client().await;
    let code = client.code(&mut service.browser(), "alice", &[("scope", "read push")]).await;
    let token = token_of(&client.spend(&code, &[]).await);
    let now = service.now().as_second();

    let answer = client.post("/oauth/introspect", &[("token", &token)]).await;

    assert_eq!(
        answer.expect(StatusCode::OK),
        json!({
            "active": true,
            "scope": "read push",
            "client_id": client.id,
            "token_type": "Bearer",
            "iat": now,
            "exp": now + 60,
            "iss": "https://ring.example/",
            "username": "alice",
            "sub": format!("https://ring.example/users/{id}"),
        })
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    let own = client.own_token("read").await;
    let answer = client.post("/oauth/introspect", &[("token", &own)]).await.json();
    assert_eq!((answer.get("sub"), answer.get("username")), (None, None));
}

// Attack 74.
#[tokio::test]
async fn of_every_other_token_a_client_learns_nothing() {
    let service = Service::start().await;
    let (client, other) = (service.client().await, service.client().await);
    let (own, foreign) = (client.own_token("read").await, other.own_token("read").await);
    client.post("/oauth/revoke", &[("token", &own)]).await;
    for token in [&*own, &foreign, "random"] {
        let answer = client.post("/oauth/introspect", &[("token", token)]).await;
        assert_eq!(answer.expect(StatusCode::OK), json!({ "active": false }));
    }
    let missing = client.post("/oauth/introspect", &[]).await;
    assert_eq!(error_of(&missing), refused(400, "invalid_request"));
    let nobody = Client { secret: "wrong".to_owned(), ..client.clone() };
    let answer = nobody.post("/oauth/introspect", &[("token", &foreign)]).await;
    assert_eq!(error_of(&answer), refused(401, "invalid_client"));
    let answer = client.caller.call("POST /oauth/introspect", format!("token={foreign}")).await;
    assert_eq!(error_of(&answer), refused(401, "invalid_client"));
}

#[tokio::test]
async fn a_token_that_is_no_good_any_more_is_not_active() {
    let lasting = config(|config| config.oauth.token_lifetime = Some(Duration::from_mins(1)));
    let service = Service::with(lasting).await;
    let alice = service.add_account("alice").await;
    let client = service.client().await;
    let active = async |token: &str| {
        let answer = client.post("/oauth/introspect", &[("token", token)]).await;
        let answer = answer.expect(StatusCode::OK);
        let active = answer["active"] == true;
        assert!(active || answer == json!({ "active": false }), "{answer}");
        active
    };
    let mut browser = service.browser();
    let code = client.code(&mut browser, "alice", &[]).await;
    let token = token_of(&client.spend(&code, &[]).await);
    assert!(active(&token).await);

    service.store().disable_account(alice, Some(service.now())).await.unwrap();
    assert!(!active(&token).await, "the account is disabled");
    service.store().disable_account(alice, None).await.unwrap();
    assert!(active(&token).await);

    let revoked = client.own_token("read").await;
    assert!(active(&revoked).await);
    client.post("/oauth/revoke", &[("token", &revoked)]).await.expect(StatusCode::OK);
    assert!(!active(&revoked).await, "it is revoked");

    service.clock.advance(59);
    assert!(active(&token).await);
    service.clock.advance(1);
    assert!(!active(&token).await, "its time is over");
}

#[tokio::test]
async fn a_token_of_a_disabled_app_is_not_active() {
    let service = Service::start().await;
    let (api, other) = (service.client().await, service.client().await);
    let named = config(|config| config.oauth.resource_servers = vec![api.id.clone()]);
    let token = other.own_token("read").await;
    let service = service.again(named).await;
    let api = Client {
        caller: service.anyone().with("content-type", "application/x-www-form-urlencoded"),
        ..api
    };
    let asked = async || api.post("/oauth/introspect", &[("token", &token)]).await.json();
    assert_eq!(asked().await["active"], true);
    let app = service.store().app_by_client_id(&other.id).await.unwrap().unwrap();
    service.store().disable_app(app.id, Some(service.now())).await.unwrap();
    assert_eq!(asked().await, json!({ "active": false }));
}

#[tokio::test]
async fn a_resource_server_learns_what_every_token_is() {
    let database = crate::support::TestDatabase::sqlite();
    let service = Service::on(database, config(|_| {})).await;
    let (api, other) = (service.client().await, service.client().await);
    let token = other.own_token("read").await;
    let named = config(|config| config.oauth.resource_servers = vec![api.id.clone()]);
    let service = service.again(named).await;
    let api = Client {
        caller: service.anyone().with("content-type", "application/x-www-form-urlencoded"),
        ..api
    };
    let answer = api.post("/oauth/introspect", &[("token", &token)]).await.json();
    assert_eq!((&answer["active"], &answer["client_id"]), (&json!(true), &json!(other.id)));
}
