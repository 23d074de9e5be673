//! Notifications to systemd, received by a socket in the test.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::ServerProcess;
use crate::support::process::belfry_command;

fn bind_socket(dir: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(dir.join("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    socket
}

/// Starts a server with a socket for its notifications and the given environment variables.
fn start_with_socket(dir: &Path, variables: &[(&str, &str)]) -> (UnixDatagram, ServerProcess) {
    let socket = bind_socket(dir);
    let mut command = belfry_command(dir, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", dir.join("notify")).envs(variables.iter().copied());
    let server = ServerProcess::launch(command, dir);
    (socket, server)
}

/// Returns the lines of the next notification.
fn receive(socket: &UnixDatagram) -> Vec<String> {
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).unwrap();
    str::from_utf8(&buffer[..length]).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn systemd_is_notified_of_readiness_reloads_and_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    let (socket, mut server) = start_with_socket(dir.path(), &[]);
    assert_eq!(receive(&socket), ["READY=1", &format!("STATUS=listening on {}", server.url)]);

    server.signal("HUP");
    let notification = receive(&socket);
    assert_eq!(notification[0], "RELOADING=1");
    let monotonic_us = notification[1].strip_prefix("MONOTONIC_USEC=").unwrap();
    assert!(monotonic_us.parse::<u64>().unwrap() > 0, "{monotonic_us}");
    assert_eq!(receive(&socket), ["READY=1"]);

    server.signal("TERM");
    assert_eq!(receive(&socket), ["STOPPING=1", "STATUS=finishing requests in flight"]);
    assert_eq!(server.wait(), Some(0));
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut [0]).is_err(), "there is no watchdog to reset");
}

#[test]
fn systemd_is_notified_of_the_shutdown_before_the_delay() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), "[http]\nshutdown_delay = '10ms'\n").unwrap();
    let (socket, server) = start_with_socket(dir.path(), &[]);
    assert_eq!(receive(&socket)[0], "READY=1");
    server.signal("TERM");
    assert_eq!(receive(&socket), ["STOPPING=1", "STATUS=not ready, still accepting connections"]);
    assert_eq!(receive(&socket), ["STATUS=finishing requests in flight"]);
}

#[test]
fn the_watchdog_is_reset_while_the_server_responds() {
    let dir = tempfile::tempdir().unwrap();
    let (socket, _server) = start_with_socket(dir.path(), &[("WATCHDOG_USEC", "20000")]);
    assert_eq!(receive(&socket)[0], "READY=1");
    for _ in 0..3 {
        assert_eq!(receive(&socket), ["WATCHDOG=1"]);
    }
}

/// The server's check of itself is not a client request.
#[tokio::test(flavor = "multi_thread")]
async fn watchdog_resets_are_neither_logged_nor_counted() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("WATCHDOG_USEC", "20000"), ("BELFRY_LOG_ACCESS", "all")];
    let (socket, server) = start_with_socket(dir.path(), &variables);
    assert_eq!(receive(&socket)[0], "READY=1");
    for _ in 0..3 {
        assert_eq!(receive(&socket), ["WATCHDOG=1"]);
    }
    let get_metrics = async || {
        let response = reqwest::get(format!("{}/metrics", server.url)).await.unwrap();
        response.text().await.unwrap()
    };
    get_metrics().await;
    let metrics = get_metrics().await;
    let request_series = |route: &str| format!("belfry_http_requests_total{{route=\"{route}\"");
    assert!(metrics.contains(&request_series("/metrics")), "{metrics}");
    assert!(!metrics.contains(&request_series("/healthz")), "{metrics}");
    let log = server.log();
    assert!(log.contains("\"path\":\"/metrics\"") && !log.contains("/healthz"), "{log}");
}

#[test]
fn a_watchdog_for_another_process_is_not_reset() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")];
    let (socket, server) = start_with_socket(dir.path(), &variables);
    assert_eq!(receive(&socket)[0], "READY=1");
    server.signal("TERM");
    assert_eq!(receive(&socket)[0], "STOPPING=1");
}

#[test]
fn the_status_shows_that_the_server_waits_for_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let socket = bind_socket(dir.path());
    let url = format!("postgres://me@127.0.0.1:{}/belfry", test_engines::free_port().unwrap());
    let mut command = belfry_command(dir.path(), &["serve", "--database", &url]);
    command.env("NOTIFY_SOCKET", dir.path().join("notify")).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    assert_eq!(receive(&socket), ["STATUS=waiting for the database"]);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_service_manager_that_cannot_be_reached_does_not_stop_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = belfry_command(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", dir.path().join("missing"));
    let mut server = ServerProcess::launch(command, dir.path());
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(server.log().contains("cannot notify the service manager"), "{}", server.log());
}
