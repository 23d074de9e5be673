//! Limits on connections: in total, per address and by open files.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{Server, TIMEOUT, read_until_closed};
use crate::support::ServerProcess;
use crate::support::process::belfry_command;
use crate::support::service::config_with;

/// Sends a request on an open connection and returns the response, which fits into one packet.
async fn send_request(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = [0; 4096];
    let length = timeout(TIMEOUT, stream.read(&mut response)).await.expect("a response").unwrap();
    String::from_utf8_lossy(&response[..length]).into_owned()
}

/// Repeats a request on new connections until the response has this status.
async fn wait_for_status(server: &Server, path: &str, status: u16) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let start = Instant::now();
    loop {
        let response = server.send(request.as_bytes()).await;
        if response.starts_with(&format!("HTTP/1.1 {status} ")) {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{response}");
    }
}

#[tokio::test]
async fn connections_beyond_the_maximum_serve_health_requests_only() {
    let server = Server::with_config(config_with(|config| config.http.max_connections = 2)).await;
    let mut first_stream = server.connect().await;
    let mut second_stream = server.connect().await;
    assert!(send_request(&mut first_stream, "/x").await.starts_with("HTTP/1.1 404 "));
    assert!(send_request(&mut second_stream, "/x").await.starts_with("HTTP/1.1 404 "));
    // More requests than the connections that are served beyond the maximum.
    for _ in 0..100 {
        for (path, status) in [("/healthz", "200"), ("/readyz", "200"), ("/x", "503")] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            let response = server.send(request.as_bytes()).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {response}");
            assert!(response.contains("connection: close\r\n"), "{path}: {response}");
        }
    }
    assert!(send_request(&mut first_stream, "/x").await.starts_with("HTTP/1.1 404 "));
    drop(first_stream);
    wait_for_status(&server, "/x", 404).await;
    drop(second_stream);
    server.stop().await;
}

#[tokio::test]
async fn a_silent_connection_beyond_the_maximum_is_closed_soon() {
    let server = Server::with_config(config_with(|config| config.http.max_connections = 1)).await;
    let mut first_stream = server.connect().await;
    assert!(send_request(&mut first_stream, "/x").await.starts_with("HTTP/1.1 404 "));
    // The idle timeout is a minute.
    let mut silent_stream = server.connect().await;
    assert_eq!(read_until_closed(&mut silent_stream).await, "");
    drop(first_stream);
    server.stop().await;
}

async fn connect_from(source_ip: [u8; 4], server: &Server) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((source_ip, 0))).unwrap();
    socket.connect(server.address).await.unwrap()
}

#[tokio::test]
async fn an_address_has_a_maximum_number_of_connections() {
    let server =
        Server::with_config(config_with(|config| config.http.max_connections_per_address = 2))
            .await;
    let mut first_stream = server.connect().await;
    let mut second_stream = server.connect().await;
    assert!(send_request(&mut first_stream, "/healthz").await.starts_with("HTTP/1.1 200 "));
    assert!(send_request(&mut second_stream, "/healthz").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(server.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await, "");
    let metrics = server.service.metrics().await;
    assert!(metrics.contains("belfry_http_connections_rejected_total 1\n"), "{metrics}");

    let mut other_stream = connect_from([127, 0, 0, 2], &server).await;
    assert!(send_request(&mut other_stream, "/healthz").await.starts_with("HTTP/1.1 200 "));
    drop(first_stream);
    wait_for_status(&server, "/healthz", 200).await;
    drop((second_stream, other_stream));
    server.stop().await;
}

#[tokio::test]
async fn trusted_proxies_have_no_connection_limit() {
    let server = Server::with_config(config_with(|config| {
        config.http.max_connections_per_address = 2;
        config.trusted_proxies.0 = vec![IpAddr::from([127, 0, 0, 1]).to_string().parse().unwrap()];
    }))
    .await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = server.connect().await;
        assert!(send_request(&mut stream, "/healthz").await.starts_with("HTTP/1.1 200 "));
        streams.push(stream);
    }
    drop(streams);
    server.stop().await;
}

fn start_with_file_limit(dir: &Path, max_open_files: u32) -> ServerProcess {
    let command = belfry_command(dir, &["serve", "--listen", "127.0.0.1:0"]);
    let mut shell = Command::new("sh");
    shell.current_dir(dir).stdin(Stdio::null());
    for (name, _) in command.get_envs() {
        shell.env_remove(name);
    }
    shell.args(["-c", &format!("ulimit -n {max_open_files}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    ServerProcess::launch(shell, dir)
}

#[tokio::test]
async fn the_server_survives_and_reports_a_lack_of_open_files() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_with_file_limit(dir.path(), 64);
    let warning = "too few open files are allowed for http.max_connections";
    assert!(server.log().contains(warning), "{}", server.log());

    let address: SocketAddr = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(TcpStream::connect(address).await.unwrap());
    }
    let start = Instant::now();
    while !server.log().contains("accepting a connection failed") {
        assert!(start.elapsed() < TIMEOUT, "{}", server.log());
        tokio::task::yield_now().await;
    }
    drop(streams);
    let response = reqwest::get(format!("{}/healthz", server.url)).await.unwrap();
    assert_eq!(response.status(), 200);
    let failures = server.log().matches("accepting a connection failed").count();
    assert!(failures < 100, "{failures} failures: the server retries without a pause");
}
