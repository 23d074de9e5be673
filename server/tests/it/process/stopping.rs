//! Graceful shutdown: requests in flight are finished; idle and incomplete connections do not delay
//! the exit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::ServerProcess;
use crate::support::process::{add_account, run_successfully};

fn connect(server: &ServerProcess) -> TcpStream {
    let stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

/// Opens a connection, sends these bytes, and waits until the server has read them.
fn connect_and_send(server: &ServerProcess, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(bytes).unwrap();
    complete_request(server);
    stream
}

/// Completes a request on a new connection. By then the server has read all bytes sent earlier,
/// because it accepts and polls earlier connections first.
fn complete_request(server: &ServerProcess) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
    stream
}

fn start_with_delay(dir: &Path, delay: &str, arguments: &[&str]) -> ServerProcess {
    let settings = format!("[http]\nshutdown_delay = '{delay}'\n");
    std::fs::write(dir.join("belfry.toml"), settings).unwrap();
    ServerProcess::start(dir, arguments)
}

/// Returns the status, the `connection` header and the body of a response on a new connection.
async fn get(url: &str) -> (u16, String, String) {
    let response = reqwest::get(url).await.unwrap();
    let connection = response.headers().get("connection").map(|value| value.to_str().unwrap());
    let status = response.status().as_u16();
    let connection = connection.unwrap_or_default().into();
    (status, connection, response.text().await.unwrap())
}

#[tokio::test]
async fn readyz_reports_the_shutdown_while_requests_are_still_served() {
    let dir = tempfile::tempdir().unwrap();
    let metrics_address = format!("127.0.0.1:{}", test_engines::free_port().unwrap());
    let mut server = start_with_delay(dir.path(), "10m", &["--metrics-listen", &metrics_address]);
    let readyz_url = format!("{}/readyz", server.url);
    assert_eq!(get(&readyz_url).await.0, 200);

    server.signal("TERM");

    let start = Instant::now();
    while get(&readyz_url).await.0 == 200 {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", server.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stopping_response = (503, "close".to_owned(), r#"{"status":"stopping"}"#.to_owned());
    assert_eq!(get(&readyz_url).await, stopping_response);
    assert_eq!(get(&format!("http://{metrics_address}/readyz")).await, stopping_response);
    let health_response = (200, "close".to_owned(), r#"{"status":"ok"}"#.to_owned());
    assert_eq!(get(&format!("{}/healthz", server.url)).await, health_response);
    assert!(!server.log().contains("draining"), "{}", server.log());

    // A second SIGTERM ends the delay immediately, with exit code 1.
    server.signal("TERM");
    assert_eq!(server.wait(), Some(1));
}

#[test]
fn the_server_exits_after_the_shutdown_delay() {
    let dir = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(300);
    let mut server = start_with_delay(dir.path(), "300ms", &[]);
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(start.elapsed() >= delay, "{:?}", start.elapsed());
    let log = server.log();
    let position = |message: &str| log.find(message).unwrap_or_else(|| panic!("{message}: {log}"));
    assert!(
        position("until the shutdown delay ends") < position("draining in-flight requests"),
        "{log}"
    );
}

/// SIGINT comes from a terminal, where no load balancer has to detect the shutdown.
#[test]
fn sigint_skips_the_shutdown_delay() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start_with_delay(dir.path(), "10m", &[]);
    server.signal("INT");
    assert_eq!(server.wait(), Some(0));
    assert!(!server.log().contains("shutdown delay"), "{}", server.log());
}

#[test]
fn idle_connections_do_not_delay_the_exit() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let _used_connection = complete_request(&server);
    let _unused_connection = connect_and_send(&server, b"");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!server.log().contains("shutdown timeout"), "{}", server.log());
}

#[test]
fn an_incomplete_request_head_does_not_delay_the_exit() {
    for head in ["GET /healthz HTTP/1.1\r\nHost: a", "G", "PRI * HT"] {
        let dir = tempfile::tempdir().unwrap();
        let mut server = ServerProcess::start(dir.path(), &[]);
        let mut new_stream = connect_and_send(&server, head.as_bytes());
        let mut used_stream = complete_request(&server);
        used_stream.write_all(head.as_bytes()).unwrap();
        complete_request(&server);

        server.signal("TERM");

        assert_eq!(server.wait(), Some(0), "{head}");
        assert!(!server.log().contains("shutdown timeout"), "{}", server.log());
        for stream in [&mut new_stream, &mut used_stream] {
            // Closed or reset, without a response.
            assert_eq!(stream.read(&mut [0; 1024]).unwrap_or(0), 0, "{head}");
        }
    }
}

#[test]
fn an_unresponsive_http2_peer_does_not_delay_the_exit_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let _silent_peer = connect_and_send(&server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!server.log().contains("shutdown timeout"), "{}", server.log());
}

#[test]
fn a_request_in_flight_is_finished_while_an_incomplete_head_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    add_account(dir.path(), "alice");
    let token = run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", "push"]);
    let head = format!(
        "PUT /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {}\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n",
        token.trim_end()
    );
    let mut request_stream = connect_and_send(&server, head.as_bytes());
    // `100 Continue` shows that the handler is waiting for the body.
    let expected = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut interim_response = [0; 25];
    request_stream.read_exact(&mut interim_response).unwrap();
    assert_eq!(&interim_response, expected);
    let mut incomplete_stream = connect_and_send(&server, b"GET /healthz HTTP/1.1\r\n");

    server.signal("TERM");

    assert_eq!(incomplete_stream.read(&mut [0; 1024]).unwrap_or(0), 0);
    request_stream.write_all(br#"{"actions":[]}"#).unwrap();
    let mut response = String::new();
    request_stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("{}"), "{response}");
    assert_eq!(server.wait(), Some(0));
    drop(request_stream);

    let server = ServerProcess::start(dir.path(), &[]);
    let get_request = format!(
        "GET /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Connection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        token.trim_end()
    );
    let mut stream = connect(&server);
    stream.write_all(get_request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "the rule is stored: {response}");
}
