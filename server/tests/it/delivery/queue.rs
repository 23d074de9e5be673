//! The queue: retries, pauses of lanes, receivers that are gone, expiry.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_store::LoggedDelivery;
use futures_util::stream;
use serde_json::{Value, json};

use super::{DeliveringService, SUBSCRIPTION, pusher_body, subscription_body};
use crate::support::{PushService, on_both_engines};

/// A push service whose status can be changed.
async fn start_push_service_with_status(status: u16) -> (PushService, Arc<AtomicU16>) {
    let changeable_status = Arc::new(AtomicU16::new(status));
    let current_status = Arc::clone(&changeable_status);
    let service = PushService::start_with(move |_| {
        StatusCode::from_u16(current_status.load(Ordering::SeqCst)).unwrap().into_response()
    });
    (service.await, changeable_status)
}

impl DeliveringService {
    pub(crate) async fn delivery_log(&self, name: &str) -> Vec<LoggedDelivery> {
        let store = self.service.store();
        let account_id = store.account_by_name(name).await.unwrap().unwrap().id;
        store.delivery_log(account_id, None, 100).await.unwrap()
    }

    /// Waits until the newest delivery of an account has this many attempts.
    pub(crate) async fn wait_for_attempts(&self, name: &str, attempts: i64) -> LoggedDelivery {
        for _ in 0..1000 {
            if let Some(delivery) = self.delivery_log(name).await.into_iter().next()
                && delivery.attempts >= attempts
            {
                return delivery;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{:#?}", self.delivery_log(name).await);
    }
}

async fn a_message_is_retried_until_it_is_delivered(fixture: DeliveringService) {
    let (push_service, status) = start_push_service_with_status(503).await;
    fixture.subscribe("alice", &push_service.url).await;
    fixture.mention("alice", 1).await;
    let delivery = fixture.wait_for_attempts("alice", 1).await;
    assert_eq!((delivery.outcome, delivery.status), (None, Some(503)));
    fixture.service.clock.advance(5);
    let delivery = fixture.wait_for_attempts("alice", 2).await;
    assert_eq!(delivery.outcome, None);
    assert!(delivery.due_at > fixture.service.now(), "the pause grows");
    status.store(201, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    fixture.wait_until_idle().await;
    let delivery = fixture.delivery_log("alice").await.remove(0);
    assert_eq!((delivery.outcome, delivery.attempts), (Some(DeliveryOutcome::Delivered), 3));
    assert_eq!(push_service.requests().len(), 3);
}

async fn retry_after_is_obeyed_by_the_receiver(fixture: DeliveringService) {
    let push_service = PushService::start_with(|request| match &*request.path {
        "/busy" => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "30")]).into_response(),
        _ => StatusCode::CREATED.into_response(),
    })
    .await;
    let requests_of_alice = || {
        let requests = push_service.requests();
        requests.iter().filter(|request| request.path == "/busy").count()
    };
    fixture.subscribe("alice", &format!("{}/busy", push_service.url)).await;
    fixture.subscribe("bob", &push_service.url).await;
    for id in 1..=3 {
        fixture.mention("alice", id).await;
    }
    while requests_of_alice() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    fixture.service.clock.advance(29);
    fixture.mention("bob", 1).await;
    let delivery = fixture.wait_for_attempts("bob", 1).await;
    assert_eq!(delivery.outcome, Some(DeliveryOutcome::Delivered));
    // Long enough for a worker that ignores the header to send again.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert_eq!(requests_of_alice(), 1, "no request is sent too early, and one tests the receiver");
    fixture.service.clock.advance(2);
    while requests_of_alice() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn a_slow_server_gets_every_message_in_time(fixture: DeliveringService) {
    let push_service = PushService::start_with(|_| {
        let slow_body = stream::once(async {
            tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
            Ok::<_, Infallible>("")
        });
        (StatusCode::CREATED, Body::from_stream(slow_body)).into_response()
    })
    .await;
    fixture.subscribe("alice", &push_service.url).await;
    for id in 1..=4 {
        fixture.mention("alice", id).await;
    }
    fixture.wait_until_idle().await;
    for delivery in fixture.delivery_log("alice").await {
        let result = (delivery.outcome, delivery.attempts);
        assert_eq!(result, (Some(DeliveryOutcome::Delivered), 1), "{delivery:#?}");
    }
    let lane = fixture.service.store().lane(&push_service.url).await.unwrap().unwrap();
    assert_eq!(lane.record.failures, 0);
}

/// The other messages of its lane are delivered in between, so the pauses of the lane are short.
async fn the_only_message_that_fails_is_retried_less_and_less_often(fixture: DeliveringService) {
    let push_service = PushService::start_with(|request| {
        let status = if request.path == "/failing" { 502 } else { 201 };
        StatusCode::from_u16(status).unwrap().into_response()
    })
    .await;
    fixture.subscribe("alice", &format!("{}/failing", push_service.url)).await;
    fixture.subscribe("bob", &push_service.url).await;
    fixture.mention("alice", 1).await;
    for (attempt, min_pause) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        let delivery = fixture.wait_for_attempts("alice", attempt).await;
        let pause = delivery.due_at.duration_since(fixture.service.now());
        assert!(pause.as_secs() >= min_pause, "{attempt}: {pause}");
        fixture.mention("bob", attempt.cast_unsigned()).await;
        fixture.service.clock.advance(20);
    }
}

/// Each of them is tried once, and then its messages wait.
async fn denied_devices_do_not_delay_others_at_the_same_push_service(fixture: DeliveringService) {
    let push_service = PushService::start_with(|request| {
        let is_denied = request.path.starts_with("/denied");
        if is_denied { StatusCode::FORBIDDEN } else { StatusCode::CREATED }.into_response()
    })
    .await;
    for number in 0..20 {
        fixture.subscribe("alice", &format!("{}/denied{number}", push_service.url)).await;
    }
    fixture.subscribe("bob", &push_service.url).await;
    for id in 1..=5 {
        assert_eq!(fixture.mention("alice", id).await, 20);
    }
    for id in 1..=5 {
        fixture.mention("bob", id).await;
    }
    while fixture.service.store().queue_status().await.unwrap().waiting > 100
        || push_service.requests().len() < 25
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(fixture.delivery_log("bob").await.iter().all(|delivery| delivery.attempts == 1));
    assert_eq!(push_service.requests().len(), 25);
}

async fn a_receiver_that_is_gone_is_deleted(fixture: DeliveringService) {
    let (push_service, _) = start_push_service_with_status(410).await;
    let client = fixture.subscribe("alice", &push_service.url).await;
    fixture.mention("alice", 1).await;
    fixture.wait_until_idle().await;
    let delivery = fixture.delivery_log("alice").await.remove(0);
    assert_eq!(delivery.outcome, Some(DeliveryOutcome::Removed));
    for _ in 0..100 {
        if client.get(SUBSCRIPTION).await.status == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::NOT_FOUND);
    assert_eq!(fixture.mention("alice", 2).await, 0);
}

async fn a_message_that_is_rejected_is_dropped(fixture: DeliveringService) {
    let (push_service, _) = start_push_service_with_status(413).await;
    let client = fixture.subscribe("alice", &push_service.url).await;
    fixture.mention("alice", 1).await;
    fixture.wait_until_idle().await;
    let delivery = fixture.delivery_log("alice").await.remove(0);
    assert_eq!((delivery.outcome, delivery.status), (Some(DeliveryOutcome::Dropped), Some(413)));
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::OK);
}

