//! `POST notifications`: messages for subscriptions.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DeliveringService, NOTIFICATIONS, SUBSCRIPTION, subscription_body};
use crate::support::{PushService, TestDatabase};

#[tokio::test]
async fn a_notification_is_sent_in_the_encoding_of_the_subscription() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await.with_json();
    for (standard, encoding) in [(true, "aes128gcm"), (false, "aesgcm")] {
        let mut body = subscription_body(&format!("{}/{encoding}", push_service.url));
        body["subscription"]["standard"] = standard.into();
        let response = client.send(&format!("POST {SUBSCRIPTION}"), body.to_string()).await;
        response.expect_json(StatusCode::OK);
        let count = push_service.requests().len() + 1;
        assert_eq!(fixture.mention("alice", count as u64).await, 1);
        let requests = push_service.wait_for(count).await;
        let request = requests.last().unwrap();
        assert_eq!(request.path, format!("/{encoding}"));
        assert_eq!(request.header("content-encoding"), encoding);
        assert_eq!(request.header("ttl"), "172800");
        assert_eq!(request.header("urgency"), "normal");
        let key = fixture.service.state.vapid_key().unwrap();
        let authorization = request.header("authorization");
        if standard {
            assert!(authorization.starts_with("vapid t=ey"), "{authorization}");
            assert!(authorization.ends_with(&format!(", k={key}")), "{authorization}");
            assert_eq!(request.body[16..21], [0, 0, 16, 0, 65]);
        } else {
            assert!(authorization.starts_with("WebPush ey"), "{authorization}");
            assert!(request.header("encryption").starts_with("salt="));
            let crypto_key = request.header("crypto-key");
            assert!(crypto_key.starts_with("dh="), "{crypto_key}");
            assert!(crypto_key.ends_with(&format!(";p256ecdsa={key}")), "{crypto_key}");
        }
    }
}

#[tokio::test]
async fn only_notifications_that_alerts_and_policy_allow_are_accepted() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.subscribe("alice", &push_service.url).await.with_json();
    let send = async |kind: &str, id: u64, relationship: Value| {
        let body = json!({
            "account": "@alice:ring.example", "type": kind, "id": id.to_string(), "title": "t",
            "relationship": relationship,
        });
        let response = fixture.product.send(NOTIFICATIONS, body.to_string()).await;
        response.expect_json(StatusCode::OK)["accepted"].as_u64().unwrap()
    };
    assert_eq!(send("mention", 1, json!({})).await, 1);
    assert_eq!(send("follow", 2, json!({})).await, 0, "the alert is off");
    assert_eq!(send("poll", 3, json!({})).await, 0, "the alert is absent");
    for (policy, relationship, accepted) in [
        ("followed", json!({ "followed": true }), 1),
        ("followed", json!({ "follower": true }), 0),
        ("follower", json!({ "follower": true }), 1),
        ("follower", json!({ "followed": true }), 0),
        ("none", json!({ "followed": true, "follower": true }), 0),
    ] {
        let body = json!({ "data": { "alerts": { "mention": true }, "policy": policy } });
        let response = client.send(&format!("PUT {SUBSCRIPTION}"), body.to_string()).await;
        response.expect_json(StatusCode::OK);
        let id = u64::from(policy.as_bytes()[6 % policy.len()]) * 10 + accepted;
        assert_eq!(
            send("mention", id, relationship.clone()).await,
            accepted,
            "{policy} {relationship}"
        );
    }
}

#[tokio::test]
async fn a_repeated_request_is_accepted_and_sent_once() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    fixture.subscribe("alice", &push_service.url).await;
    for _ in 0..3 {
        assert_eq!(fixture.mention("alice", 1).await, 1);
        fixture.wait_until_idle().await;
    }
    assert_eq!(fixture.mention("alice", 2).await, 1);
    fixture.wait_until_idle().await;
    assert_eq!(push_service.requests().len(), 2);
}

