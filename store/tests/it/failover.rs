//! Failover of PostgreSQL from its primary to a synchronous standby.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use belfry_store::test::{TestDatabase, any_events, options};
use belfry_store::{Database, Options, Store, StoreError};
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::cases::{CONCURRENT_TASKS, add_alice_and_app, hashed_secret, timestamp, token};
use super::nodes::wait_until;

const READ_ONLY: &str = "PostgreSQL is read-only (a standby or a demoted primary)";

const COUNT_SESSIONS: &str =
    "select count(*) from pg_stat_activity where application_name = 'belfry'";

struct PrimaryAndStandby {
    primary: Postgres,
    standby: Postgres,
}

impl PrimaryAndStandby {
    fn start() -> Option<Self> {
        engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES")?;
        let primary = Postgres::start().unwrap();
        let standby = primary.start_standby().unwrap();
        primary.replicate_synchronously().unwrap();
        Some(Self { primary, standby })
    }

    async fn open(&self, timeout: Duration) -> Store {
        let ports = (self.primary.port(), self.standby.port());
        let url =
            format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", ports.0, ports.1);
        open(&url, &Options { timeout, ..options() }).await
    }
}

async fn open(url: &str, options: &Options) -> Store {
    Store::open(&Database::Postgres(url.parse().unwrap()), options, timestamp(0)).await.unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcknowledgedState {
    Added,
    Revoked,
}

/// Writers that record the acknowledged writes.
#[derive(Default)]
struct WriteLoad {
    is_stopped: AtomicBool,
    acknowledged_count: AtomicU64,
    failure_count: AtomicU64,
}

impl WriteLoad {
    /// Adds tokens and revokes every second one. Failures must be temporary.
    async fn write(self: Arc<Self>, store: Store, writer: i64) -> Vec<(String, AcknowledgedState)> {
        let mut tokens = Vec::new();
        for number in 0.. {
            if self.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("{writer} {number}");
            let outcome = store.add_token(&any_events(), &token(&name, Some(7))).await.map(drop);
            if !self.count_outcome(outcome).await {
                continue;
            }
            let state = if number % 2 == 0 {
                AcknowledgedState::Added
            } else {
                let outcome = store
                    .revoke_token(&any_events(), hashed_secret(&name).lookup_key, timestamp(1))
                    .await
                    .map(drop);
                if !self.count_outcome(outcome).await {
                    continue;
                }
                AcknowledgedState::Revoked
            };
            tokens.push((name, state));
        }
        tokens
    }

    /// Counts a write, and returns whether it succeeded.
    async fn count_outcome(&self, outcome: Result<(), StoreError>) -> bool {
        match outcome {
            Ok(()) => self.acknowledged_count.fetch_add(1, Ordering::Relaxed),
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                self.failure_count.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            Err(error) => panic!("{error}"),
        };
        true
    }

    /// Waits until a counter has risen by `increase`.
    async fn wait_for(&self, count: &AtomicU64, increase: u64) {
        let start = count.load(Ordering::Relaxed);
        wait_until("progress of the load", async || {
            count.load(Ordering::Relaxed) >= start + increase
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failover_every_node_writes_and_no_acknowledged_write_is_lost() {
    let Some(mut pair) = PrimaryAndStandby::start() else { return };
    let timeout = Options::default().timeout;
    let nodes = [pair.open(timeout).await, pair.open(timeout).await, pair.open(timeout).await];
    add_alice_and_app(&nodes[0]).await;
    nodes[0].add_token(&any_events(), &token("cached", Some(7))).await.unwrap();
    let is_revoked = async |node: &Store, name: &str| {
        let token = node.token(hashed_secret(name)).await.unwrap();
        token.unwrap_or_else(|| panic!("{name} is lost")).revoked_at.is_some()
    };
    for node in &nodes {
        wait_until("the cache is enabled", async || node.is_cache_enabled()).await;
        // Fills the cache.
        assert!(!is_revoked(node, "cached").await);
    }
    let load = Arc::new(WriteLoad::default());
    let mut writers = JoinSet::new();
    for writer in 0..CONCURRENT_TASKS {
        let node = nodes[usize::try_from(writer).unwrap() % nodes.len()].clone();
        writers.spawn(Arc::clone(&load).write(node, writer));
    }
    load.wait_for(&load.acknowledged_count, 200).await;

    nodes[0]
        .revoke_token(&any_events(), hashed_secret("cached").lookup_key, timestamp(1))
        .await
        .unwrap();
    pair.primary.kill().unwrap();
    load.wait_for(&load.failure_count, 100).await;
    pair.standby.promote().unwrap();
    let promoted_at = Instant::now();
    for (number, node) in nodes.iter().enumerate() {
        let name = format!("after {number}");
        while node.add_token(&any_events(), &token(&name, Some(7))).await.is_err() {
            assert!(promoted_at.elapsed() < Duration::from_mins(1), "node {number} does not write");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    load.wait_for(&load.acknowledged_count, 200).await;
    load.is_stopped.store(true, Ordering::Relaxed);

    for node in &nodes {
        assert!(is_revoked(node, "cached").await, "the cached token is revoked");
    }
    let tokens_by_writer = writers.join_all().await;
    for (writer, tokens) in tokens_by_writer.iter().enumerate() {
        let other_node = &nodes[(writer + 1) % nodes.len()];
        for (name, state) in tokens {
            assert_eq!(
                is_revoked(other_node, name).await,
                *state == AcknowledgedState::Revoked,
                "{name}"
            );
        }
    }
    for node in &nodes {
        wait_until("the cache is enabled again", async || node.is_cache_enabled()).await;
    }

    // The old primary returns read-only.
    pair.primary.restart_read_only().unwrap();
    let late_node = pair.open(timeout).await;
    late_node.add_token(&any_events(), &token("late", Some(7))).await.unwrap();
    for node in &nodes {
        assert!(!is_revoked(node, "late").await, "the token is on the new primary");
    }
    pair.primary.wait_for(COUNT_SESSIONS, "0").unwrap();

    // It is not used even if no other server runs, because its data is old.
    pair.standby.kill().unwrap();
    wait_until("the state is reported", async || {
        let outcome = late_node.ping().await;
        matches!(outcome, Err(StoreError::Unavailable(reason)) if reason.contains(READ_ONLY))
    })
    .await;
    assert!(late_node.token(hashed_secret("late")).await.is_err());
}

/// After a cancel request, PostgreSQL reports success for a commit that only the primary has.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_standby_does_not_confirm_is_not_acknowledged() {
    let Some(mut pair) = PrimaryAndStandby::start() else { return };
    // Hides the warning from clients that do not enable it.
    pair.primary.set_parameter("client_min_messages", "error").unwrap();
    let store = pair.open(Duration::from_secs(1)).await;
    wait_until("the store is set up", async || store.ping().await.is_ok()).await;
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("before", Some(7))).await.unwrap();

    pair.standby.pause().unwrap();
    let is_unconfirmed = |outcome: Result<(), StoreError>| {
        let error = outcome.unwrap_err();
        matches!(error, StoreError::Unavailable(reason) if reason.contains("synchronous standby"))
    };
    // One statement, and a transaction with a notification.
    assert!(is_unconfirmed(
        store.add_token(&any_events(), &token("during", Some(7))).await.map(drop)
    ));
    assert!(is_unconfirmed(
        store
            .revoke_token(&any_events(), hashed_secret("before").lookup_key, timestamp(1))
            .await
            .map(drop)
    ));

    pair.standby.resume().unwrap();
    wait_until("writes succeed again", async || {
        store
            .revoke_token(&any_events(), hashed_secret("before").lookup_key, timestamp(1))
            .await
            .is_ok()
    })
    .await;
}

/// The server may have been demoted, so another server may have newer data.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_becomes_read_only_is_abandoned() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let postgres = Postgres::start().unwrap();
    let store = open(&postgres.url(), &options()).await;
    wait_until("the cache is enabled", async || store.is_cache_enabled()).await;
    let select_pids = COUNT_SESSIONS.replace("count(*)", "pid");
    let pids = postgres.execute(&select_pids).unwrap().replace('\n', ",");

    postgres.set_parameter("default_transaction_read_only", "on").unwrap();
    wait_until("the cache is disabled", async || !store.is_cache_enabled()).await;
    postgres.wait_for(&format!("{COUNT_SESSIONS} and pid in ({pids})"), "0").unwrap();
    let error = store.token(hashed_secret("t")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable(why) if why.contains(READ_ONLY)), "{error}");

    postgres.set_parameter("default_transaction_read_only", "off").unwrap();
    wait_until("it is used again", async || store.ping().await.is_ok()).await;
    wait_until("the cache is enabled again", async || store.is_cache_enabled()).await;
}

/// The host behaves as if packets to it were dropped.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_respond_does_not_block_the_next_host() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let url = url::Url::parse(database.url().unwrap()).unwrap();
    // Connections are accepted by the operating system only.
    let silent_host = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let url = url.as_str().replace(&server, &format!("{silent_host},{server}"));

    let store = open(&url, &options()).await;

    store.ping().await.unwrap();
    wait_until("the cache is enabled", async || store.is_cache_enabled()).await;
}
