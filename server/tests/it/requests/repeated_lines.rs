//! Log lines that many requests repeat are written a few times and then only counted.

use std::time::Duration;

use serde_json::Value;
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio::task::JoinSet;

use super::{RULES_PATH, issue_token, parse_json_lines};
use crate::support::ServerProcess;
use crate::support::process::{add_account, run_successfully};

/// Sends requests until 1,000 have failed with this status.
async fn send_until_1000_failures(server: &ServerProcess, token: &str, status: u16) {
    let client = reqwest::Client::new();
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let client = client.clone();
        let token = token.to_owned();
        let url = format!("{}{RULES_PATH}", server.url);
        tasks.spawn(async move {
            let mut failures = 0;
            while failures < 50 {
                let response = client.get(&url).bearer_auth(&token).send().await.unwrap();
                failures += u32::from(response.status() == status);
            }
        });
    }
    tasks.join_all().await;
}

/// Asserts that 10 lines with this message were written and the others were counted in one line.
fn assert_lines_bounded(log: &str, message: &str, min_suppressed: u64) {
    let lines = parse_json_lines(log);
    let count = lines.iter().filter(|line| line["message"] == message).count();
    assert_eq!(count, 10, "{log}");
    let is_summary = |line: &&Value| {
        line["message"] == "repeated log lines suppressed" && line["line"] == message
    };
    let summaries: Vec<&Value> = lines.iter().filter(is_summary).collect();
    let [summary] = *summaries else { panic!("{log}") };
    assert!(summary["suppressed"].as_u64().unwrap() >= min_suppressed, "{log}");
    assert!(lines.len() < 100, "{} lines: {log}", lines.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_failed_requests_cause_ten_log_lines_and_a_summary() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let token = issue_token(dir.path(), "alice");
    let mut server = ServerProcess::start(dir.path(), &["--limits", "off"]);
    let database = rusqlite::Connection::open(dir.path().join("data/belfry.db")).unwrap();
    database.execute_batch("alter table rulesets rename to hidden").unwrap();
    send_until_1000_failures(&server, &token, 500).await;
    // The count is logged when the minute has passed, and at the latest when the server stops.
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_lines_bounded(&server.log(), "database error", 990);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_outage_causes_a_bounded_number_of_lines() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url();
    let dir = tempfile::tempdir().unwrap();
    let database_flags = ["--database", &url];
    run_successfully(dir.path(), &[&["account", "add", "alice"], &database_flags[..]].concat());
    let token =
        run_successfully(dir.path(), &[&["token", "issue", "alice"], &database_flags[..]].concat());
    let mut server =
        ServerProcess::start(dir.path(), &[&["--limits", "off"], &database_flags[..]].concat());
    postgres.stop().unwrap();
    send_until_1000_failures(&server, token.trim(), 503).await;
    postgres.restart().unwrap();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_lines_bounded(&server.log(), "database error", 900);
}

/// Returns whether reads may be served from the cache.
async fn is_cache_enabled(server: &ServerProcess) -> bool {
    let metrics = reqwest::get(format!("{}/metrics", server.url)).await.unwrap();
    metrics.text().await.unwrap().lines().any(|line| line == "belfry_cache_enabled 1")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listening_connection_that_is_often_lost_causes_a_bounded_number_of_lines() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let postgres = Postgres::start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--limits", "off", "--database", &postgres.url()];
    let mut server = ServerProcess::start(dir.path(), &arguments);
    for _ in 0..12 {
        while !is_cache_enabled(&server).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let terminate_listener = "select pg_terminate_backend(pid) from pg_stat_activity \
                         where query = 'listen belfry'";
        postgres.execute(terminate_listener).unwrap();
        while is_cache_enabled(&server).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_lines_bounded(&server.log(), "cache disabled, notifications cannot be received", 2);
}
