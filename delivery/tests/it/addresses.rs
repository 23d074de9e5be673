//! Messages go only to allowed addresses.

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_delivery::outbound::OutboundClient;
use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;

use crate::server::{LOOPBACK, Respond, TestPushService, accept, loopback_policy, post};

/// Responds with 201 and the path of the request.
const CREATED: Respond = |request| {
    let path = request.uri().path_and_query().unwrap().to_string();
    Response::builder().status(201).body(Full::from(path)).unwrap()
};

#[tokio::test]
async fn a_message_is_posted_and_connections_are_reused() {
    let server = TestPushService::start(CREATED).await;
    let client = OutboundClient::new(server.options());
    for _ in 0..3 {
        let body = Bytes::from_static(b"message");
        let response =
            client.post(&server.endpoint(), HeaderMap::new(), body, false).await.unwrap();
        assert_eq!((response.status().as_u16(), &response.body()[..]), (201, &b"/send?a=b"[..]));
        assert_eq!(response.version(), http::Version::HTTP_2);
    }
    assert_eq!(server.connections(), 1);
}

/// The client's policy applies, not the one that was used to parse the URL.
#[tokio::test]
async fn a_literal_address_is_checked_again_before_a_connection() {
    let server = TestPushService::start(CREATED).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let endpoint = Endpoint::parse(&url, &loopback_policy()).unwrap();
    assert_eq!(post(&server.options(), &endpoint).await.unwrap().status(), 201);
    let mut options = server.options();
    options.address_policy = PushAddressPolicy::default();
    assert_eq!(post(&options, &endpoint).await.unwrap_err(), AttemptError::ForbiddenAddress);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_with_a_forbidden_address_is_rejected() {
    let server = TestPushService::start(CREATED).await;
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
    ] {
        let mut options = server.options();
        options.address_policy = PushAddressPolicy::default();
        options.resolve = Arc::new(|_| Ok(vec![address.parse().unwrap()]));
        let result = post(&options, &server.endpoint()).await;
        assert_eq!(result.unwrap_err(), AttemptError::ForbiddenAddress, "{address}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn one_forbidden_address_rejects_a_name() {
    let server = TestPushService::start(CREATED).await;
    let forbidden: IpAddr = "192.168.0.1".parse().unwrap();
    for addresses in [vec![LOOPBACK, forbidden], vec![forbidden, LOOPBACK]] {
        let mut options = server.options();
        options.resolve = Arc::new(move |_| Ok(addresses.clone()));
        let result = post(&options, &server.endpoint()).await;
        assert_eq!(result.unwrap_err(), AttemptError::ForbiddenAddress);
    }
    assert_eq!(server.connections(), 0);
}

/// A name server that returns a permitted address for the check and a forbidden one for the
/// connection has no effect, because there is one lookup for both.
#[tokio::test]
async fn a_connection_goes_to_the_address_that_was_checked() {
    let server = TestPushService::start(CREATED).await;
    let lookups = Arc::new(AtomicUsize::new(0));
    let mut options = server.options();
    let counter = Arc::clone(&lookups);
    options.resolve = Arc::new(move |_| {
        let is_first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(vec![if is_first { LOOPBACK } else { "10.0.0.1".parse().unwrap() }])
    });
    assert_eq!(post(&options, &server.endpoint()).await.unwrap().status(), 201);
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
    let result = post(&options, &server.endpoint()).await;
    assert_eq!(result.unwrap_err(), AttemptError::ForbiddenAddress, "checked for every connection");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_second_address_is_tried_if_the_first_does_not_accept_connections() {
    let server = TestPushService::start(CREATED).await;
    let mut options = server.options();
    options.resolve = Arc::new(|_| Ok(vec!["127.255.255.254".parse().unwrap(), LOOPBACK]));
    assert_eq!(post(&options, &server.endpoint()).await.unwrap().status(), 201);
    options.resolve = Arc::new(|_| Ok(vec!["127.255.255.254".parse().unwrap()]));
    let result = post(&options, &server.endpoint()).await;
    assert_eq!(result.unwrap_err(), AttemptError::Refused);
}

#[tokio::test]
async fn plain_http_reaches_only_allowed_networks() {
    let received = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&received);
    let (port, connections) = accept(move |mut stream| {
        let sink = Arc::clone(&sink);
        async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            *sink.lock().unwrap() = String::from_utf8_lossy(&request[..length]).into_owned();
            let response = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            stream.write_all(response).await.unwrap();
        }
    })
    .await;
    let server = TestPushService::start(CREATED).await;
    let mut options = server.options();
    let url = format!("http://gateway.example:{port}/notify");
    let endpoint = Endpoint::parse(&url, &loopback_policy()).unwrap();
    assert_eq!(post(&options, &endpoint).await.unwrap().status(), 204);
    let request = received.lock().unwrap().clone();
    let host = format!("host: gateway.example:{port}\r\n");
    assert!(
        request.starts_with("POST /notify HTTP/1.1\r\n") && request.contains(&host),
        "{request}"
    );
    // A public address, which is permitted only with TLS.
    options.resolve = Arc::new(|_| Ok(vec!["8.8.8.8".parse().unwrap()]));
    assert_eq!(post(&options, &endpoint).await.unwrap_err(), AttemptError::ForbiddenAddress);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let (port, connections) = accept(async |_| {}).await;
        let server = TestPushService::start(|request| {
            let (status, port) = request.uri().query().unwrap().split_once('-').unwrap();
            let response = Response::builder().status(status);
            let location = format!("http://127.0.0.1:{port}/");
            response.header("location", location).body(Full::default()).unwrap()
        })
        .await;
        let url = format!("https://push.example:{}/?{status}-{port}", server.port);
        let endpoint = Endpoint::parse(&url, &loopback_policy()).unwrap();
        let response = post(&server.options(), &endpoint).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!((server.connections(), connections.load(Ordering::SeqCst)), (1, 0));
    }
}

/// Runs another test of this program in an environment with proxies.
#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let (port, connections) = accept(async |_| {}).await;
    let proxy = format!("http://127.0.0.1:{port}");
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "addresses::a_message_is_posted_and_connections_are_reused"]);
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        program.env(name, &proxy).env(name.to_uppercase(), &proxy);
    }
    let output = program.env_remove("NO_PROXY").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}
