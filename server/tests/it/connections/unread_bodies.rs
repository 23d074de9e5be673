//! Responses that are sent before the request body has arrived.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Server, TIMEOUT, read_until_closed};
use crate::support::service::config_with;

const RULE_PATH: &str = "/_matrix/client/v3/pushrules/global/room/a";
const NEXT_REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/// Reads one response, which must have a `Content-Length`, and returns its head.
async fn read_response(stream: &mut TcpStream) -> String {
    let read_head_and_body = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a response"));
        }
        let head = String::from_utf8(head).unwrap();
        let length_and_rest = head.split_once("content-length: ").expect("a length").1;
        let length = length_and_rest.split_once("\r\n").unwrap().0.parse().unwrap();
        stream.read_exact(&mut vec![0; length]).await.expect("the whole response");
        head
    };
    timeout(TIMEOUT, read_head_and_body).await.expect("a response in time")
}

/// Returns requests that are rejected before their body is read: the status of the response, and
/// the head of the request.
async fn rejected_requests(server: &Server) -> [(u16, String); 6] {
    let read_token =
        server.service.user_client_with_scopes("alice", "read").await.token().to_owned();
    let write_token = server.service.user_client("alice").await.token().to_owned();
    let put_rule =
        |token: &str| format!("PUT {RULE_PATH} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n");
    [
        (401, format!("PUT {RULE_PATH} HTTP/1.1\r\n")),
        (403, put_rule(&read_token)),
        (404, "PUT /nothing HTTP/1.1\r\n".to_owned()),
        (405, "PUT /healthz HTTP/1.1\r\n".to_owned()),
        (413, put_rule(&write_token)),
        (413, "POST /oauth/sign_in HTTP/1.1\r\n".to_owned()),
    ]
}

/// Starts a server that accepts rules and other bodies up to 1,000 bytes.
async fn start_server() -> Server {
    Server::with_config(config_with(|config| {
        config.rules.max_body_bytes = 1000;
        config.http.max_body_bytes = 1000;
    }))
    .await
}

/// Waits far longer than a sent packet needs to arrive.
async fn wait_for_packet() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Sends a request and asserts that it is rejected with this status, and that the connection then
/// serves another request.
async fn assert_connection_is_reusable(
    stream: &mut TcpStream,
    status: u16,
    head: &str,
    body: &[u8],
) {
    stream.write_all(head.as_bytes()).await.unwrap();
    wait_for_packet().await;
    stream.write_all(body).await.unwrap();
    let response = read_response(stream).await;
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
    assert!(!response.contains("connection: close"), "{response}");
    stream.write_all(NEXT_REQUEST).await.unwrap();
    let response = read_response(stream).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "after {status}: {response}");
}

#[tokio::test]
async fn a_connection_is_usable_after_a_request_with_an_unread_body() {
    let server = start_server().await;
    let mut stream = server.connect().await;
    for (status, head) in rejected_requests(&server).await {
        let head_with_length = format!("{head}Host: a\r\nContent-Length: 2000\r\n\r\n");
        assert_connection_is_reusable(&mut stream, status, &head_with_length, &[b'a'; 2000]).await;
        let chunked_head = format!("{head}Host: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let body = format!("7d0\r\n{}\r\n0\r\n\r\n", "a".repeat(2000));
        assert_connection_is_reusable(&mut stream, status, &chunked_head, body.as_bytes()).await;
    }
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn a_connection_is_usable_after_a_request_that_exceeded_a_rate_limit() {
    let server = Server::with_config(config_with(|config| {
        config.limits.rows = toml::from_str("ip = { requests = 1 }").unwrap();
    }))
    .await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 404 "));
    let head = format!("PUT {RULE_PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    assert_connection_is_reusable(&mut stream, 429, &head, b"body").await;
    drop(stream);
    server.stop().await;
}

/// A client that sends its whole body before it reads still gets the response.
#[tokio::test]
async fn a_large_unread_body_closes_the_connection_after_the_response() {
    let server = start_server().await;
    for (status, head) in rejected_requests(&server).await {
        // More than fits into the buffers of both sockets.
        let body_bytes = 32 * 1024 * 1024;
        let mut stream = server.connect().await;
        let head = format!("{head}Host: a\r\nContent-Length: {body_bytes}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'a'; body_bytes]).await.expect("no reset");
        let response = read_response(&mut stream).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        assert!(response.contains("connection: close\r\n"), "{response}");
        assert_eq!(stream.read(&mut [0]).await.expect("no reset"), 0, "{status}");
    }
    server.stop().await;
}

/// With HTTP/2, only the stream ends and the connection stays open.
#[tokio::test]
async fn a_large_unread_body_ends_the_stream_after_the_response() {
    let server = start_server().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let url = |path| format!("http://{}{path}", server.address);
    for (path, status) in [("/nothing", 404), ("/healthz", 405), ("/oauth/sign_in", 413)] {
        let body = vec![b'a'; 8 * 1024 * 1024];
        let response = client.post(url(path)).body(body).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert!(!response.text().await.unwrap().is_empty(), "{path}");
    }
    assert_eq!(client.get(url("/healthz")).send().await.unwrap().status(), 200);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_rejected_request_gets_no_100_continue() {
    let server = start_server().await;
    for (status, head) in rejected_requests(&server).await {
        let head = format!("{head}Host: a\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n");
        let mut stream = server.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let response = read_until_closed(&mut stream).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        assert!(response.contains("connection: close\r\n"), "{response}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_waits_for_an_unread_body_counts_towards_max_connections() {
    let server = Server::with_config(config_with(|config| config.http.max_connections = 1)).await;
    let mut slow_stream = server.connect().await;
    slow_stream
        .write_all(b"PUT /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        .await
        .unwrap();
    let response = read_response(&mut slow_stream).await;
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    assert!(response.contains("connection: close\r\n"), "{response}");
    let mut other_stream = server.connect().await;
    other_stream.write_all(b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let response = read_response(&mut other_stream).await;
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    drop((slow_stream, other_stream));
    server.stop().await;
}
