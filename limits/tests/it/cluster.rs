//! Counting on a cluster: subjects in different slots, slots that move, and shards that fail.

use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use belfry_limits::{Engine, EngineStatus};
use jiff::Timestamp;
use test_engines::{RedisCluster, SHARDS};

use test_engines::shared::{private_cluster, redis_url, shared_cluster};

use super::engine::{
    account_bucket, address_bucket, connect_engine, fresh_prefix, limit, open_engine, remaining,
};

/// Maximum number of attempts, 20 ms apart, to observe a state.
const ATTEMPTS: usize = 3000;

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

async fn is_admitted(engine: &Engine, buckets: &[Bucket<'_>]) -> bool {
    engine.check(CountMode::Check, buckets, now()).await.is_admitted()
}

async fn peek_remaining(engine: &Engine, bucket: Bucket<'_>) -> u32 {
    remaining(&engine.check(CountMode::Peek, &[bucket], now()).await)[0]
}

/// Returns the key of an account's counter for the limit with this name.
fn counter_key(prefix: &str, limit: &str, id: i64) -> String {
    format!("{prefix}:{{account:={id}}}:{limit}")
}

fn account_id_on(cluster: &RedisCluster, primary: usize) -> i64 {
    (1..10_000)
        .find(|&id| cluster.primary_for_key(&counter_key("x", "x", id)).unwrap() == primary)
        .unwrap()
}

/// Returns the last octet of an address whose counters are on this primary.
fn last_octet_on(cluster: &RedisCluster, primary: usize) -> u8 {
    let is_on_primary = |last_octet: &u8| {
        cluster.primary_for_key(&format!("x:{{ip:192.0.2.{last_octet}}}:x")).unwrap() == primary
    };
    (1..=255).find(is_on_primary).unwrap()
}

/// In the first round the address limit rejects the request, in the second the account limit. After
/// each, the other modes see the correct counts.
#[tokio::test]
async fn a_rejected_request_releases_its_other_reservation() {
    let Some(cluster) = shared_cluster() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&cluster.url(), &prefix).await;
    let wide = limit("wide", 5, 300);
    let narrow = limit("narrow", 1, 300);
    for (id, last_octet, account_limit, address_limit) in
        [(1, 1, &wide, &narrow), (2, 2, &narrow, &wide)]
    {
        let buckets =
            [account_bucket(account_limit, id), address_bucket(address_limit, last_octet)];
        assert!(is_admitted(&engine, &buckets).await);
        // A new node has no local count of the exhausted limit yet.
        for _ in 0..3 {
            let node = connect_engine(&cluster.url(), &prefix).await;
            let decision = node.check(CountMode::Check, &buckets, now()).await;
            assert!(!decision.is_admitted());
            let expected = if id == 1 { [4, 0] } else { [0, 4] };
            assert_eq!(remaining(&decision), expected);
        }
        let node = connect_engine(&cluster.url(), &prefix).await;
        for (bucket, expected) in buckets.iter().zip(if id == 1 { [4, 0] } else { [0, 4] }) {
            assert_eq!(peek_remaining(&node, bucket.clone()).await, expected);
        }
        assert_eq!(
            remaining(&node.check(CountMode::Charge, &buckets, now()).await),
            if id == 1 { [3, 0] } else { [0, 3] }
        );
        assert_eq!(
            remaining(&node.check(CountMode::Refund, &buckets, now()).await),
            if id == 1 { [4, 1] } else { [1, 4] }
        );
    }
}

#[tokio::test]
async fn one_node_address_is_enough_to_find_the_cluster() {
    let Some(cluster) = shared_cluster() else { return };
    let prefix = fresh_prefix();
    let cluster_engine = connect_engine(&cluster.url(), &prefix).await;
    let limit = limit("l", 9, 300);
    for number in 0..2 * SHARDS {
        // A replica knows the primaries too.
        let engine = connect_engine(&cluster.node_url(number), &prefix).await;
        assert_eq!(engine.state().status, EngineStatus::Redis);
        for id in 0..10 {
            assert!(is_admitted(&engine, &[account_bucket(&limit, id)]).await);
        }
    }
    for id in 0..10 {
        assert_eq!(peek_remaining(&cluster_engine, account_bucket(&limit, id)).await, 3);
    }
}

#[tokio::test]
async fn several_addresses_that_are_not_a_cluster_are_not_used() {
    let Some(url) = redis_url() else { return };
    let address = url.strip_prefix("redis://").unwrap().trim_end_matches('/').to_owned();
    let url = format!("redis://{address},{address}");
    let engine = open_engine(&url, &fresh_prefix(), Duration::from_secs(5)).await.unwrap();
    assert_eq!(engine.state().status, EngineStatus::RedisUnavailable);
}

