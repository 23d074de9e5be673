//! `POST read`: withdraws messages that the user has read elsewhere, and sends the new counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use serde_json::{Value, json};

use super::{DeliveringService, NOTIFICATIONS, NOTIFY, client_keys, notify_body, pusher_body};
use crate::support::{PushService, TestDatabase};

const READ: &str = "POST /_matrix/app/v1/read";

impl DeliveringService {
    async fn read(&self, body: &Value) -> Value {
        self.product.send(READ, body.to_string()).await.expect_json(StatusCode::OK)
    }
}

#[tokio::test]
async fn a_message_that_was_read_elsewhere_is_never_sent() {
    let status = Arc::new(AtomicU16::new(503));
    let current_status = Arc::clone(&status);
    let server = PushService::start_with(move |_| {
        StatusCode::from_u16(current_status.load(Ordering::SeqCst)).unwrap().into_response()
    })
    .await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &server.url).await;
    fixture.notify("$1", &["alice"]).await;
    fixture.wait_for_attempts("alice", 1).await;
    let subscription_url = format!("{}/subscription", server.url);
    fixture.subscribe("alice", &subscription_url).await;
    assert_eq!(fixture.mention("alice", 1).await, 1);
    fixture.wait_for_attempts("alice", 1).await;
    let now = fixture.service.now().as_millisecond();
    fixture.notify("$2", &["alice"]).await;
    fixture.mention("alice", 2).await;

    let user_id = "@alice:ring.example";
    let up_to = json!({ "user_id": user_id, "room_id": "!r:x", "up_to_ms": now });
    let events = json!({ "user_id": user_id, "room_id": "!r:x", "event_ids": ["$3", "$2"] });
    let notifications = json!({ "account": user_id, "notification_ids": ["1", "2", "3"] });
    for (body, withdrawn) in [
        (json!({ "user_id": user_id, "room_id": "!r:x", "up_to_ms": now - 1 }), 0),
        (json!({ "user_id": user_id, "room_id": "!s:x", "event_ids": ["$1", "$2"] }), 0),
        (events, 1),
        (up_to.clone(), 1),
        (up_to, 0),
        (notifications, 2),
    ] {
        let expected = json!({ "withdrawn": withdrawn, "accepted": 0 });
        assert_eq!(fixture.read(&body).await, expected, "{body}");
    }

    status.store(200, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    assert_eq!(fixture.notify("$3", &["alice"]).await["accepted"], 1);
    assert_eq!(fixture.mention("alice", 3).await, 1);
    fixture.wait_until_idle().await;
    let requests = server.requests();
    let requests: Vec<Value> = requests
        .iter()
        .map(|request| match &*request.path {
            "/subscription" => "a notification".into(),
            _ => request.json()["notification"]["event_id"].clone(),
        })
        .collect();
    let (first, last) = requests.split_at(2);
    assert_eq!(first, ["$1", "a notification"]);
    assert!(last == ["$3", "a notification"] || last == ["a notification", "$3"], "{last:?}");
    let mut withdrawn_ids = Vec::new();
    for delivery in fixture.delivery_log("alice").await {
        if delivery.outcome == Some(DeliveryOutcome::Removed) {
            assert_eq!(delivery.error, Some(AttemptError::ReadElsewhere));
            withdrawn_ids.push(delivery.event_id);
        }
    }
    withdrawn_ids.sort();
    assert_eq!(withdrawn_ids, ["$1", "$2", "1", "2"]);
}