async fn a_dead_origin_does_not_delay_others(fixture: DeliveringService) {
    // Accepts connections and never responds.
    let dead = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead_url = format!("http://{}", dead.local_addr().unwrap());
    let push_service = PushService::start().await;
    let names: Vec<String> = (0..3).map(|number| format!("user{number}")).collect();
    for name in &names {
        let client = fixture.service.user_client(name).await;
        for number in 0..20 {
            let pushkey = format!("{name}-{number}");
            let body = pusher_body(&json!({ "pushkey": pushkey }), &dead_url);
            client.set_pusher(&body).await.expect_json(StatusCode::OK);
        }
    }
    fixture.set_pusher("bob", &json!({}), &push_service.url).await;
    let members: Vec<&str> = names.iter().map(String::as_str).chain(["bob"]).collect();
    let dead_count = 20 * names.len() as u64;
    assert_eq!(fixture.notify("$1", &members).await["accepted"], dead_count + 1);
    push_service.wait_for(1).await;
    fixture.wait_for_attempts("bob", 1).await;
    for name in &names {
        let log = fixture.delivery_log(name).await;
        assert!(log.iter().all(|delivery| delivery.attempts == 0), "{log:#?}");
    }
    let waiting = fixture.service.store().queue_status().await.unwrap().waiting;
    assert_eq!(waiting, dead_count, "the messages to the dead origin still wait");
}

