//! Connections to a server that is shutting down and still accepts them.

use axum::http::{Request, StatusCode};
use belfry::config::Config;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{Server, TIMEOUT, read_until_closed};
use crate::support::Service;
use crate::support::service::config_with;

const HEALTH_REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn readyz_reports_the_shutdown_and_healthz_does_not() {
    let service = Service::start().await;
    service.state.begin_shutdown();
    for client in [service.anonymous_client(), service.operator_client()] {
        let response = client.get("/readyz").await;
        assert_eq!(
            response.expect_json(StatusCode::SERVICE_UNAVAILABLE),
            json!({ "status": "stopping" })
        );
        let response = client.get("/healthz").await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({ "status": "ok" }));
    }
}

#[tokio::test]
async fn http1_connections_are_closed_after_their_next_response() {
    let server = Server::with_config(Config::default()).await;
    let mut used_stream = server.connect().await;
    used_stream.write_all(HEALTH_REQUEST).await.unwrap();
    let mut response = [0; 1024];
    let length = used_stream.read(&mut response).await.unwrap();
    let response_before = String::from_utf8_lossy(&response[..length]).into_owned();
    assert!(!response_before.contains("connection:"), "{response_before}");
    let mut unused_stream = server.connect().await;

    server.service.state.begin_shutdown();

    let mut new_stream = server.connect().await;
    for stream in [&mut used_stream, &mut unused_stream, &mut new_stream] {
        stream.write_all(HEALTH_REQUEST).await.unwrap();
        let response = read_until_closed(stream).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
    }
    server.stop().await;
}

/// An HTTP/2 connection is closed by GOAWAY: the client may not open more streams, and requests
/// on open streams are answered.
#[tokio::test]
async fn http2_connections_are_closed_after_open_streams_are_answered() {
    let server = Server::with_config(Config::default()).await;
    let connect = async || {
        let stream = TokioIo::new(server.connect().await);
        let handshake = http2::handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), stream);
        let (sender, connection) = handshake.await.unwrap();
        (sender, tokio::spawn(connection))
    };
    let health_request = || {
        let url = format!("http://{}/healthz", server.address);
        Request::get(url).body(Empty::<Bytes>::new()).unwrap()
    };
    let (mut used_sender, used_connection) = connect().await;
    let response = used_sender.send_request(health_request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);

    server.service.state.begin_shutdown();

    let (mut new_sender, new_connection) = connect().await;
    for (sender, connection) in
        [(&mut used_sender, used_connection), (&mut new_sender, new_connection)]
    {
        let requests =
            [sender.send_request(health_request()), sender.send_request(health_request())];
        for response in futures_util::future::join_all(requests).await {
            let response = response.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            assert!(response.headers().get("connection").is_none(), "HTTP/2 has no such header");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "{\"status\":\"ok\"}");
        }
        timeout(TIMEOUT, connection).await.expect("the server closes it").unwrap().unwrap();
    }
    server.stop().await;
}

/// Number of connections beyond the maximum that serve health requests.
const HEALTH_CONNECTIONS: usize = 32;

#[tokio::test]
async fn a_connection_that_waits_for_a_slot_is_served_when_the_server_stops() {
    let mut server =
        Server::with_config(config_with(|config| config.http.max_connections = 1)).await;
    let mut incomplete_streams = Vec::new();
    for _ in 0..=HEALTH_CONNECTIONS {
        let mut stream = server.connect().await;
        // An incomplete request occupies the slot.
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        incomplete_streams.push(stream);
    }
    // The first is accepted and waits for a slot; the second stays in the listen backlog.
    let mut waiting_stream = server.connect().await;
    waiting_stream.write_all(HEALTH_REQUEST).await.unwrap();
    let mut queued_stream = server.connect().await;
    queued_stream.write_all(HEALTH_REQUEST).await.unwrap();
    drop(server.stop_sender.take());
    for stream in [&mut waiting_stream, &mut queued_stream] {
        let response = read_until_closed(stream).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    }
    server.stop().await;
}
