//! A server that is started before PostgreSQL is available.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use test_engines::shared::engine_url;
use test_engines::{Postgres, free_port};

use crate::support::ServerProcess;
use crate::support::process::{belfry_command, run_belfry};

const WAITING_MESSAGE: &str = "waiting for the database";

/// Waits until the server's log contains this string.
fn wait_for_log(dir: &Path, text: &str) {
    let start = Instant::now();
    loop {
        let log = std::fs::read_to_string(dir.join("belfry.log")).unwrap_or_default();
        if log.contains(text) {
            return;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "no {text:?} in {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn serve_command(dir: &Path, url: &str) -> Command {
    belfry_command(dir, &["serve", "--listen", "127.0.0.1:0", "--database", url])
}

#[tokio::test]
async fn a_server_waits_for_postgres_and_is_ready_afterwards() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut postgres = Postgres::start().unwrap();
    postgres.stop().unwrap();
    let path = dir.path().to_owned();
    let url = postgres.url();
    // Returns when the server has printed its ready line.
    let launch =
        std::thread::spawn(move || ServerProcess::launch(serve_command(&path, &url), &path));
    wait_for_log(dir.path(), WAITING_MESSAGE);
    assert!(!launch.is_finished());
    postgres.restart().unwrap();
    let server = launch.join().unwrap();
    let response = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
    assert_eq!(response.status(), 200);
    let log = server.log();
    assert_eq!(log.matches(WAITING_MESSAGE).count(), 1, "{log}");
    assert!(log.contains("database responds"), "{log}");
}

/// The URL also lists a host that never responds, which must not hide the read-only error.
#[tokio::test]
async fn a_server_reports_a_read_only_postgres_and_waits_until_it_accepts_writes() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let read_only_message = "PostgreSQL is read-only (a standby or a demoted primary)";
    let dir = tempfile::tempdir().unwrap();
    let mut postgres = Postgres::start().unwrap();
    postgres.set_parameter("default_transaction_read_only", "on").unwrap();
    // The kernel accepts connections to this listener, but nothing responds.
    let silent_listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = format!("{},127.0.0.1:{}", silent_listener.local_addr().unwrap(), postgres.port());
    let path = dir.path().to_owned();
    let url = format!("postgres://postgres@{hosts}/postgres");
    let launch =
        std::thread::spawn(move || ServerProcess::launch(serve_command(&path, &url), &path));
    wait_for_log(dir.path(), read_only_message);
    assert!(!launch.is_finished());
    postgres.set_parameter("default_transaction_read_only", "off").unwrap();
    let server = launch.join().unwrap();
    let get_readiness = async || {
        let response = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let wait_for_readiness = async |status: u16, text: &str| {
        let start = Instant::now();
        loop {
            let (actual_status, body) = get_readiness().await;
            if actual_status == status && body.contains(text) {
                return;
            }
            assert!(
                start.elapsed() < Duration::from_mins(1),
                "no {text:?} in {actual_status} {body}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    wait_for_readiness(200, "ready").await;
    postgres.set_parameter("default_transaction_read_only", "on").unwrap();
    wait_for_readiness(503, read_only_message).await;
    postgres.stop().unwrap();
    postgres.restart_in_recovery().unwrap();
    wait_for_readiness(503, "PostgreSQL is recovering").await;
}

#[test]
fn a_server_that_waits_for_postgres_stops_immediately() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("postgres://localhost:{}/belfry", free_port().unwrap());
    let log = std::fs::File::create(dir.path().join("belfry.log")).unwrap();
    let mut command = serve_command(dir.path(), &url);
    let server = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    wait_for_log(dir.path(), WAITING_MESSAGE);
    let kill = Command::new("kill").arg(server.id().to_string()).status();
    assert!(kill.unwrap().success());
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"", "it was never ready");
}

#[test]
fn a_database_error_that_waiting_cannot_fix_is_reported_immediately() {
    let Some(server_url) = engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES") else { return };
    let dir = tempfile::tempdir().unwrap();
    let server_url = url::Url::parse(&server_url).unwrap();
    let mut database_url = server_url.clone();
    let mut user_url = server_url.clone();
    let mut tls_url = server_url;
    database_url.set_path("nowhere");
    user_url.set_username("nobody").unwrap();
    tls_url.set_query(Some("sslmode=require"));
    for (url, reason) in [
        (database_url, "database \"nowhere\" does not exist"),
        (user_url, "role \"nobody\" does not exist"),
        (tls_url, "server does not support TLS"),
    ] {
        let output = run_belfry(dir.path(), &["serve", "--database", url.as_str()]);
        assert_eq!(output.status.code(), Some(1));
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains(reason) && !messages.contains(WAITING_MESSAGE), "{messages}");
    }
}
