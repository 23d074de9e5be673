//! PostgreSQL goes away under load, and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use belfry::store::Database;
use belfry::store::{Options, Store, StoreError};
use belfry_core::secret::Secret;
use jiff::Timestamp;
use serde_json::{Value, json};
use test_engines::Postgres;
use tokio::task::JoinSet;

use crate::support::Process;
use crate::support::databases::engine_url;
use crate::support::process::run_well;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Stopped for five seconds under load: `/readyz` says so, calls fail within their timeout and
/// say that another try may succeed, in the shape of their area, and all recovers by itself.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_stopped_for_five_seconds_is_survived() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url();
    let folder = tempfile::tempdir().unwrap();
    run_well(folder.path(), &["account", "add", "alice", "--database", &url]);
    let token = run_well(folder.path(), &["token", "issue", "alice", "--database", &url]);
    let server = Process::start(folder.path(), &["--database", &url, "--limits", "off"]);
    let rules = async || {
        let path = format!("{}/_matrix/client/v3/pushrules/", server.url);
        // Far more than the bounds of a call to the database: an answer later than that is none.
        let client = reqwest::Client::builder().timeout(TIMEOUT * 10).build().unwrap();
        let answer = client.get(path).bearer_auth(token.trim()).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let ready = async || {
        let answer = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!((ready().await.0, rules().await.0), (200, 200));

    let options = Options { timeout: TIMEOUT, ..Options::default() };
    let database = Database::Postgres(url.parse().unwrap());
    let store = Arc::new(Store::open(&database, &options, Timestamp::UNIX_EPOCH).await.unwrap());
    let load = Load::default();
    let mut callers = JoinSet::new();
    for caller in 0..16 {
        callers.spawn(load.clone().run(caller, Arc::clone(&store)));
    }
    load.wait_for_successes(100).await;

    postgres.stop().unwrap();
    let stopped_at = Instant::now();
    let (status, text) = ready().await;
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("\"status\":\"not ready\""), "{text}");
    assert!(!text.contains("\"database\":\"ok\""), "{text}");
    // Not from memory: nobody would tell this node that the token was revoked elsewhere.
    let refusal = json!({
        "errcode": "M_UNKNOWN",
        "error": "The database cannot be used at the moment; try again soon",
    });
    assert_eq!(soon(&rules, 503).await, refusal);
    tokio::time::sleep(Duration::from_secs(5).saturating_sub(stopped_at.elapsed())).await;
    assert!(load.failures.load(Ordering::Relaxed) > 0, "nobody noticed");

    postgres.restart().unwrap();
    load.wait_for_successes(100).await;
    load.stop.store(true, Ordering::Relaxed);
    callers.join_all().await;
    let began = Instant::now();
    assert!(soon(&rules, 200).await["global"].is_object());
    while ready().await.0 != 200 || !store.is_cache_enabled() {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Calls until the answer has this status.
async fn soon(call: &impl AsyncFn() -> (u16, Value), status: u16) -> Value {
    let began = Instant::now();
    loop {
        let (answered, body) = call().await;
        if answered == status {
            return body;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{answered} {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[derive(Clone, Default)]
struct Load {
    stop: Arc<AtomicBool>,
    successes: Arc<AtomicU64>,
    failures: Arc<AtomicU64>,
}

impl Load {
    /// Writes until told to stop. A write that fails does so as unavailable and in time.
    async fn run(self, caller: i64, store: Arc<Store>) {
        while !self.stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let write = async {
                let session = Secret::new(format!("{caller}")).digest();
                store.end_sessions(caller).await?;
                store.session(session, Timestamp::UNIX_EPOCH).await
            };
            match write.await {
                Ok(_) => drop(self.successes.fetch_add(1, Ordering::Relaxed)),
                Err(StoreError::Unavailable(_)) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    // A read and a write, each with time to wait for a connection and to use it;
                    // far more than that would be a hang.
                    assert!(began.elapsed() < TIMEOUT * 10, "a call took {:?}", began.elapsed());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    async fn wait_for_successes(&self, more: u64) {
        let (began, before) = (Instant::now(), self.successes.load(Ordering::Relaxed));
        while self.successes.load(Ordering::Relaxed) < before + more {
            assert!(began.elapsed() < Duration::from_mins(1), "no progress");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