#[tokio::test]
async fn new_counts_are_sent_once_and_only_to_enabled_pushers_at_gateways() {
    let gateway = PushService::start_with(|_| r#"{"rejected":[]}"#.into_response()).await;
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let data = json!({ "url": format!("{}/_matrix/push/v1/notify", gateway.url), "x": 1 });
    fixture.set_pusher("alice", &json!({ "data": data }), &gateway.url).await;
    let disabled = json!({ "pushkey": "disabled", "org.matrix.msc3881.enabled": false });
    fixture.set_pusher("alice", &disabled, &gateway.url).await;
    fixture.set_pusher("bob", &json!({ "pushkey": "bob" }), &gateway.url).await;
    fixture.subscribe("alice", &push_service.url).await;
    let (pushkey, auth) = client_keys();
    let data = json!({ "url": push_service.url, "auth": auth });
    let web_push = json!({ "kind": "webpush", "pushkey": pushkey, "data": data });
    let client = fixture.service.user_client("alice").await;
    client.set_pusher(&pusher_body(&web_push, "")).await.expect_json(StatusCode::CREATED);
    push_service.wait_for(1).await;
    fixture.service.execute_sql("update receivers set ack_digest = null, ack_expires_at = null");

    let body = |unread: u32| {
        json!({
            "user_id": "@alice:ring.example", "room_id": "!r:x", "event_ids": [],
            "counts": { "unread": unread },
        })
    };
    let set_at = fixture.service.now().as_second();
    for unread in [1, 1, 0, 1] {
        let expected = json!({ "withdrawn": 0, "accepted": 1 });
        assert_eq!(fixture.read(&body(unread)).await, expected, "{unread}");
        fixture.wait_until_idle().await;
    }
    let notification = |counts: Value| {
        json!({ "notification": { "counts": counts, "devices": [{
            "app_id": "org.example.app", "pushkey": "key1", "pushkey_ts": set_at,
            "data": { "x": 1 }, "tweaks": {},
        }] } })
    };
    let [first, second] = &gateway.requests()[..] else { panic!("{:#?}", gateway.requests()) };
    assert_eq!(first.json(), notification(json!({ "unread": 1 })));
    assert_eq!(second.json(), notification(json!({})));
    assert_eq!(push_service.requests().len(), 1, "only the request for an acknowledgement");
}

/// A badge shows only the newest number.
#[tokio::test]
async fn newer_counts_replace_those_that_wait() {
    let status = Arc::new(AtomicU16::new(503));
    let current_status = Arc::clone(&status);
    let gateway = PushService::start_with(move |_| {
        StatusCode::from_u16(current_status.load(Ordering::SeqCst)).unwrap().into_response()
    })
    .await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    fixture.notify("$1", &["alice"]).await;
    fixture.wait_for_attempts("alice", 1).await;
    for unread in [3, 2, 1] {
        let body = json!({
            "user_id": "@alice:ring.example", "room_id": "!s:x", "event_ids": [],
            "counts": { "unread": unread },
        });
        assert_eq!(fixture.read(&body).await["accepted"], 1);
    }
    status.store(200, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    fixture.wait_until_idle().await;
    let requests = gateway.requests();
    let events: Vec<Value> =
        requests[1..].iter().map(|request| request.json()["notification"].clone()).collect();
    assert_eq!(events.len(), 2, "{events:#?}");
    let counts = events.iter().find(|event| event.get("event_id").is_none()).unwrap();
    assert_eq!(counts["counts"], json!({ "unread": 1 }));
}

#[tokio::test]
async fn nothing_is_withdrawn_if_the_queue_is_full() {
    let fixture =
        DeliveringService::start_on(TestDatabase::sqlite(), |config| config.push.max_waiting = 2)
            .await;
    for (name, origin) in [("alice", "https://a.example"), ("bob", "https://b.example")] {
        fixture.set_pusher(name, &json!({ "pushkey": name }), origin).await;
    }
    assert_eq!(fixture.notify("$1", &["alice", "bob"]).await["accepted"], 2);
    fixture.set_pusher("alice", &json!({ "pushkey": "other" }), "https://c.example").await;
    let mut body = json!({
        "user_id": "@alice:ring.example", "room_id": "!r:x", "event_ids": ["$1"],
        "counts": { "unread": 1 },
    });
    let response = fixture.product.send(READ, body.to_string()).await;
    response.expect_json(StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers.contains_key("retry-after"));
    assert_eq!(fixture.service.store().queue_status().await.unwrap().waiting, 2);
    body.as_object_mut().unwrap().remove("counts");
    // A message in flight is not withdrawn.
    let withdraw = async {
        while fixture.read(&body).await != json!({ "withdrawn": 1, "accepted": 0 }) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), withdraw).await.unwrap();
}

#[tokio::test]
async fn the_user_is_found_and_checked_as_for_notifications() {
    let fixture = DeliveringService::start().await;
    fixture.service.add_account("alice").await;
    let alice = fixture.service.store().account_by_name("alice").await.unwrap().unwrap();
    let read_body = |user: &str| {
        json!({ "user_id": user, "room_id": "!r:x", "up_to_ms": 5, "counts": {} }).to_string()
    };
    let notification_body = |user: &str| {
        json!({ "account": user, "type": "mention", "id": "1", "title": "t" }).to_string()
    };
    for user in [
        "@alice:ring.example",
        &alice.id.to_string(),
        "@bob:ring.example",
        "12345",
        "@alice:elsewhere.example",
    ] {
        let response = fixture.product.send(READ, read_body(user)).await;
        let expected = fixture.product.send(NOTIFICATIONS, notification_body(user)).await;
        assert_eq!(response.status, expected.status, "{user}: {}", response.text);
        if response.status == 200 {
            assert_eq!(response.json(), json!({ "withdrawn": 0, "accepted": 0 }));
        } else {
            assert_eq!(response.json(), expected.json(), "{user}");
        }
    }
    let response = fixture.product.send(READ, "{}").await;
    assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".to_owned()));
    let user = fixture.service.user_client("alice").await;
    user.send(READ, read_body("@alice:ring.example")).await.expect_json(StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_newest_message_of_a_topic_is_sent_once() {
    let status = Arc::new(AtomicU16::new(503));
    let current_status = Arc::clone(&status);
    let server = PushService::start_with(move |_| {
        StatusCode::from_u16(current_status.load(Ordering::SeqCst)).unwrap().into_response()
    })
    .await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &server.url).await;
    fixture.subscribe("alice", &format!("{}/subscription", server.url)).await;
    let send = async |id: u64, topic: &str| {
        let mut event = notify_body(&format!("${id}"), &["alice"]);
        event["event"]["content"]["body"] = format!("text {id}").into();
        event["topic"] = topic.into();
        let response = fixture.product.send(NOTIFY, event.to_string()).await;
        assert_eq!(response.expect_json(StatusCode::OK)["accepted"], 1);
        let notification = json!({
            "account": "@alice:ring.example", "type": "mention", "id": id.to_string(),
            "title": "t", "topic": topic,
        });
        let response = fixture.product.send(NOTIFICATIONS, notification.to_string()).await;
        assert_eq!(response.expect_json(StatusCode::OK)["accepted"], 1);
    };
    send(1, "a").await;
    // One message for each receiver.
    server.wait_for(2).await;
    while fixture.delivery_log("alice").await.iter().any(|delivery| delivery.attempts == 0) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for (id, topic) in [(2, "a"), (3, "b"), (4, "a")] {
        send(id, topic).await;
    }
    status.store(200, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    fixture.wait_until_idle().await;

    let mut outcomes: Vec<_> = fixture
        .delivery_log("alice")
        .await
        .into_iter()
        .map(|delivery| (delivery.event_id, delivery.outcome.unwrap(), delivery.error))
        .collect();
    outcomes.sort_by(|left, right| left.0.cmp(&right.0));
    let replaced =
        |id: &str| (id.to_owned(), DeliveryOutcome::Removed, Some(AttemptError::Replaced));
    let delivered = |id: &str| (id.to_owned(), DeliveryOutcome::Delivered, None);
    let expected = [
        replaced("$1"),
        replaced("$2"),
        delivered("$3"),
        delivered("$4"),
        replaced("1"),
        replaced("2"),
        delivered("3"),
        delivered("4"),
    ];
    assert_eq!(outcomes, expected);

    let requests = server.requests();
    let (web_push, gateway): (Vec<_>, Vec<_>) =
        requests.iter().partition(|request| request.path == "/subscription");
    let texts: Vec<Value> = gateway
        .iter()
        .map(|request| request.json()["notification"]["content"]["body"].clone())
        .collect();
    assert_eq!(texts, ["text 1", "text 3", "text 4"]);
    assert!(gateway.iter().all(|request| !request.headers.contains_key("topic")));
    let topics: Vec<&str> = web_push.iter().map(|request| request.header("topic")).collect();
    let [first, other, last] = topics[..] else { panic!("{topics:?}") };
    assert!(first == last && first != other, "{topics:?}");
    for topic in topics {
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(topic.len() == 32 && topic.bytes().all(is_base64url), "{topic}");
    }
}
