//! Several nodes that share counters in a Redis cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use test_engines::RedisCluster;
use test_engines::shared::private_cluster;
use tokio::task::JoinSet;

use super::nodes::start_node;
use super::outage::{Load, count_admitted_from_address, get_text, has_metric_line, wait_until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_the_limit_is_admitted_while_slots_are_moved() {
    let Some(cluster) = private_cluster() else { return };
    let settings = "trusted_proxies = ['127.0.0.1']\n\
                    limits = { redis_timeout = '30s', rows.ip = { requests = 20 } }";
    let nodes = [(); 2].map(|()| start_node(&cluster.url(), settings));
    let is_stopped = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..8_usize {
        let urls = nodes.each_ref().map(|(node, _)| format!("{}/x", node.url));
        let is_stopped = Arc::clone(&is_stopped);
        clients.spawn(async move {
            let client = reqwest::Client::new();
            let mut address_count = 0;
            while !is_stopped.load(Ordering::Relaxed) {
                let address =
                    format!("10.{number}.{}.{}", address_count / 250, address_count % 250);
                let mut admitted = 0;
                for request_index in 0..25 {
                    let request = client.get(&urls[request_index % 2]);
                    let request = request.header("x-forwarded-for", &address);
                    let status = request.send().await.unwrap().status();
                    assert!(status == 404 || status == 429, "{status}");
                    admitted += usize::from(status == 404);
                }
                assert_eq!(admitted, 20, "{address}");
                address_count += 1;
            }
            address_count
        });
    }
    let slot_moves = tokio::task::spawn_blocking(move || {
        let primaries = cluster.primaries().unwrap();
        cluster.move_slots(primaries[0], primaries[1], 200).unwrap();
        cluster.move_slots(primaries[1], primaries[2], 200).unwrap();
        cluster
    });
    let _cluster = slot_moves.await.unwrap();
    is_stopped.store(true, Ordering::Relaxed);
    let address_count: usize = clients.join_all().await.into_iter().sum();
    assert!(address_count > 16, "{address_count}");
    for (node, _) in &nodes {
        assert!(has_metric_line(node, "belfry_rate_limit_local_decisions_total 0").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_when_a_primary_is_killed_and_other_shards_keep_their_counts() {
    let Some(mut cluster) = private_cluster() else { return };
    let settings = "trusted_proxies = ['127.0.0.1']\n\
                    limits = { redis_timeout = '30s', rows.ip = { requests = 20 } }";
    let [(first_node, _first_dir), (second_node, _second_dir)] =
        [(); 2].map(|()| start_node(&cluster.url(), settings));
    let primaries = cluster.primaries().unwrap();
    let address_on = |cluster: &RedisCluster, primary| {
        let mut addresses = (1..250).map(|last| format!("192.0.2.{last}"));
        let is_on_primary = |address: &String| {
            cluster.primary_for_key(&format!("belfry:{{ip:{address}}}:ip")).unwrap() == primary
        };
        addresses.find(is_on_primary).unwrap()
    };
    let addresses: Vec<_> =
        primaries.iter().map(|&primary| address_on(&cluster, primary)).collect();
    let load = Load::default();
    let mut clients = JoinSet::new();
    for client_number in 0..4 {
        clients.spawn(load.clone().send_requests(first_node.url.clone(), client_number));
        clients.spawn(load.clone().send_requests(second_node.url.clone(), client_number + 4));
    }
    for address in &addresses {
        assert_eq!(count_admitted_from_address(&first_node, address, 5).await, 5);
    }
    load.wait_for_progress().await;

    let killed_address = cluster.node(primaries[0]).address();
    cluster.node(primaries[0]).kill().unwrap();
    for node in [&first_node, &second_node] {
        wait_until(async || has_metric_line(node, "belfry_redis_up 0").await).await;
    }
    let readiness = get_text(&first_node, "/readyz").await;
    let expected =
        format!("1 of 3 shards unavailable, using local counters for them: {killed_address}");
    assert!(readiness.contains(&expected), "{readiness}");
    cluster.take_over(primaries[0]).unwrap();
    for node in [&first_node, &second_node] {
        wait_until(async || has_metric_line(node, "belfry_redis_up 1").await).await;
        assert!(get_text(node, "/readyz").await.contains("\"redis\":\"ok\""));
        assert!(node.log().matches("Redis unavailable").count() <= 10);
    }
    load.wait_for_progress().await;
    for address in &addresses[1..] {
        assert_eq!(
            count_admitted_from_address(&second_node, address, 30).await,
            15,
            "{address} is on an unaffected shard"
        );
    }
    let admitted_on_failed_shard =
        count_admitted_from_address(&second_node, &addresses[0], 30).await;
    assert!((15..=20).contains(&admitted_on_failed_shard), "{admitted_on_failed_shard}");

    // The old primary returns as a replica. No request fails during a planned failover either.
    cluster.node(primaries[0]).restart().unwrap();
    let failover = tokio::task::spawn_blocking(move || {
        cluster.wait_until_complete().unwrap();
        cluster.fail_over(primaries[1]).unwrap();
        cluster
    });
    let _cluster = failover.await.unwrap();
    load.wait_for_progress().await;
    assert_eq!(count_admitted_from_address(&first_node, &addresses[1], 3).await, 0);
    load.is_stopped.store(true, Ordering::Relaxed);
    clients.join_all().await;
}
