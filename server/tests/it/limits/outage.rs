//! Redis stopped, frozen, and back again under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_engines::Redis;
use tokio::task::JoinSet;

use super::nodes::{node, own_redis};
use crate::support::Process;

/// Far beyond what a change of connections takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

type Change = fn(&mut Redis);

/// Callers from many addresses, until they are stopped.
#[derive(Clone, Default)]
struct Load {
    stopped: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

impl Load {
    async fn call(self, url: String, caller: usize) {
        let client = reqwest::Client::new();
        for call in 0.. {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let address = format!("10.{caller}.{}.{}", call / 250 % 250, call % 250);
            let request = client.get(format!("{url}/x")).header("x-forwarded-for", address);
            let status = request.send().await.unwrap().status();
            assert_eq!(status, 404, "nobody here is over a limit");
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn goes_on(&self) {
        let before = self.answered.load(Ordering::Relaxed);
        until(async || self.answered.load(Ordering::Relaxed) > before + 50).await;
    }
}

async fn until(mut done: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !done().await {
        assert!(began.elapsed() < PATIENCE, "it does not come to that");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn get(server: &Process, path: &str) -> String {
    let answer = reqwest::get(format!("{}{path}", server.url)).await.unwrap();
    answer.text().await.unwrap()
}

async fn has_metric(server: &Process, line: &str) -> bool {
    get(server, "/metrics").await.lines().any(|found| found == line)
}

/// How many of so many calls of one client pass.
pub(super) async fn passed(server: &Process, client: &str, calls: usize) -> usize {
    let mut passed = 0;
    for _ in 0..calls {
        let request = reqwest::Client::new().get(format!("{}/x", server.url));
        let answer = request.header("x-forwarded-for", client).send().await.unwrap();
        passed += usize::from(answer.status() != 429);
    }
    passed
}

/// [133]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_stopped_or_frozen_under_load_refuses_nobody_and_lifts_no_limit() {
    let Some(mut redis) = own_redis() else { return };
    let settings = "\
trusted_proxies = ['127.0.0.1']
[limits]
redis_timeout = '250ms'
rows.ip = { requests = 20 }
";
    let (server, _folder) = node(&redis.url(), settings);
    let load = Load::default();
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        callers.spawn(load.clone().call(server.url.clone(), caller));
    }
    load.goes_on().await;
    assert!(has_metric(&server, "belfry_redis_up 1").await);
    assert_eq!(passed(&server, "192.0.2.1", 15).await, 15);

    let outages: [(&str, Change, Change); 2] = [
        ("192.0.2.2", |redis| redis.stop().unwrap(), |redis| redis.restart().unwrap()),
        ("192.0.2.3", |redis| redis.pause().unwrap(), |redis| redis.resume().unwrap()),
    ];
    for (number, (client, begin, end)) in outages.into_iter().enumerate() {
        let said = |text: &str| server.log().matches(text).count();
        begin(&mut redis);
        until(async || has_metric(&server, "belfry_redis_up 0").await).await;
        load.goes_on().await;
        assert!(said("Redis does not count; counting in this process") > number);
        let ready = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        assert_eq!(ready.status(), 200, "it is ready all the same");
        let ready = ready.text().await.unwrap();
        assert!(ready.contains("\"redis\":\"no answer; this process counts alone\""), "{ready}");
        assert_eq!(passed(&server, client, 30).await, 20, "limits hold");
        if number == 0 {
            assert_eq!(passed(&server, "192.0.2.1", 30).await, 5, "counted on from what was known");
        }

        end(&mut redis);
        until(async || has_metric(&server, "belfry_redis_up 1").await).await;
        load.goes_on().await;
        assert!(get(&server, "/readyz").await.contains("\"redis\":\"ok\""));
        assert_eq!(passed(&server, client, 3).await, 0, "over is over until the window ends");
    }
    load.stopped.store(true, Ordering::Relaxed);
    callers.join_all().await;
}
