//! Deliveries by nodes that share a PostgreSQL database.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use axum::response::IntoResponse;
use belfry_store::{Database, Options, Store};
use jiff::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;

use super::{PUSHERS, notify_body, process_settings, pusher_body, wait_until_idle};
use crate::support::process::run_successfully;
use crate::support::service::metric_value;
use crate::support::{PushService, ServerProcess, TestDatabase};

const NODES: usize = 3;
const MESSAGES: usize = 300;
const DELIVERED_ATTEMPTS: &str = "belfry_delivery_attempts_total{outcome=\"delivered\"}";

/// Nodes with one database, in which alice has a pusher.
struct Cluster {
    nodes: Vec<ServerProcess>,
    client: Client,
    _dir: TempDir,
}

impl Cluster {
    async fn start(count: usize, database_url: &str, gateway: &PushService) -> Self {
        let dir = tempfile::tempdir().unwrap();
        run_successfully(dir.path(), &["key", "new"]);
        let settings = format!("secret_key_file = 'belfry.key'\n{}", process_settings());
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        let arguments = ["--database", database_url, "--limits", "off"];
        let nodes: Vec<ServerProcess> =
            (0..count).map(|_| ServerProcess::start(dir.path(), &arguments)).collect();
        let run = |arguments: &[&str]| {
            run_successfully(dir.path(), &[arguments, &["--database", database_url]].concat())
        };
        run(&["account", "add", "alice"]);
        let token = run(&["token", "issue", "alice", "--scopes", "push"]);
        let client = Client::new();
        let set_pusher = client.post(format!("{}{PUSHERS}/set", nodes[0].url));
        let set_pusher = set_pusher.json(&pusher_body(&json!({}), &gateway.url));
        let response = set_pusher.bearer_auth(token.trim()).send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        Self { nodes, client, _dir: dir }
    }

    /// Sends an event to alice, again if too many messages wait for her pusher.
    async fn notify(&self, node: usize, event_id: &str) {
        loop {
            let url = format!("{}/_matrix/app/v1/notify", self.nodes[node].url);
            let request = self.client.post(url).bearer_auth("token of product");
            let response = request.json(&notify_body(event_id, &["alice"])).send().await.unwrap();
            let body: Value = response.json().await.unwrap();
            if body["accepted"] == 1 {
                return;
            }
            assert_eq!(body["accepted"], 0, "{body}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns the number of messages that each node has delivered.
    async fn delivered_counts(&self) -> Vec<f64> {
        let mut counts = Vec::new();
        for node in &self.nodes {
            let response = self.client.get(format!("{}/metrics", node.url)).send().await.unwrap();
            counts.push(metric_value(&response.text().await.unwrap(), DELIVERED_ATTEMPTS));
        }
        counts
    }
}

/// A client of each node sends events. When no delivery waits any more, the gateway has received
/// each event once, and the nodes together have made one attempt for each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_send_each_message_once() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let gateway = PushService::start_with(|_| "{}".into_response()).await;
    let cluster = Arc::new(Cluster::start(NODES, database.url().unwrap(), &gateway).await);
    let mut clients = JoinSet::new();
    for index in 0..NODES {
        let cluster = Arc::clone(&cluster);
        clients.spawn(async move {
            for message in (index..MESSAGES).step_by(NODES) {
                cluster.notify(index, &event_id(message)).await;
            }
        });
    }
    clients.join_all().await;
    wait_until_idle(&database.open().await).await;

    let sent_id = |body: Value| body["notification"]["event_id"].as_str().unwrap().to_owned();
    let mut received: Vec<_> =
        gateway.requests().iter().map(|request| sent_id(request.json())).collect();
    received.sort_unstable();
    assert_eq!(received, (0..MESSAGES).map(event_id).collect::<Vec<_>>());
    let delivered_counts = cluster.delivered_counts().await;
    println!("deliveries of the nodes: {delivered_counts:?}");
    // Formatted, because floats are not compared exactly.
    assert_eq!(delivered_counts.iter().sum::<f64>().to_string(), MESSAGES.to_string());
}

/// The gateway responds while the database is down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_stored_after_an_outage_of_the_database() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let (response, withheld) = mpsc::channel::<()>();
    let withheld = Mutex::new(withheld);
    let gateway = PushService::start_with(move |_| {
        let _ = tokio::task::block_in_place(|| withheld.lock().unwrap().recv());
        "{}".into_response()
    });
    let gateway = gateway.await;
    let cluster = Cluster::start(1, &postgres.url(), &gateway).await;
    cluster.notify(0, "$1").await;
    gateway.wait_for(1).await;
    postgres.stop().unwrap();
    drop(response);
    while cluster.delivered_counts().await[0] < 1.0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    postgres.restart().unwrap();
    let database = Database::Postgres(postgres.url().parse().unwrap());
    let store = Store::open(&database, &Options::default(), Timestamp::UNIX_EPOCH).await.unwrap();
    wait_until_idle(&store).await;
    assert_eq!(gateway.requests().len(), 1, "the message is not sent again");
}

/// Returns an id whose alphabetical order is that of the messages.
fn event_id(message: usize) -> String {
    format!("${message:03}")
}
