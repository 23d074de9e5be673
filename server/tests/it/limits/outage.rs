//! Redis outages with and without load: Redis is stopped, paused and restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_engines::Redis;

use super::nodes::{start_node, start_private_redis};
use crate::support::ServerProcess;

/// A time far longer than a reconnection takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

type RedisAction = fn(&mut Redis);

/// Clients with many addresses that send requests until stopped.
#[derive(Clone, Default)]
pub(super) struct Load {
    pub(super) is_stopped: Arc<AtomicBool>,
    responses: Arc<AtomicUsize>,
}

impl Load {
    pub(super) async fn send_requests(self, url: String, client_number: usize) {
        let client = reqwest::Client::new();
        for number in 0.. {
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            let address = format!("10.{client_number}.{}.{}", number / 250 % 250, number % 250);
            let request = client.get(format!("{url}/x")).header("x-forwarded-for", address);
            let status = request.send().await.unwrap().status();
            assert_eq!(status, 404, "no client exceeds a limit");
            self.responses.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) async fn wait_for_progress(&self) {
        let before = self.responses.load(Ordering::Relaxed);
        wait_until(async || self.responses.load(Ordering::Relaxed) > before + 50).await;
    }
}

pub(super) async fn wait_until(mut is_done: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !is_done().await {
        assert!(start.elapsed() < TIMEOUT, "the condition was not met in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) async fn get_text(server: &ServerProcess, path: &str) -> String {
    let response = reqwest::get(format!("{}{path}", server.url)).await.unwrap();
    response.text().await.unwrap()
}

pub(super) async fn has_metric_line(server: &ServerProcess, line: &str) -> bool {
    get_text(server, "/metrics").await.lines().any(|metric| metric == line)
}

/// Sends this many requests from one client address and returns how many were admitted.
pub(super) async fn count_admitted_from_address(
    server: &ServerProcess,
    client_address: &str,
    request_count: usize,
) -> usize {
    let mut admitted = 0;
    for _ in 0..request_count {
        let request = reqwest::Client::new().get(format!("{}/x", server.url));
        let response = request.header("x-forwarded-for", client_address).send().await.unwrap();
        admitted += usize::from(response.status() != 429);
    }
    admitted
}

/// `/metrics` and `/readyz`, which are not rate limited, show both the outage and its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_without_requests_is_detected() {
    let Some(mut redis) = start_private_redis() else { return };
    let (server, _dir) = start_node(&redis.url(), "[limits]\nredis_timeout = '1s'\n");
    let outages: [(RedisAction, RedisAction); 2] = [
        (|redis| redis.stop().unwrap(), |redis| redis.restart().unwrap()),
        (|redis| redis.pause().unwrap(), |redis| redis.resume().unwrap()),
    ];
    for (number, (begin, end)) in outages.into_iter().enumerate() {
        let count_in_log = |text: &str| server.log().matches(text).count();
        wait_until(async || has_metric_line(&server, "belfry_redis_up 1").await).await;
        assert!(count_in_log("connected to Redis, using shared counters") > number);
        assert!(get_text(&server, "/readyz").await.contains("\"redis\":\"ok\""));

        begin(&mut redis);
        wait_until(async || has_metric_line(&server, "belfry_redis_up 0").await).await;
        assert!(count_in_log("Redis unavailable, using local counters") > number);
        let readiness = get_text(&server, "/readyz").await;
        assert!(
            readiness.contains("\"redis\":\"Redis unavailable, using local counters\""),
            "{readiness}"
        );
        end(&mut redis);
    }
    wait_until(async || has_metric_line(&server, "belfry_redis_up 1").await).await;
}
