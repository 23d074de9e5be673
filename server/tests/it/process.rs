//! The process: how it starts, what it prints, how it stops, and what it does when its engines
//! or its disk fail.

mod outage;
mod places;
mod stopping;

use std::time::Duration;

use serde_json::Value;

use crate::support::Process;
use crate::support::process::{belfry, run};

#[tokio::test]
async fn it_serves_with_no_file_no_flag_and_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    let answer = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(folder.path().join("data/belfry.db").exists());
}

#[test]
fn it_serves_without_a_command_too() {
    let folder = tempfile::tempdir().unwrap();
    let command = belfry(folder.path(), &["--listen", "127.0.0.1:0"]);
    let server = Process::launch(command, folder.path());
    assert!(server.url.starts_with("http://127.0.0.1:"));
}

#[test]
fn sigterm_and_sigint_end_it_with_zero() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Process::start(folder.path(), &[]);
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal}");
        assert!(server.logged().contains("belfry stops"), "{}", server.logged());
    }
}

/// Scripts read the address from it.
#[tokio::test]
async fn the_ready_line_is_all_that_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Process::start(folder.path(), &["--log-level", "trace"]);
    for path in ["/healthz", "/nothing", "/metrics", "/oauth/sign_in"] {
        reqwest::get(format!("{}{path}", server.url)).await.unwrap();
    }
    server.signal("HUP");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_eq!(server.printed(), [""; 0]);
    assert!(server.logged().contains("/healthz"), "what there is to say is in the log");
}

#[test]
fn logs_are_json_when_stderr_is_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    for line in server.logged().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(server.logged().contains("belfry starts"));
}

#[test]
fn logs_are_for_people_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &["--log-format", "human"]);
    let logged = server.logged();
    assert!(logged.contains(" INFO ") && !logged.starts_with('{'), "{logged}");
}

#[test]
fn variables_are_read_and_flags_beat_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = belfry(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    command.env("BELFRY_LISTEN", "nonsense").env("BELFRY_DATA", "elsewhere");
    let outcome = command.output().unwrap();
    let message = String::from_utf8(outcome.stderr).unwrap();
    assert_eq!(message, "belfry: BELFRY_LISTEN: invalid socket address syntax\n");

    let mut command = belfry(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    command.env("BELFRY_LISTEN", "192.0.2.1:1").env("BELFRY_DATA", "elsewhere");
    let _server = Process::launch(command, folder.path());
    assert!(folder.path().join("elsewhere/belfry.db").exists());
}

#[test]
fn an_address_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let second = run(folder.path(), &["serve", "--listen", address, "--data", "other"]);
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(message.contains(&format!("cannot listen on {address}: ")), "{message}");
    assert_eq!(second.status.code(), Some(1));
}

#[test]
fn a_second_server_on_the_same_sqlite_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Process::start(folder.path(), &[]);
    let second = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(message.contains("another belfry serves this data: data/belfry.lock"), "{message}");
}

#[test]
fn a_killed_server_leaves_no_lock_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::start(folder.path(), &[]);
    first.signal("KILL");
    first.wait();
    Process::start(folder.path(), &[]);
}

#[tokio::test]
async fn metrics_can_have_an_address_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let port = test_engines::free_port().unwrap();
    let address = format!("127.0.0.1:{port}");
    let server = Process::start(folder.path(), &["--metrics-listen", &address]);
    let status = async |url: String| reqwest::get(url).await.unwrap().status().as_u16();
    assert_eq!(status(format!("http://{address}/metrics")).await, 200);
    assert_eq!(status(format!("http://{address}/readyz")).await, 404);
    assert_eq!(status(format!("{}/metrics", server.url)).await, 404);
    assert_eq!(status(format!("{}/readyz", server.url)).await, 200);
}

/// A connection that is open but idle must not hold up the end.
#[tokio::test]
async fn idle_connections_do_not_delay_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Process::start(folder.path(), &[]);
    let client = reqwest::Client::new();
    client.get(format!("{}/healthz", server.url)).send().await.unwrap();
    let address = server.url.strip_prefix("http://").unwrap();
    let silent = tokio::net::TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!server.logged().contains("shutdown timeout"), "{}", server.logged());
    drop((client, silent));
}
