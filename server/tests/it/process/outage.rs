//! PostgreSQL is stopped and restarted under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use belfry_store::Database;
use belfry_store::{Options, Store, StoreError};
use jiff::Timestamp;
use serde_json::{Value, json};
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;

use crate::support::process::run_successfully;
use crate::support::{ServerProcess, any_events};

/// The store's timeout for each wait.
const TIMEOUT: Duration = Duration::from_secs(2);

/// `/readyz` reports the outage. Requests fail within their timeout, with a temporary error in the
/// format of their area. After the outage, all of them succeed.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_recovers_from_a_postgres_outage() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url();
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "alice", "--database", &url]);
    let token = run_successfully(dir.path(), &["token", "issue", "alice", "--database", &url]);
    let server = ServerProcess::start(dir.path(), &["--database", &url, "--limits", "off"]);
    let get_rules = async || {
        let url = format!("{}/_matrix/client/v3/pushrules/", server.url);
        // Far longer than the timeout of a query.
        let client = reqwest::Client::builder().timeout(TIMEOUT * 10).build().unwrap();
        let response = client.get(url).bearer_auth(token.trim()).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let get_readiness = async || {
        let response = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!((get_readiness().await.0, get_rules().await.0), (200, 200));

    let options = Options { timeout: TIMEOUT, ..Options::default() };
    let database = Database::Postgres(url.parse().unwrap());
    let store = Arc::new(Store::open(&database, &options, Timestamp::UNIX_EPOCH).await.unwrap());
    let load = Load::default();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        tasks.spawn(load.clone().run(Arc::clone(&store)));
    }
    load.wait_for_successes(100).await;

    postgres.stop().unwrap();
    // The result of the previous check is reused for a second.
    let start = Instant::now();
    let not_ready_body = loop {
        let (status, body) = get_readiness().await;
        if status == 503 {
            break body;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{status} {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(not_ready_body.contains("\"status\":\"not ready\""), "{not_ready_body}");
    assert!(!not_ready_body.contains("\"database\":\"ok\""), "{not_ready_body}");
    // Rejected although the rules are cached: without notifications, the node would not learn that
    // another node revoked the token.
    let error = json!({
        "errcode": "M_UNKNOWN",
        "error": "The database cannot be used at the moment; try again soon",
    });
    assert_eq!(wait_for_status(&get_rules, 503).await, error);
    load.wait_for_failures(100).await;

    postgres.restart().unwrap();
    load.wait_for_successes(100).await;
    load.is_stopped.store(true, Ordering::Relaxed);
    tasks.join_all().await;
    let start = Instant::now();
    assert!(wait_for_status(&get_rules, 200).await["global"].is_object());
    while get_readiness().await.0 != 200 || !store.is_cache_enabled() {
        assert!(start.elapsed() < Duration::from_mins(1), "the server has not recovered");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The log shows the cause and the end of the outage.
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find_line = |message: &str| lines.iter().find(|line| line["message"] == message);
    let loss_line = find_line("connection to PostgreSQL lost").unwrap_or_else(|| panic!("{log}"));
    let cause = "terminating connection due to administrator command";
    assert!(loss_line["error"].as_str().unwrap().contains(cause), "{loss_line}");
    for message in ["not ready", "ready again", "database available again"] {
        assert!(find_line(message).is_some(), "{message}: {log}");
    }
    assert!(lines.iter().all(|line| line["error"] != "db error"), "{log}");
    assert!(!log.contains("Connection error"), "{log}");
}

/// Repeats a request until the response has this status.
async fn wait_for_status(request: &impl AsyncFn() -> (u16, Value), expected: u16) -> Value {
    let start = Instant::now();
    loop {
        let (status, body) = request().await;
        if status == expected {
            return body;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{status} {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Tasks that use the store until stopped, and count its successes and failures.
#[derive(Clone, Default)]
struct Load {
    is_stopped: Arc<AtomicBool>,
    successes: Arc<AtomicU64>,
    failures: Arc<AtomicU64>,
}

impl Load {
    /// Writes and reads until it is stopped. A failure must be temporary, and must be reported
    /// within ten times [`TIMEOUT`].
    async fn run(self, store: Arc<Store>) {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let start = Instant::now();
            let operations = async {
                let session =
                    belfry_runtime::random::split_token(Timestamp::UNIX_EPOCH).hashed_secret();
                store.end_session(&any_events(), 7, session.lookup_key).await?;
                store.session(session, Timestamp::UNIX_EPOCH).await
            };
            match operations.await {
                Ok(_) => drop(self.successes.fetch_add(1, Ordering::Relaxed)),
                Err(StoreError::Unavailable(_)) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    // A read and a write. Each may wait for a connection and for a result.
                    assert!(start.elapsed() < TIMEOUT * 10, "took {:?}", start.elapsed());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    async fn wait_for_successes(&self, increase: u64) {
        wait_for_increase(&self.successes, increase).await;
    }

    async fn wait_for_failures(&self, increase: u64) {
        wait_for_increase(&self.failures, increase).await;
    }
}

async fn wait_for_increase(count: &AtomicU64, increase: u64) {
    let start = Instant::now();
    let before = count.load(Ordering::Relaxed);
    while count.load(Ordering::Relaxed) < before + increase {
        assert!(start.elapsed() < Duration::from_mins(1), "the count has not increased");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
