//! Messages and receivers when the server is stopped, killed, or started with a different sealing
//! key.

use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::process::{DeliveringProcess, KEY_FILE};
use super::{NOTIFY, PUSHERS, notify_body, pusher_body};
use crate::support::PushService;

/// Fails a test that would otherwise wait forever.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A push service that responds to no message until the sender is dropped.
async fn start_withholding() -> (PushService, mpsc::Sender<()>) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let service = PushService::start_with(move |_| {
        tokio::task::block_in_place(|| receiver.lock().unwrap().recv()).unwrap_err();
        StatusCode::CREATED.into_response()
    });
    (service.await, sender)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_in_flight_is_finished_before_the_server_stops() {
    let mut process = DeliveringProcess::start();
    let (push_service, response) = start_withholding().await;
    process.subscribe("alice", &push_service.url).await;
    process.mention("alice", 1).await;
    push_service.wait_for(1).await;
    process.server().signal("TERM");
    let start = Instant::now();
    while !process.server().log().contains("draining in-flight requests") {
        assert!(start.elapsed() < TIMEOUT, "{}", process.server().log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(response);
    assert_eq!(process.server().wait(), Some(0));
    let log = process.delivery_log("alice");
    assert_eq!((&log[0]["outcome"], &log[0]["attempts"]), (&json!("delivered"), &json!(1)));

    process.restart();
    process.mention("alice", 2).await;
    process.wait_for_outcomes("alice").await;
    assert_eq!(push_service.requests().len(), 2, "the first message is not sent again");
}

/// The server that was killed has no successor that could wait for its leases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_in_flight_of_a_killed_server_is_sent_by_the_next_one_despite_its_lease() {
    let mut process = DeliveringProcess::start();
    let (push_service, response) = start_withholding().await;
    process.subscribe("alice", &push_service.url).await;
    process.mention("alice", 1).await;
    push_service.wait_for(1).await;
    process.kill();
    drop(response);
    let database = rusqlite::Connection::open(process.path().join("data/belfry.db")).unwrap();
    // The test does not depend on the time that the restart takes.
    let extend_leases = "update deliveries set lease_until = unixepoch() + 86400 \
                         where claim is not null and lease_until is not null";
    assert_eq!(database.execute(extend_leases, ()).unwrap(), 1);
    drop(database);

    process.restart();
    push_service.wait_for(2).await;
    let log = process.wait_for_outcomes("alice").await;
    let outcomes: Vec<&Value> = log.iter().map(|delivery| &delivery["outcome"]).collect();
    assert_eq!(outcomes, ["delivered"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_whose_secrets_were_sealed_with_a_lost_key_is_removed_by_its_next_message() {
    let mut process = DeliveringProcess::start();
    let push_service = PushService::start().await;
    process.subscribe("alice", &format!("{}/lost", push_service.url)).await;
    let gateway = PushService::start_with(|_| "{}".into_response()).await;
    let token = process.issue_token("alice");
    let pusher = pusher_body(&json!({}), &gateway.url);
    process.post(&format!("{PUSHERS}/set"), &token, &pusher).await;
    process.stop();
    std::fs::remove_file(process.path().join(KEY_FILE)).unwrap();

    process.restart();
    process.subscribe("bob", &format!("{}/new", push_service.url)).await;
    assert_eq!(process.run_json(&["push", "list", "alice"]).len(), 2, "no message is due yet");
    process.mention("alice", 1).await;
    process.mention("bob", 2).await;
    let event = notify_body("$1", &["alice"]);
    assert_eq!(process.post_as_product(NOTIFY, &event).await["accepted"], 1);
    for (name, expected) in [("alice", &["removed", "delivered"][..]), ("bob", &["delivered"])] {
        let log = process.wait_for_outcomes(name).await;
        let outcomes: Vec<&Value> = log.iter().map(|delivery| &delivery["outcome"]).collect();
        assert_eq!(outcomes, expected, "{name}: {log:#?}");
    }
    assert_eq!(gateway.requests().len(), 1, "a push gateway needs no secrets");
    let requests = push_service.requests();
    let paths: Vec<&str> = requests.iter().map(|request| &*request.path).collect();
    assert_eq!(paths, ["/new"]);

    // The result of the delivery is stored before the receiver is removed.
    process.stop();
    let receivers = process.run_json(&["push", "list", "alice"]);
    let kinds: Vec<&Value> = receivers.iter().map(|receiver| &receiver["kind"]).collect();
    assert_eq!(kinds, ["gateway"]);
    let events = process.run_json(&["audit", "--kind", "receiver_remove"]);
    assert_eq!(events.len(), 1, "{events:#?}");
    let account_and_origin = (&events[0]["account"], &events[0]["origin"]);
    assert_eq!(account_and_origin, (&json!("alice"), &json!("server")));
    let detail = events[0]["detail"].as_str().unwrap();
    assert!(detail.contains("sealed with a different sealing key"), "{detail}");
}
