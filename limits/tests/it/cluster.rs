//! Counting on a cluster: subjects in different slots, slots that move, and shards that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use belfry_limits::{Engine, EngineStatus};
use jiff::Timestamp;
use test_engines::{RedisCluster, SHARDS};
use tokio::task::{JoinSet, block_in_place};

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

/// Returns the id of an account whose counters are on this primary.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_counters_of_1000_accounts_are_spread_evenly_over_all_shards() {
    let Some(cluster) = shared_cluster() else { return };
    let prefix = fresh_prefix();
    let engine = Arc::new(connect_engine(&cluster.url(), &prefix).await);
    let mut clients = JoinSet::new();
    for client in 0..10 {
        let engine = Arc::clone(&engine);
        clients.spawn(async move {
            let limit = limit("account", 300, 300);
            for id in (1..=1000).filter(|id| id % 10 == client) {
                assert!(is_admitted(&engine, &[account_bucket(&limit, id)]).await);
            }
        });
    }
    clients.join_all().await;
    let counts: Vec<usize> = cluster
        .primaries()
        .unwrap()
        .into_iter()
        .map(|primary| {
            let keys = cluster.run_command(primary, &["KEYS", &format!("{prefix}:*:account")]);
            keys.unwrap().lines().filter(|line| !line.is_empty()).count()
        })
        .collect();
    assert_eq!((counts.len(), counts.iter().sum::<usize>()), (SHARDS, 1000));
    let even_share = 1000 / SHARDS;
    assert!(counts.iter().all(|count| count.abs_diff(even_share) * 5 <= even_share), "{counts:?}");
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

/// A slot is moved key by key. New keys are created on the importing node, to which ASK redirects.
/// A script call whose keys are on both nodes is split.
#[tokio::test]
async fn while_a_slot_is_moved_its_counters_are_exact() {
    let Some(cluster) = shared_cluster() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&cluster.url(), &prefix).await;
    let primaries = cluster.primaries().unwrap();
    let source = primaries[0];
    let target = primaries[1];
    let id = account_id_on(cluster, source);
    let first = limit("a", 9, 300);
    let second = limit("b", 9, 300);
    let third = limit("c", 4, 300);
    let buckets =
        [account_bucket(&first, id), account_bucket(&second, id), account_bucket(&third, id)];
    assert!(is_admitted(&engine, &buckets[..1]).await);

    let first_key = counter_key(&prefix, "a", id);
    let slot_move = cluster.begin_move(&first_key, source, target).unwrap();
    // The first counter exists on the source node; the others do not exist yet.
    for expected in [[7, 8, 3], [6, 7, 2], [5, 6, 1]] {
        let decision = engine.check(CountMode::Check, &buckets, now()).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (true, expected.to_vec()));
    }
    cluster.move_key(&slot_move, &first_key).unwrap();
    let decision = engine.check(CountMode::Check, &buckets, now()).await;
    assert_eq!((decision.is_admitted(), remaining(&decision)), (true, vec![4, 5, 0]));
    let other_node = connect_engine(&cluster.url(), &prefix).await;
    for engine in [&other_node, &engine] {
        let decision = engine.check(CountMode::Check, &buckets, now()).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (false, vec![4, 5, 0]));
    }
    cluster.end_move(&slot_move).unwrap();

    assert_eq!(cluster.primary_for_key(&first_key).unwrap(), target);
    for expected in [[3, 4], [2, 3]] {
        let decision = engine.check(CountMode::Check, &buckets[..2], now()).await;
        assert_eq!(remaining(&decision), expected, "MOVED is followed");
    }
    let state = engine.state();
    assert_eq!((state.status, state.local_decisions), (EngineStatus::Redis, 0));
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

/// A primary is killed and returns as a replica. When a planned failover makes it the primary
/// again, it is used immediately: no request is counted locally.
///
/// If the machine is paused for a second, every node seems to have failed. So the test passes if no
/// request is counted locally for one of the shards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_primary_is_used_immediately_when_it_takes_over_again() {
    let Some(mut cluster) = private_cluster() else { return };
    let mut local_decisions = Vec::new();
    for primary in cluster.primaries().unwrap() {
        let local_count = kill_and_fail_back(&mut cluster, primary).await;
        if local_count == 0 {
            return;
        }
        local_decisions.push(local_count);
    }
    panic!("requests were counted locally: {local_decisions:?}");
}

/// Kills a primary, lets its replica take over, and makes the restarted node the primary again.
/// Returns how many requests were counted locally in this last step.
async fn kill_and_fail_back(cluster: &mut RedisCluster, primary: usize) -> u64 {
    let prefix = fresh_prefix();
    let engine =
        Arc::new(open_engine(&cluster.url(), &prefix, Duration::from_mins(1)).await.unwrap());
    let by_account = limit("account", 1_000_000, 300);
    let account_id = account_id_on(cluster, primary);
    assert!(is_admitted(&engine, &[account_bucket(&by_account, account_id)]).await);

    cluster.node(primary).kill().unwrap();
    wait_until(async || {
        assert!(is_admitted(&engine, &[account_bucket(&by_account, account_id)]).await);
        engine.state().status != EngineStatus::Redis
    })
    .await;
    let replica = cluster.take_over(primary).unwrap();
    wait_until(async || engine.state().status == EngineStatus::Redis).await;
    cluster.node(primary).restart().unwrap();
    cluster.wait_until_complete().unwrap();

    let local_decisions_before = engine.state().local_decisions;
    let count_before =
        1_000_000 - peek_remaining(&engine, account_bucket(&by_account, account_id)).await;
    let has_failed_over = Arc::new(AtomicBool::new(false));
    let client = tokio::spawn({
        let engine = Arc::clone(&engine);
        let by_account = by_account.clone();
        let has_failed_over = Arc::clone(&has_failed_over);
        async move {
            let mut admitted_count = 0;
            let mut admitted_after_failover = 0;
            while admitted_after_failover < 100 {
                admitted_after_failover += usize::from(has_failed_over.load(Ordering::Relaxed));
                assert!(is_admitted(&engine, &[account_bucket(&by_account, account_id)]).await);
                admitted_count += 1;
            }
            admitted_count
        }
    });
    assert_eq!(block_in_place(|| cluster.fail_over(replica)).unwrap(), primary);
    has_failed_over.store(true, Ordering::Relaxed);
    let admitted_count = client.await.unwrap();
    let local_count = engine.state().local_decisions - local_decisions_before;
    if local_count == 0 {
        let fresh_node = connect_engine(&cluster.url(), &prefix).await;
        let count =
            1_000_000 - peek_remaining(&fresh_node, account_bucket(&by_account, account_id)).await;
        assert_eq!(count, count_before + admitted_count);
    }
    local_count
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
