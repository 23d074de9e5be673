//! A server with PostgreSQL: a locked table, and an outage.

use std::time::Duration;

use reqwest::Client;
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::{Observer, Scrape};
use crate::rules::pushrules_path;
use crate::support::ServerProcess;
use crate::support::process::run_successfully;

/// Locks a table and stops PostgreSQL while the observer records metrics. Returns false if
/// PostgreSQL is not installed.
pub(super) async fn observe_outage(observer: &mut Observer) -> bool {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return false;
    }
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), "[store]\nconnections = 2\n").unwrap();
    let run_on_database = |arguments: &[&str]| {
        run_successfully(dir.path(), &[arguments, &["--database", &url]].concat())
    };
    let tokens = ["a", "b", "c"].map(|name| {
        run_on_database(&["account", "add", name]);
        run_on_database(&["token", "issue", name, "--scopes", "push"]).trim().to_owned()
    });
    let server = ServerProcess::start(dir.path(), &["--database", &url]);
    let client = Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
    let put_rule = |token: &str| {
        let url = format!("{}{}", server.url, pushrules_path("global/room/!a:b"));
        client.put(url).bearer_auth(token).body(r#"{"actions":[]}"#).send()
    };
    let scrape = async || {
        let response = reqwest::get(format!("{}/metrics", server.url)).await.unwrap();
        response.text().await.unwrap()
    };
    let mut watch = observer.watch();
    // The cache is enabled when the first notification has arrived.
    let is_cache_enabled = |scrape: &Scrape| scrape.value("belfry_cache_enabled", &[]) == Some(1.0);
    watch.observe_until("the cache", scrape, is_cache_enabled).await;
    let probe_count =
        |scrape: &Scrape| scrape.value("belfry_postgres_probe_duration_seconds_count", &[]);
    let count_before = probe_count(&Scrape::parse(&scrape().await));
    watch.observe_until("a probe", scrape, |scrape| probe_count(scrape) > count_before).await;
    assert_eq!(put_rule(&tokens[0]).await.unwrap().status(), 200);

    let (locking_client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    locking_client
        .batch_execute("begin; lock table rulesets in access exclusive mode")
        .await
        .unwrap();
    let mut blocked_requests = JoinSet::new();
    for token in &tokens {
        blocked_requests.spawn(put_rule(token));
    }
    let is_waiting =
        |scrape: &Scrape| scrape.value("belfry_postgres_waiting_operations", &[]) > Some(0.0);
    watch.observe_until("a waiting request", scrape, is_waiting).await;
    locking_client.batch_execute("rollback").await.unwrap();
    for response in blocked_requests.join_all().await {
        assert_eq!(response.unwrap().status(), 200);
    }

    postgres.stop().unwrap();
    let scrape_after_failure = async || {
        put_rule(&tokens[0]).await.unwrap();
        scrape().await
    };
    let has_failed = |scrape: &Scrape| {
        let labels = [("engine", "postgresql"), ("operation", "read"), ("reason", "unavailable")];
        !is_cache_enabled(scrape)
            && scrape.value("belfry_store_failures_total", &labels) > Some(0.0)
            && scrape.value("belfry_postgres_listen_failures_total", &[]) > Some(0.0)
    };
    watch.observe_until("the outage", scrape_after_failure, has_failed).await;
    true
}