async fn an_expired_message_is_attempted_once_in_a_working_lane(fixture: DeliveringService) {
    let (push_service, _) = start_push_service_with_status(503).await;
    fixture.subscribe("alice", &push_service.url).await;
    let body = json!({
        "account": "@alice:ring.example", "type": "mention", "id": "1", "title": "t", "ttl_ms": 0,
    });
    let response = fixture.product.send(super::NOTIFICATIONS, body.to_string()).await;
    assert_eq!(response.expect_json(StatusCode::OK)["accepted"], 1);
    fixture.wait_for_attempts("alice", 1).await;
    fixture.service.clock.advance(60);
    fixture.wait_until_idle().await;
    let delivery = fixture.delivery_log("alice").await.remove(0);
    assert_eq!((delivery.outcome, delivery.attempts), (Some(DeliveryOutcome::Expired), 1));
    assert_eq!(push_service.wait_for(1).await[0].header("ttl"), "0");
}

/// Messages that keep waiting would fill the queue, and be sent when they are no longer useful.
async fn messages_in_a_failing_lane_expire_without_an_attempt(fixture: DeliveringService) {
    // Nothing listens on this port.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for name in ["alice", "bob"] {
        fixture.subscribe(name, &format!("{url}/{name}")).await;
    }
    fixture.mention("alice", 1).await;
    fixture.wait_for_attempts("alice", 1).await;
    fixture.mention("bob", 2).await;
    fixture.service.clock.advance(3 * 24 * 3600);
    fixture.wait_until_idle().await;
    for (name, attempts) in [("alice", 1), ("bob", 0)] {
        let delivery = fixture.delivery_log(name).await.remove(0);
        let expected = (Some(DeliveryOutcome::Expired), attempts);
        assert_eq!((delivery.outcome, delivery.attempts), expected, "{name}");
    }
}

