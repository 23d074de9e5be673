//! Metrics during a Redis outage.

use super::Observer;
use crate::limits::nodes::start_private_redis;
use crate::support::ServerProcess;

/// Stops Redis while the observer records metrics. Returns false if Redis is not installed.
pub(super) async fn observe_outage(observer: &mut Observer) -> bool {
    let Some(mut redis) = start_private_redis() else { return false };
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &["--redis", &redis.url()]);
    let get_text = async |path: &str| {
        let response = reqwest::get(format!("{}{path}", server.url)).await.unwrap();
        response.text().await.unwrap()
    };
    let mut watch = observer.watch();
    watch.observe(&get_text("/metrics").await);
    get_text("/x").await;
    watch.observe(&get_text("/metrics").await);
    redis.stop().unwrap();
    let scrape = async || {
        get_text("/x").await;
        get_text("/metrics").await
    };
    let is_down = |scrape: &super::Scrape| {
        let failures = ["timeout", "error"]
            .map(|reason| scrape.value("belfry_redis_failures_total", &[("reason", reason)]));
        scrape.value("belfry_redis_up", &[]) == Some(0.0)
            && scrape.value("belfry_rate_limit_local_decisions_total", &[]) > Some(0.0)
            && failures.contains(&Some(1.0))
    };
    watch.observe_until("the outage", scrape, is_down).await;
    true
}