#[tokio::test]
async fn the_master_switch_silences_notifications() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.subscribe("alice", &push_service.url).await;
    let master = "PUT /_matrix/client/v3/pushrules/global/override/.m.rule.master/enabled";
    for (id, is_silent) in [(1, true), (2, false)] {
        let body = json!({ "enabled": is_silent }).to_string();
        client.send(master, body).await.expect_json(StatusCode::OK);
        assert_eq!(fixture.mention("alice", id).await, u64::from(!is_silent));
    }
    // A rule for some events does not apply to notifications.
    let rule = json!({ "actions": [], "pattern": "hello" }).to_string();
    let request_line = "PUT /_matrix/client/v3/pushrules/global/content/x";
    client.send(request_line, rule).await.expect_json(StatusCode::OK);
    assert_eq!(fixture.mention("alice", 3).await, 1);
}

#[tokio::test]
async fn an_account_is_specified_by_its_id() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    fixture.subscribe("alice", &format!("{}/alice", push_service.url)).await;
    fixture.subscribe("bob", &format!("{}/bob", push_service.url)).await;
    let account = fixture.service.store().account_by_name("alice").await.unwrap().unwrap();
    let body = json!({
        "account": account.id.to_string(), "type": "mention", "id": "1", "title": "t",
    });
    let response = fixture.product.send(NOTIFICATIONS, body.to_string()).await;
    assert_eq!(response.expect_json(StatusCode::OK), json!({ "accepted": 1 }));
    fixture.wait_until_idle().await;
    let requests = push_service.requests();
    let paths: Vec<&str> = requests.iter().map(|request| &*request.path).collect();
    assert_eq!(paths, ["/alice"]);
}

#[tokio::test]
async fn an_account_that_is_unknown_or_outside_the_namespace_is_rejected() {
    let fixture = DeliveringService::start().await;
    fixture.service.add_account("alice").await;
    for (account, status, code) in [
        ("@bob:ring.example", StatusCode::FORBIDDEN, "M_FORBIDDEN"),
        ("12345", StatusCode::FORBIDDEN, "M_FORBIDDEN"),
        ("@alice:elsewhere.example", StatusCode::FORBIDDEN, "M_FORBIDDEN"),
        ("alice", StatusCode::BAD_REQUEST, "M_INVALID_PARAM"),
    ] {
        let body = json!({ "account": account, "type": "mention", "id": "1", "title": "t" });
        let response = fixture.product.send(NOTIFICATIONS, body.to_string()).await;
        let status_and_code = (response.status, response.json()["errcode"].clone());
        assert_eq!(status_and_code, (status.as_u16(), json!(code)), "{account}: {}", response.text);
    }
    let user = fixture.service.user_client("alice").await;
    user.send(NOTIFICATIONS, "{}").await.expect_json(StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_account_outside_the_namespace_gets_the_error_of_an_unknown_one() {
    let bot_service = "[[application_services]]\nid = 'bots'\nas_token = 'token of bots'\n\
        sender_localpart = 'bots'\nnamespaces.users = [{ regex = '@bot_.*' }]\n";
    let fixture = DeliveringService::start_on(TestDatabase::sqlite(), |config| {
        let bot_config: belfry::config::Config = toml::from_str(bot_service).unwrap();
        config.application_services.extend(bot_config.application_services);
    })
    .await;
    fixture.service.add_account("alice").await;
    let account = fixture.service.store().account_by_name("alice").await.unwrap().unwrap();
    let bots = fixture.service.anonymous_client().with_token("token of bots");
    let expected = json!({
        "errcode": "M_FORBIDDEN",
        "error": "This user is not in the namespace of the application service",
    });
    for name in ["@alice:ring.example", "@bob:ring.example", &account.id.to_string(), "12345"] {
        let body = json!({ "account": name, "type": "mention", "id": "1", "title": "t" });
        let response = bots.send(NOTIFICATIONS, body.to_string()).await;
        assert_eq!(response.expect_json(StatusCode::FORBIDDEN), expected, "{name}");
    }
}