/// Clients register their device at every start.
async fn a_device_that_is_registered_again_keeps_its_messages(fixture: DeliveringService) {
    let (push_service, status) = start_push_service_with_status(503).await;
    let subscriber = fixture.service.user_client("alice").await.with_json();
    let mut subscription = subscription_body(&push_service.url);
    let subscribe = async |body: &Value| {
        let response = subscriber.send(&format!("POST {SUBSCRIPTION}"), body.to_string()).await;
        response.expect_json(StatusCode::OK)
    };
    let id = subscribe(&subscription).await["id"].clone();
    let pusher = fixture.set_pusher("bob", &json!({}), &push_service.url).await;
    fixture.mention("alice", 1).await;
    assert_eq!(fixture.notify("$1", &["bob"]).await["accepted"], 1);
    fixture.wait_for_attempts("alice", 1).await;

    subscription["data"]["alerts"]["follow"] = true.into();
    let renewed = subscribe(&subscription).await;
    assert_eq!((&renewed["id"], &renewed["alerts"]["follow"]), (&id, &json!(true)));
    let body = pusher_body(&json!({ "lang": "de" }), &push_service.url);
    let new_token = fixture.service.user_client("bob").await;
    new_token.set_pusher(&body).await.expect_json(StatusCode::OK);
    assert_eq!(pusher.pushers().await[0]["lang"], "de");
    assert_eq!(fixture.notify("$1", &["bob"]).await["accepted"], 1, "repeated");

    status.store(200, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    fixture.wait_until_idle().await;
    for name in ["alice", "bob"] {
        let log = fixture.delivery_log(name).await;
        let outcomes: Vec<_> = log.iter().map(|delivery| delivery.outcome).collect();
        assert_eq!(outcomes, [Some(DeliveryOutcome::Delivered)], "{name}: {log:#?}");
    }
}

async fn a_message_that_waits_for_a_disabled_pusher_is_not_sent(fixture: DeliveringService) {
    let (gateway, status) = start_push_service_with_status(503).await;
    let client = fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    fixture.notify("$1", &["alice"]).await;
    fixture.wait_for_attempts("alice", 1).await;
    let disabled = pusher_body(&json!({ "enabled": false }), &gateway.url);
    client.set_pusher(&disabled).await.expect_json(StatusCode::OK);
    status.store(200, Ordering::SeqCst);
    fixture.service.clock.advance(600);
    fixture.wait_until_idle().await;
    let delivery = fixture.delivery_log("alice").await.remove(0);
    let expected = (Some(DeliveryOutcome::Dropped), Some(AttemptError::Disabled));
    assert_eq!((delivery.outcome, delivery.error), expected);
    assert_eq!(gateway.requests().len(), 1);
}

async fn a_rejected_key_deletes_only_the_pusher_that_was_sent(fixture: DeliveringService) {
    let gateway = PushService::start_with(|request| {
        let key = request.json()["notification"]["devices"][0]["pushkey"].clone();
        let rejected = if key == "bad" { json!(["bad", "good"]) } else { json!(["other"]) };
        json!({ "rejected": rejected }).to_string().into_response()
    })
    .await;
    fixture.set_pusher("alice", &json!({ "pushkey": "bad" }), &gateway.url).await;
    let client = fixture.set_pusher("alice", &json!({ "pushkey": "good" }), &gateway.url).await;
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 2);
    fixture.wait_until_idle().await;
    for _ in 0..100 {
        if client.pushers().await.as_array().unwrap().len() == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(client.pushers().await[0]["pushkey"], "good");
}

async fn a_denied_receiver_is_deleted_if_its_push_service_accepts_others(
    fixture: DeliveringService,
) {
    let push_service = PushService::start_with(|request| {
        let is_denied = request.path.starts_with("/denied");
        if is_denied { StatusCode::FORBIDDEN } else { StatusCode::CREATED }.into_response()
    })
    .await;
    let client = fixture.subscribe("alice", &format!("{}/denied", push_service.url)).await;
    fixture.subscribe("bob", &format!("{}/ok", push_service.url)).await;
    let body = json!({
        "account": "@alice:ring.example", "type": "mention", "id": "1", "title": "t",
        "ttl_ms": 7 * 24 * 3_600_000,
    });
    let response = fixture.product.send(super::NOTIFICATIONS, body.to_string()).await;
    assert_eq!(response.expect_json(StatusCode::OK)["accepted"], 1);
    for attempts in 1..=4 {
        let delivery = fixture.wait_for_attempts("alice", attempts).await;
        assert_eq!((delivery.outcome, delivery.status), (None, Some(403)), "{attempts}");
        fixture.service.clock.advance(12 * 3600);
    }
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::OK);
    // Until now, the contact or the key of this server could have been the cause.
    fixture.mention("bob", 2).await;
    fixture.wait_for_attempts("bob", 1).await;
    fixture.service.clock.advance(12 * 3600);
    for _ in 0..1000 {
        if client.get(SUBSCRIPTION).await.status == 404 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{:#?}", fixture.delivery_log("alice").await);
}

on_both_engines! {
    crate::delivery::start_delivering:
    a_message_is_retried_until_it_is_delivered,
    retry_after_is_obeyed_by_the_receiver,
    a_slow_server_gets_every_message_in_time,
    the_only_message_that_fails_is_retried_less_and_less_often,
    denied_devices_do_not_delay_others_at_the_same_push_service,
    a_receiver_that_is_gone_is_deleted,
    a_message_that_is_rejected_is_dropped,
    a_dead_origin_does_not_delay_others,
    an_expired_message_is_attempted_once_in_a_working_lane,
    messages_in_a_failing_lane_expire_without_an_attempt,
    a_device_that_is_registered_again_keeps_its_messages,
    a_message_that_waits_for_a_disabled_pusher_is_not_sent,
    a_rejected_key_deletes_only_the_pusher_that_was_sent,
    a_denied_receiver_is_deleted_if_its_push_service_accepts_others,
}
