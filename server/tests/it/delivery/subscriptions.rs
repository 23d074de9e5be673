//! `/api/v1/push/subscription` as Mastodon clients use it.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DeliveringService, SUBSCRIPTION, client_keys, pusher_body, subscription_body};
use crate::support::{PushService, Service, TestClient, any_events};

const ENDPOINT: &str = "https://push.example/send/1";

fn form(pairs: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(pairs).finish()
}

async fn subscription(client: &TestClient) -> Value {
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::OK)
}

#[tokio::test]
async fn a_subscription_is_created_read_changed_and_deleted() {
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    let not_found = client.get(SUBSCRIPTION).await.expect_json(StatusCode::NOT_FOUND);
    assert_eq!(not_found, json!({ "error": "Record not found" }));

    let body = subscription_body(ENDPOINT).to_string();
    let post = format!("POST {SUBSCRIPTION}");
    let created = client.with_json().send(&post, body).await.expect_json(StatusCode::OK);
    let vapid_key = fixture.service.state.vapid_key().unwrap();
    let id = created["id"].as_i64().unwrap();
    assert!((1..1 << 31).contains(&id), "{created}");
    let expected = json!({
        "id": id, "endpoint": ENDPOINT, "standard": false, "policy": "all",
        "alerts": { "mention": true, "follow": false }, "server_key": vapid_key,
    });
    assert_eq!(created, expected);
    assert_eq!(subscription(&client).await, expected);

    let put = format!("PUT {SUBSCRIPTION}");
    let body = json!({ "data": { "alerts": { "poll": true }, "policy": "followed" } });
    let changed = client.with_json().send(&put, body.to_string()).await.expect_json(StatusCode::OK);
    assert_eq!(changed["alerts"], json!({ "poll": true }), "PUT replaces data");
    assert_eq!((&changed["policy"], &changed["id"]), (&json!("followed"), &json!(id)));
    assert_eq!(subscription(&client).await, changed);

    let delete = format!("DELETE {SUBSCRIPTION}");
    for _ in 0..2 {
        assert_eq!(client.send(&delete, "").await.expect_json(StatusCode::OK), json!({}));
    }
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::NOT_FOUND);
    client.with_json().send(&put, "{}").await.expect_json(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_form_from_mastodon_py_is_accepted() {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    let to_standard =
        |text: &str| BASE64_STANDARD.encode(BASE64_URL_SAFE_NO_PAD.decode(text).unwrap());
    let (p256dh, auth) = client_keys();
    let body = form(&[
        ("subscription[endpoint]", ENDPOINT),
        ("subscription[keys][p256dh]", &to_standard(&p256dh)),
        ("subscription[keys][auth]", &to_standard(&auth)),
        ("data[alerts][mention]", "1"),
        ("data[alerts][follow]", "0"),
        ("data[alerts][pleroma:chat_mention]", "1"),
        ("policy", "follower"),
    ]);
    let client_with_form = client.with_header("content-type", "application/x-www-form-urlencoded");
    let response = client_with_form.send(&format!("POST {SUBSCRIPTION}"), body).await;
    let created = response.expect_json(StatusCode::OK);
    assert_eq!(created["alerts"], json!({ "mention": true, "follow": false }));
    assert_eq!(created["policy"], "follower");
}

#[tokio::test]
async fn each_token_has_one_subscription_and_a_new_one_replaces_it() {
    let fixture = DeliveringService::start().await;
    let [first, second] = [
        fixture.subscribe("alice", ENDPOINT).await,
        fixture.subscribe("alice", "https://push.example/send/2").await,
    ];
    assert_eq!(subscription(&first).await["endpoint"], ENDPOINT);
    assert_eq!(subscription(&second).await["endpoint"], "https://push.example/send/2");
    let body = subscription_body("https://push.example/send/3").to_string();
    first.with_json().send(&format!("POST {SUBSCRIPTION}"), body).await.expect_json(StatusCode::OK);
    assert_eq!(subscription(&first).await["endpoint"], "https://push.example/send/3");
    let account_id = fixture.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let now = fixture.service.now();
    assert_eq!(fixture.service.store().receivers(account_id, now).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_users_token_with_the_scope_push_is_required() {
    let fixture = DeliveringService::start().await;
    let service = &fixture.service;
    let without_push = service.user_client_with_scopes("alice", "read write").await;
    let app_token = service.issue_token(None, "push").await;
    let app = service.anonymous_client().with_token(app_token.reveal());
    for method in ["GET", "POST", "PUT", "DELETE"] {
        let target = format!("{method} {SUBSCRIPTION}");
        let body = if method == "GET" { "" } else { "{}" };
        let error = without_push.with_json().send(&target, body).await;
        let error = error.expect_json(StatusCode::FORBIDDEN);
        assert_eq!(error["error"], "This action is outside the authorized scopes", "{method}");
        app.with_json().send(&target, body).await.expect_json(StatusCode::UNPROCESSABLE_ENTITY);
        let anonymous = service.anonymous_client().with_json();
        anonymous.send(&target, body).await.expect_json(StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn an_invalid_subscription_is_rejected_with_the_reason() {
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await.with_json();
    let off_curve = {
        use base64::Engine;
        use base64::prelude::BASE64_URL_SAFE_NO_PAD;
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(client_keys().0).unwrap();
        bytes[64] ^= 1;
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    };
    for (pointer, value, problem) in [
        ("/subscription/endpoint", json!(""), "Endpoint can't be blank"),
        ("/subscription/endpoint", json!("http://push.example/"), "Endpoint is invalid"),
        ("/subscription/endpoint", json!("https://10.0.0.1/"), "Endpoint is invalid"),
        ("/subscription/endpoint", json!("https://169.254.169.254/"), "Endpoint is invalid"),
        ("/subscription/endpoint", json!("https://push.example:22/"), "Endpoint is invalid"),
        ("/subscription/endpoint", json!("https://a:b@push.example/"), "Endpoint is invalid"),
        ("/subscription/keys/p256dh", json!("x"), "p256dh must be"),
        ("/subscription/keys/p256dh", json!(off_curve), "p256dh must be"),
        ("/subscription/keys/auth", json!("AAAA"), "auth must be"),
        ("/data/policy", json!("everyone"), "Policy must be"),
    ] {
        let mut body = subscription_body(ENDPOINT);
        *body.pointer_mut(pointer).unwrap() = value.clone();
        let response = client.send(&format!("POST {SUBSCRIPTION}"), body.to_string()).await;
        let error = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY);
        let text = error["error"].as_str().unwrap();
        assert!(
            text.starts_with("Validation failed: ") && text.contains(problem),
            "{value}: {text}"
        );
    }
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_a_contact_subscriptions_are_rejected() {
    let service = Service::start().await;
    let client = service.user_client("alice").await.with_json();
    let body = subscription_body(ENDPOINT).to_string();
    let error = client.send(&format!("POST {SUBSCRIPTION}"), body).await;
    let error = error.expect_json(StatusCode::SERVICE_UNAVAILABLE);
    assert!(error["error"].as_str().unwrap().contains("push.contact"), "{error}");
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::NOT_FOUND);
    let instance = client.get("/api/v2/instance").await.expect_json(StatusCode::OK);
    assert!(instance["configuration"].get("vapid").is_none(), "{instance}");
}

#[tokio::test]
async fn without_a_contact_pushers_can_only_be_deleted() {
    let service = Service::start().await;
    let client = service.user_client("alice").await;
    let response = client.set_pusher(&pusher_body(&json!({}), "https://push.example")).await;
    let error = response.expect_json(StatusCode::SERVICE_UNAVAILABLE);
    assert!(error["error"].as_str().unwrap().contains("push.contact"), "{error}");
    let deletion = json!({ "app_id": "org.example.app", "pushkey": "key1", "kind": null });
    assert_eq!(client.set_pusher(&deletion).await.expect_json(StatusCode::OK), json!({}));
}

#[tokio::test]
async fn the_vapid_key_is_in_apps_and_in_the_instance() {
    let fixture = DeliveringService::start().await;
    let key = fixture.service.state.vapid_key().unwrap();
    let client = fixture.service.anonymous_client();
    let instance = client.get("/api/v2/instance").await.expect_json(StatusCode::OK);
    assert_eq!(instance["configuration"]["vapid"]["public_key"], key);
    let body = "client_name=a&redirect_uris=https://app.example/&scopes=push";
    let client = client.with_header("content-type", "application/x-www-form-urlencoded");
    let app = client.send("POST /api/v1/apps", body).await.expect_json(StatusCode::OK);
    assert_eq!(app["vapid_key"], key);
}

#[tokio::test]
async fn a_revoked_token_or_a_disabled_account_gets_no_messages() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.subscribe("alice", &format!("{}/a", push_service.url)).await;
    assert_eq!(fixture.mention("alice", 1).await, 1);
    push_service.wait_for(1).await;

    let service = &fixture.service;
    let account_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    for (disabled_at, accepted) in [(Some(service.now()), 0), (None, 1)] {
        let store = service.store();
        store.set_account_disabled_at(&any_events(), account_id, disabled_at).await.unwrap();
        let id = 2 + accepted;
        assert_eq!(fixture.mention("alice", id).await, accepted, "{disabled_at:?}");
    }
    push_service.wait_for(2).await;
    let logout = client.send("POST /_matrix/client/v3/logout", "{}").await;
    logout.expect_json(StatusCode::OK);
    assert_eq!(fixture.mention("alice", 4).await, 0);
    fixture.wait_until_idle().await;
    assert_eq!(push_service.requests().len(), 2);
}
