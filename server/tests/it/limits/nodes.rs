//! Several nodes that share counters in one Redis.

use std::hash::{BuildHasher, RandomState};

use tempfile::TempDir;
use test_engines::Redis;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;

use crate::support::ServerProcess;

pub(super) fn start_node(redis_url: &str, settings: &str) -> (ServerProcess, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    (ServerProcess::start(dir.path(), &["--redis", redis_url]), dir)
}

/// Starts a private Redis. Returns `None` if Redis tests are skipped.
pub(crate) fn start_private_redis() -> Option<Redis> {
    engine_url("Redis", "BELFRY_TEST_REDIS")?;
    Some(Redis::start().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_admit_exactly_300_requests_for_one_key() {
    let Some(redis) = start_private_redis() else { return };
    // A long timeout, so that no node counts locally on a busy machine.
    let nodes = [(); 3].map(|()| start_node(&redis.url(), "[limits]\nredis_timeout = '30s'"));
    let client = reqwest::Client::new();
    let mut clients = JoinSet::new();
    for number in 0..64_usize {
        let urls = nodes.each_ref().map(|(node, _)| format!("{}/x", node.url));
        let client = client.clone();
        clients.spawn(async move {
            let mut admitted = 0;
            for _ in 0..10 {
                let node_index = RandomState::new().hash_one(number) % 3;
                let url = &urls[usize::try_from(node_index).unwrap()];
                let status = client.get(url).send().await.unwrap().status();
                assert!(status == 404 || status == 429, "{status}");
                admitted += usize::from(status == 404);
            }
            admitted
        });
    }
    assert_eq!(clients.join_all().await.into_iter().sum::<usize>(), 300);
    for (node, _) in &nodes {
        assert_eq!(client.get(format!("{}/x", node.url)).send().await.unwrap().status(), 429);
        let readiness = client.get(format!("{}/readyz", node.url)).send().await.unwrap();
        assert!(readiness.text().await.unwrap().contains("\"redis\":\"ok\""));
    }
}