/// A slot is moved key by key. New keys are created on the importing node, to which ASK redirects. A
/// request whose keys are on both nodes is counted locally.
#[tokio::test]
async fn while_a_slot_is_moved_redirects_are_followed_and_limits_apply() {
    let Some(cluster) = private_cluster() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&cluster.url(), &prefix).await;
    let primaries = cluster.primaries().unwrap();
    let source = primaries[0];
    let target = primaries[1];
    let id = account_id_on(&cluster, source);
    let first = limit("a", 9, 300);
    let second = limit("b", 9, 300);
    let third = limit("c", 4, 300);
    let buckets =
        [account_bucket(&first, id), account_bucket(&second, id), account_bucket(&third, id)];
    assert!(is_admitted(&engine, &buckets[..1]).await);

    let first_key = counter_key(&prefix, "a", id);
    let slot_move = cluster.begin_move(&first_key, source, target).unwrap();
    let decision = engine.check(CountMode::Check, &buckets[..1], now()).await;
    assert_eq!(remaining(&decision), [7], "the source still has the key");
    let decision = engine.check(CountMode::Check, &buckets[1..2], now()).await;
    assert_eq!(remaining(&decision), [8], "a new key is on the target");
    assert_eq!(engine.state().local_decisions, 0);
    let decision = engine.check(CountMode::Check, &buckets, now()).await;
    assert_eq!(remaining(&decision), [6, 7, 3], "counted locally");
    assert_eq!(engine.state().local_decisions, 1);
    cluster.move_key(&slot_move, &first_key).unwrap();
    cluster.end_move(&slot_move).unwrap();

    assert_eq!(cluster.primary_for_key(&first_key).unwrap(), target);
    let decision = engine.check(CountMode::Check, &buckets[..2], now()).await;
    assert_eq!(remaining(&decision), [6, 7], "MOVED is followed");
    let state = engine.state();
    assert_eq!((state.status, state.local_decisions), (EngineStatus::Redis, 1));
}

async fn wait_until(mut is_done: impl AsyncFnMut() -> bool) {
    for _ in 0..ATTEMPTS {
        if is_done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("timed out");
}

/// A node of the cluster does not respond, and is not replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_unresponsive_shard_delays_few_requests_and_does_not_affect_the_others() {
    let Some(mut cluster) = private_cluster() else { return };
    let prefix = fresh_prefix();
    let primaries = cluster.primaries().unwrap();
    let paused_primary = primaries[0];
    let running_primary = primaries[1];
    let account_id = account_id_on(&cluster, paused_primary);
    let other_account_id = account_id_on(&cluster, running_primary);
    let last_octet = last_octet_on(&cluster, running_primary);
    let by_account = limit("account", 60, 300);
    let by_address = limit("ip", 1000, 300);

    let timeout = Duration::from_secs(1);
    let engine = open_engine(&cluster.url(), &prefix, timeout).await.unwrap();
    assert_eq!(engine.state().status, EngineStatus::Redis);
    cluster.node(paused_primary).pause().unwrap();
    let buckets =
        [account_bucket(&by_account, account_id), address_bucket(&by_address, last_octet)];
    let mut admitted_count = 0;
    for _ in 0..100 {
        admitted_count += usize::from(is_admitted(&engine, &buckets).await);
        assert!(is_admitted(&engine, &[address_bucket(&by_address, last_octet)]).await);
    }
    assert_eq!(admitted_count, 60, "the limit of the unavailable shard is enforced locally");
    let paused_address = cluster.node(paused_primary).address();
    let degraded_status =
        EngineStatus::RedisDegraded { unavailable: vec![paused_address], shards: 3 };
    assert_eq!(engine.state().status, degraded_status);
    assert!(engine.redis_metrics().unwrap().timeouts.get() <= 6, "few requests waited");
    let other_node = open_engine(&cluster.url(), &prefix, timeout).await.unwrap();
    let remaining_requests =
        peek_remaining(&other_node, address_bucket(&by_address, last_octet)).await;
    assert_eq!(remaining_requests, 1000 - 160, "the limit is exact on the other shard");
    assert!(is_admitted(&other_node, &[account_bucket(&by_account, other_account_id)]).await);

    cluster.node(paused_primary).resume().unwrap();
    wait_until(async || engine.state().status == EngineStatus::Redis).await;
    wait_until(async || other_node.state().status == EngineStatus::Redis).await;
    let fresh_node = connect_engine(&cluster.url(), &prefix).await;
    let remaining_requests =
        peek_remaining(&fresh_node, account_bucket(&by_account, account_id)).await;
    assert!(
        remaining_requests >= 60 - 6,
        "at most the requests without a response are counted: {remaining_requests}"
    );
}

/// One shard responds late and the other rejects the request: the late count is released when its
/// response arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_count_for_a_rejected_request_is_released() {
    let Some(mut cluster) = private_cluster() else { return };
    let prefix = fresh_prefix();
    let primaries = cluster.primaries().unwrap();
    let account_id = account_id_on(&cluster, primaries[0]);
    let last_octet = last_octet_on(&cluster, primaries[1]);
    let by_account = limit("account", 60, 300);
    let exhausted_limit = limit("full", 1, 300);
    let first_node = connect_engine(&cluster.url(), &prefix).await;
    let engine = open_engine(&cluster.url(), &prefix, Duration::from_secs(1)).await.unwrap();
    assert!(is_admitted(&first_node, &[address_bucket(&exhausted_limit, last_octet)]).await);
    assert!(is_admitted(&first_node, &[account_bucket(&by_account, account_id)]).await);

    cluster.node(primaries[0]).pause().unwrap();
    assert!(
        !is_admitted(
            &engine,
            &[
                account_bucket(&by_account, account_id),
                address_bucket(&exhausted_limit, last_octet)
            ]
        )
        .await
    );
    assert_eq!(engine.redis_metrics().unwrap().timeouts.get(), 1);
    cluster.node(primaries[0]).resume().unwrap();
    let fresh_node = connect_engine(&cluster.url(), &prefix).await;
    wait_until(async || {
        peek_remaining(&fresh_node, account_bucket(&by_account, account_id)).await == 59
    })
    .await;
}
