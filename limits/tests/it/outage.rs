//! Outages of Redis: no request is rejected because of one, and every limit still applies.

use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{CountMode, Limit};
use belfry_limits::{Engine, EngineStatus};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;

use test_engines::shared::redis_url;

use super::engine::{account_bucket, connect_engine, fresh_prefix, limit, open_engine, remaining};
use super::gate::{self, Gate};

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// Creates an engine that reaches Redis through a gate. Returns the prefix of its keys as well.
async fn connect_through_gate(timeout: Duration) -> Option<(Engine, watch::Sender<Gate>, String)> {
    let url = redis_url()?;
    let redis_address = url.strip_prefix("redis://").unwrap().trim_end_matches('/').to_owned();
    let (address, gate) = gate::start_proxy(redis_address).await;
    let prefix = fresh_prefix();
    let engine = open_engine(&format!("redis://{address}"), &prefix, timeout).await.unwrap();
    assert_eq!(engine.state().status, EngineStatus::Redis);
    Some((engine, gate, prefix))
}

/// Sends requests from one account and counts the admitted ones.
async fn count_admitted(engine: &Engine, limit: &Arc<Limit>, id: i64, requests: usize) -> usize {
    let mut admitted_count = 0;
    for _ in 0..requests {
        let decision = engine.check(CountMode::Check, &[account_bucket(limit, id)], now()).await;
        admitted_count += usize::from(decision.is_admitted());
    }
    admitted_count
}

/// Waits until the engine has this status. Requests detect an outage, so some are sent from an
/// account that no test uses.
async fn wait_for_status(engine: &Engine, status: EngineStatus) {
    let limit = limit("probe", 1_000_000, 300);
    for _ in 0..1200 {
        if engine.state().status == status {
            return;
        }
        engine.check(CountMode::Check, &[account_bucket(&limit, -1)], now()).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("still not {status:?}: {:?}", engine.state());
}

async fn check_counting_during_outage(outage: Gate) {
    let Some((engine, gate, prefix)) = connect_through_gate(Duration::from_secs(1)).await else {
        return;
    };
    let limit = limit("account", 30, 300);
    assert_eq!(count_admitted(&engine, &limit, 1, 10).await, 10);

    gate.send(outage).unwrap();
    assert_eq!(
        count_admitted(&engine, &limit, 1, 40).await,
        20,
        "counting continues from the last known count"
    );
    let state = engine.state();
    assert_eq!(state.status, EngineStatus::RedisUnavailable);
    assert!(state.local_decisions >= 20, "{state:?}");
    assert_eq!(count_admitted(&engine, &limit, 2, 1).await, 1);

    gate.send(Gate::Open).unwrap();
    wait_for_status(&engine, EngineStatus::Redis).await;
    assert_eq!(
        count_admitted(&engine, &limit, 1, 5).await,
        0,
        "the limit is exhausted until the window ends"
    );
    assert_eq!(count_admitted(&engine, &limit, 3, 1).await, 1);
    let other_node = connect_engine(&redis_url().unwrap(), &prefix).await;
    let peek = other_node.check(CountMode::Peek, &[account_bucket(&limit, 3)], now()).await;
    assert_eq!(remaining(&peek), [29], "both nodes count together again");
}

#[tokio::test]
async fn while_redis_is_stopped_counting_continues_locally() {
    check_counting_during_outage(Gate::Closed).await;
}

#[tokio::test]
async fn while_redis_is_slow_counting_continues_locally() {
    check_counting_during_outage(Gate::Withholding).await;
}

/// A node admits the limit in Redis, and in addition only the requests that it counted during the
/// outage, which are not written back. A key that is exhausted in either engine stays exhausted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_outage_under_load_admits_the_limit_and_the_requests_counted_locally() {
    let Some((engine, gate, _)) = connect_through_gate(Duration::from_secs(30)).await else {
        return;
    };
    let engine = Arc::new(engine);
    let assert_admitted_per_client = async |requests: usize, expected: usize| {
        let mut clients = JoinSet::new();
        for client in 0..32 {
            let engine = Arc::clone(&engine);
            clients.spawn(async move {
                count_admitted(&engine, &limit("account", 20, 300), client, requests).await
            });
        }
        assert_eq!(clients.join_all().await, [expected; 32]);
    };
    assert_admitted_per_client(8, 8).await;
    gate.send(Gate::Closed).unwrap();
    wait_for_status(&engine, EngineStatus::RedisUnavailable).await;
    assert_admitted_per_client(5, 5).await;
    gate.send(Gate::Open).unwrap();
    wait_for_status(&engine, EngineStatus::Redis).await;
    assert_admitted_per_client(30, 12).await;
    gate.send(Gate::Closed).unwrap();
    wait_for_status(&engine, EngineStatus::RedisUnavailable).await;
    assert_admitted_per_client(5, 0).await;
}

#[tokio::test]
async fn a_redis_server_that_is_unreachable_at_startup_is_not_used() {
    let engine =
        open_engine("redis://127.0.0.1:1", "belfry", Duration::from_millis(25)).await.unwrap();
    assert_eq!(engine.state().status, EngineStatus::RedisUnavailable);
    assert_eq!(count_admitted(&engine, &limit("account", 30, 300), 1, 40).await, 30);
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_redis_protocol_is_not_used() {
    use tokio::io::AsyncWriteExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    let engine = open_engine(&url, "belfry", Duration::from_millis(25)).await.unwrap();
    assert_eq!(count_admitted(&engine, &limit("account", 30, 300), 1, 40).await, 30);
    assert_eq!(engine.state().status, EngineStatus::RedisUnavailable);
}
