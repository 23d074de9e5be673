//! The server process: startup, output, shutdown, and failures of its database or disk.

mod copies;
mod database_wait;
mod full_disk;
mod notify;
mod outage;
mod paths;
mod reload;
mod rolling;
mod stopping;
mod torture;

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::ServerProcess;
use crate::support::process::{belfry_command, run_belfry};

#[tokio::test]
async fn the_server_starts_without_a_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let response = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(dir.path().join("data/belfry.db").exists());
}

#[test]
fn the_server_starts_without_a_subcommand() {
    let dir = tempfile::tempdir().unwrap();
    let command = belfry_command(dir.path(), &["--listen", "127.0.0.1:0"]);
    let server = ServerProcess::launch(command, dir.path());
    assert!(server.url.starts_with("http://127.0.0.1:"));
}

#[test]
fn sigterm_and_sigint_stop_the_server_with_exit_code_zero() {
    for signal in ["TERM", "INT"] {
        let dir = tempfile::tempdir().unwrap();
        let mut server = ServerProcess::start(dir.path(), &[]);
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal}");
        assert!(server.log().contains("belfry stopped"), "{}", server.log());
    }
}

/// Scripts read the address from the ready line.
#[tokio::test]
async fn only_the_ready_line_is_written_to_stdout() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &["--log-level", "trace"]);
    for path in ["/healthz", "/nothing", "/metrics", "/oauth/sign_in"] {
        reqwest::get(format!("{}{path}", server.url)).await.unwrap();
    }
    server.signal("HUP");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_eq!(server.further_output(), [""; 0]);
    assert!(server.log().contains("/healthz"), "requests are logged");
}

#[test]
fn logs_are_json_if_stderr_is_not_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    for line in server.log().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(server.log().contains("belfry started"));
}

#[test]
fn a_server_that_cannot_read_its_files_does_not_report_that_it_started() {
    for settings in
        ["application_services = ['missing.yaml']", "[tls]\ncertificate = 'a.pem'\nkey = 'b.pem'"]
    {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        let output = run_belfry(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("No such file") && !message.contains("started"), "{message}");
    }
}

#[test]
fn flags_take_precedence_over_environment_variables() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = belfry_command(dir.path(), &["serve"]);
    let output = command.env("BELFRY_LISTEN", "nonsense").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        message,
        "belfry: BELFRY_LISTEN: \"nonsense\" is not HOST:PORT: write \"127.0.0.1:8080\" for this machine \
         only, or \"0.0.0.0:8080\" or \"[::]:8080\" for all networks\n"
    );

    for arguments in [["serve", "--listen", "127.0.0.1:0"], ["--listen", "127.0.0.1:0", "serve"]] {
        let mut command = belfry_command(dir.path(), &arguments);
        command.env("BELFRY_LISTEN", "192.0.2.1:1").env("BELFRY_DATA", "elsewhere");
        let _server = ServerProcess::launch(command, dir.path());
        assert!(dir.path().join("elsewhere/belfry.db").exists());
    }
}

#[test]
fn an_address_in_use_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let output = run_belfry(dir.path(), &["serve", "--listen", address, "--data", "other"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains(&format!("cannot listen on {address}: ")), "{message}");
    assert!(message.contains("perhaps belfry is already running"), "{message}");
    assert!(message.contains("or choose a different address with --listen"), "{message}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_address_that_the_machine_does_not_have_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let output = run_belfry(dir.path(), &["serve", "--listen", "192.0.2.1:8080"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("this machine does not have the address"), "{message}");
    assert!(message.contains("write 0.0.0.0:8080 for all networks"), "{message}");
}

/// `belfry serve 2>&1 | head -1`: a log line that cannot be written does not stop the server.
#[tokio::test]
async fn a_server_whose_output_is_closed_keeps_running() {
    let dir = tempfile::tempdir().unwrap();
    let port = test_engines::free_port().unwrap();
    let listen = format!("127.0.0.1:{port}");
    let mut command = belfry_command(dir.path(), &["serve", "--listen", &listen]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((server.stdout.take(), server.stderr.take()));
    let start = Instant::now();
    let health_status = loop {
        match reqwest::get(format!("http://{listen}/healthz")).await {
            Ok(response) => break response.status(),
            Err(error) => assert!(start.elapsed() < Duration::from_mins(1), "{error}"),
        }
        assert_eq!(server.try_wait().unwrap(), None, "the server exited");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(health_status, 200);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_second_server_on_the_same_sqlite_data_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let _server = ServerProcess::start(dir.path(), &[]);
    let output = run_belfry(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("another belfry is serving this data: data/belfry.lock"), "{message}");
}

/// In the opposite order, a newer binary would upgrade the schema while an older one is running.
#[test]
fn the_lock_is_taken_before_the_database_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    std::fs::create_dir(&data_dir).unwrap();
    let lock = File::create(data_dir.join("belfry.lock")).unwrap();
    lock.try_lock().unwrap();
    let output = run_belfry(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("another belfry is serving this data"), "{message}");
    assert!(!data_dir.join("belfry.db").exists());
}

#[test]
fn a_killed_server_does_not_leave_a_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    server.signal("KILL");
    server.wait();
    ServerProcess::start(dir.path(), &[]);
}

#[tokio::test]
async fn metrics_can_have_a_separate_address() {
    let dir = tempfile::tempdir().unwrap();
    let port = test_engines::free_port().unwrap();
    let metrics_address = format!("127.0.0.1:{port}");
    let server = ServerProcess::start(dir.path(), &["--metrics-listen", &metrics_address]);
    let get_status = async |url: String| reqwest::get(url).await.unwrap().status().as_u16();
    assert_eq!(get_status(format!("http://{metrics_address}/metrics")).await, 200);
    assert_eq!(get_status(format!("http://{metrics_address}/readyz")).await, 200);
    assert_eq!(get_status(format!("http://{metrics_address}/oauth/sign_in")).await, 404);
    assert_eq!(get_status(format!("{}/metrics", server.url)).await, 404);
    assert_eq!(get_status(format!("{}/readyz", server.url)).await, 200);
}
