//! Several nodes that share counters in one Redis.

use std::hash::{BuildHasher, RandomState};

use tempfile::TempDir;
use test_engines::Redis;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;

use crate::support::Process;

/// Starts a node with this Redis and these settings.
pub(super) fn node(redis: &str, settings: &str) -> (Process, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    (Process::start(dir.path(), &["--redis", redis]), dir)
}

/// Starts a private Redis. Returns `None` if Redis tests are skipped.
pub(crate) fn own_redis() -> Option<Redis> {
    engine_url("Redis", "BELFRY_TEST_REDIS")?;
    Some(Redis::start().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_admit_exactly_300_requests_for_one_key() {
    let Some(redis) = own_redis() else { return };
    // A long timeout, so that no node counts locally on a busy machine.
    let nodes = [(); 3].map(|()| node(&redis.url(), "[limits]\nredis_timeout = '30s'"));
    let client = reqwest::Client::new();
    let mut clients = JoinSet::new();
    for number in 0..64_usize {
        let urls = nodes.each_ref().map(|(node, _)| format!("{}/x", node.url));
        let client = client.clone();
        clients.spawn(async move {
            let mut admitted = 0;
            for _ in 0..10 {
                let random = RandomState::new().hash_one(number) % 3;
                let url = &urls[usize::try_from(random).unwrap()];
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
        let ready = client.get(format!("{}/readyz", node.url)).send().await.unwrap();
        assert!(ready.text().await.unwrap().contains("\"redis\":\"ok\""));
    }
}
