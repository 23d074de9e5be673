//! A dead and a busy origin among a hundred origins.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{PUSHERS, notify_body, process_settings, pusher_body};
use crate::support::process::{add_account, run_successfully};
use crate::support::{PushService, ServerProcess};

const ACCOUNTS: [&str; 5] = ["ann", "ben", "cat", "dan", "eve"];
const PUSHERS_PER_ACCOUNT: usize = 20;
const ROUNDS: usize = 10;
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Fails a test that would otherwise wait forever.
const TIMEOUT: Duration = Duration::from_mins(2);

struct Server {
    process: ServerProcess,
    tokens: Vec<String>,
    client: Client,
    _dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("belfry.toml"), process_settings()).unwrap();
        let issue_token = |name| {
            add_account(dir.path(), name);
            let arguments = ["token", "issue", name, "--scopes", "push"];
            run_successfully(dir.path(), &arguments).trim().to_owned()
        };
        let tokens = ACCOUNTS.map(issue_token).to_vec();
        let process = ServerProcess::start(dir.path(), &["--limits", "off"]);
        Self { process, tokens, client: Client::new(), _dir: dir }
    }

    async fn set_pusher(&self, number: usize, url: &str) {
        let body = pusher_body(&json!({ "pushkey": number.to_string() }), url);
        let request = self.client.post(format!("{}{PUSHERS}/set", self.process.url)).json(&body);
        let token = &self.tokens[number / PUSHERS_PER_ACCOUNT];
        let response = request.bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    }

    /// Sends an event to all accounts. Returns the number of accepted messages.
    async fn notify(&self, event_id: &str) -> u64 {
        let request = self.client.post(format!("{}/_matrix/app/v1/notify", self.process.url));
        let request = request.bearer_auth("token of product");
        let response = request.json(&notify_body(event_id, &ACCOUNTS)).send().await.unwrap();
        response.json::<Value>().await.unwrap()["accepted"].as_u64().unwrap()
    }

    /// Sends events one by one, each when all healthy origins have received the previous event.
    /// Returns the 99th percentile of the delivery times to healthy origins.
    async fn measure(
        &self,
        label: &str,
        accepted: usize,
        arrivals: &Mutex<Vec<Instant>>,
    ) -> Duration {
        let healthy = ACCOUNTS.len() * PUSHERS_PER_ACCOUNT - 2;
        let mut durations = Vec::new();
        for round in 0..ROUNDS {
            arrivals.lock().unwrap().clear();
            let start = Instant::now();
            assert_eq!(self.notify(&format!("${label}{round}")).await, accepted as u64);
            while arrivals.lock().unwrap().len() < healthy {
                assert!(start.elapsed() < TIMEOUT, "messages to healthy origins are missing");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            durations.extend(arrivals.lock().unwrap().iter().map(|arrival| *arrival - start));
        }
        durations.sort_unstable();
        durations[durations.len() * 99 / 100]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_and_a_busy_origin_do_not_delay_98_others() {
    let server = Server::start();
    let arrivals = Arc::<Mutex<Vec<Instant>>>::default();
    let mut healthy = Vec::new();
    let count = ACCOUNTS.len() * PUSHERS_PER_ACCOUNT;
    for number in 2..count {
        let arrivals = Arc::clone(&arrivals);
        let origin = PushService::start_with(move |_| {
            arrivals.lock().unwrap().push(Instant::now());
            "{}".into_response()
        });
        let origin = origin.await;
        server.set_pusher(number, &origin.url).await;
        healthy.push(origin);
    }
    let alone = server.measure("alone", healthy.len(), &arrivals).await;

    // Accepts connections and never responds.
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap();
    server.set_pusher(0, &format!("http://{}", dead.local_addr().unwrap())).await;
    let busy_times = Arc::<Mutex<Vec<Instant>>>::default();
    let times = Arc::clone(&busy_times);
    let busy = PushService::start_with(move |_| {
        times.lock().unwrap().push(Instant::now());
        let retry_after = RETRY_AFTER.as_secs().to_string();
        (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, retry_after)]).into_response()
    });
    let busy = busy.await;
    server.set_pusher(1, &busy.url).await;
    let together = server.measure("together", count, &arrivals).await;
    println!("99th percentile: {alone:?} without, {together:?} with a dead and a busy origin");

    for origin in &healthy {
        let requests = origin.wait_for(2 * ROUNDS).await;
        assert_eq!(requests.len(), 2 * ROUNDS, "each message arrives once");
    }
    tokio::time::timeout(TIMEOUT, dead.accept()).await.unwrap().unwrap();
    busy.wait_for(1).await;
    let times = busy_times.lock().unwrap();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= RETRY_AFTER, "a request arrived too early");
    }
}
