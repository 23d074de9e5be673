//! Messages when the server is stopped or killed.

use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::process::DeliveringProcess;
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
    let extend_leases = "update receivers set lease_until = unixepoch() + 86400 \
                         where claim is not null and lease_until is not null";
    assert_eq!(database.execute(extend_leases, ()).unwrap(), 1);
    drop(database);

    process.restart();
    push_service.wait_for(2).await;
    let log = process.wait_for_outcomes("alice").await;
    let outcomes: Vec<&Value> = log.iter().map(|delivery| &delivery["outcome"]).collect();
    assert_eq!(outcomes, ["delivered"]);
}
