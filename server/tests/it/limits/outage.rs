//! Redis outages with and without load: Redis is stopped, paused and restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_engines::Redis;
use tokio::task::JoinSet;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn during_an_outage_under_load_no_request_fails_and_limits_apply() {
    let Some(mut redis) = start_private_redis() else { return };
    let settings = "\
trusted_proxies = ['127.0.0.1']
[limits]
redis_timeout = '1s'
rows.ip = { requests = 20 }
";
    let (server, _dir) = start_node(&redis.url(), settings);
    let load = Load::default();
    let mut clients = JoinSet::new();
    for client_number in 0..8 {
        clients.spawn(load.clone().send_requests(server.url.clone(), client_number));
    }
    load.wait_for_progress().await;
    assert!(has_metric_line(&server, "belfry_redis_up 1").await);
    assert_eq!(count_admitted_from_address(&server, "192.0.2.1", 15).await, 15);

    let outages: [(&str, RedisAction, RedisAction); 2] = [
        ("192.0.2.2", |redis| redis.stop().unwrap(), |redis| redis.restart().unwrap()),
        ("192.0.2.3", |redis| redis.pause().unwrap(), |redis| redis.resume().unwrap()),
    ];
    for (number, (client_address, begin, end)) in outages.into_iter().enumerate() {
        let count_in_log = |text: &str| server.log().matches(text).count();
        begin(&mut redis);
        wait_until(async || has_metric_line(&server, "belfry_redis_up 0").await).await;
        load.wait_for_progress().await;
        assert!(count_in_log("Redis unavailable, using local counters") > number);
        let response = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        assert_eq!(response.status(), 200, "the node stays ready");
        let readiness = response.text().await.unwrap();
        assert!(
            readiness.contains("\"redis\":\"Redis unavailable, using local counters\""),
            "{readiness}"
        );
        assert_eq!(
            count_admitted_from_address(&server, client_address, 30).await,
            20,
            "limits are enforced"
        );
        if number == 0 {
            assert_eq!(
                count_admitted_from_address(&server, "192.0.2.1", 30).await,
                5,
                "counting continued from the last known count"
            );
        }

        end(&mut redis);
        wait_until(async || has_metric_line(&server, "belfry_redis_up 1").await).await;
        load.wait_for_progress().await;
        assert!(count_in_log("connected to Redis, using shared counters") > number + 1);
        assert!(get_text(&server, "/readyz").await.contains("\"redis\":\"ok\""));
        assert_eq!(
            count_admitted_from_address(&server, client_address, 3).await,
            0,
            "the limit stays exhausted until the window ends"
        );
    }
    load.is_stopped.store(true, Ordering::Relaxed);
    clients.join_all().await;
}
