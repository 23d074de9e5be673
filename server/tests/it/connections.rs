//! Connections over a real socket: their bounds in time, number and size, HTTP/2 and TLS.

mod bodies;
mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use belfry::config::Config;
use belfry::serve::serve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::support::Service;
use crate::support::service::config;

/// Far beyond every bound that is tested here.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

/// A service that listens.
struct Listening {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    service: Service,
}

impl Listening {
    async fn with(config: Config) -> Self {
        let tls = config.tls.clone().map(|files| belfry::tls::Tls::load(files).unwrap());
        let service = Service::with(config).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        if let Some(tls) = &tls {
            tokio::spawn(tls.clone().watch());
        }
        let stopped = async { drop(stopped.await) };
        let serving = tokio::spawn(serve(listener, tls, service.site.clone(), stopped));
        Self { address, stop: Some(stop), serving, service }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes and gives all that comes back until the connection is closed.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // A server that has seen enough may close before all is written.
        drop(stream.write_all(bytes).await);
        until_closed(&mut stream).await
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        timeout(PATIENCE, self.serving).await.expect("it stops").unwrap();
    }
}

async fn until_closed(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let reading = stream.read_to_end(&mut all);
    // A reset is a way to close, too.
    drop(timeout(PATIENCE, reading).await.expect("the connection is closed"));
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn slow_headers_are_cut_off() {
    let server = Listening::with(config(|config| config.http.header_timeout = SHORT)).await;
    assert_eq!(server.say(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ").await, "");
    server.stop().await;
}

#[tokio::test]
async fn a_slow_second_head_is_cut_off_too() {
    let server = Listening::with(config(|config| config.http.header_timeout = SHORT)).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut answer = [0; 1024];
    assert!(stream.read(&mut answer).await.unwrap() > 0);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ").await.unwrap();
    assert_eq!(until_closed(&mut stream).await, "");
    server.stop().await;
}

#[tokio::test]
async fn half_a_second_head_that_came_with_the_first_call_is_silence() {
    let server = Listening::with(config(|config| config.http.idle_timeout = SHORT)).await;
    let calls = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: ";
    let answers = server.say(calls).await;
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = Listening::with(config(|config| config.http.idle_timeout = SHORT)).await;
    assert_eq!(server.say(b"").await, "");
    // Nor is one that begins like HTTP/2 and goes no further.
    assert_eq!(server.say(b"PRI * HT").await, "");
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_answers() {
    let server = Listening::with(config(|config| config.http.idle_timeout = SHORT)).await;
    let answers = server.say(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answers.starts_with("HTTP/1.1 200 OK\r\n"), "{answers}");
    server.stop().await;
}

#[tokio::test]
async fn a_connection_in_use_is_not_idle() {
    let server = Listening::with(config(|config| config.http.idle_timeout = SHORT)).await;
    let mut stream = server.connect().await;
    for _ in 0..6 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let mut buffer = [0; 1024];
        assert!(stream.read(&mut buffer).await.unwrap() > 0, "closed while in use");
        tokio::time::sleep(SHORT / 2).await;
    }
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn too_many_headers_are_refused() {
    let server = Listening::with(Config::default()).await;
    let headers = "X: 1\r\n".repeat(101);
    let answer = server.say(format!("GET /healthz HTTP/1.1\r\n{headers}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Listening::with(Config::default()).await;
    let long = "a".repeat(64 * 1024);
    for request in [
        format!("GET /healthz HTTP/1.1\r\nX-Long: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ] {
        let answer = server.say(request.as_bytes()).await;
        let status = answer.get(9..12).unwrap_or_default();
        assert!(["431", "414"].contains(&status), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let server = Listening::with(Config::default()).await;
    for bytes in [
        &b"\x16\x03\x01 this is TLS\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nBad Header\r\n\r\n",
    ] {
        let answer = server.say(bytes).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    let answer = server.say(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "it still serves: {answer}");
    server.stop().await;
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_a_place() {
    let server = Listening::with(config(|config| config.http.max_connections = 2)).await;
    let (first, second) = (server.connect().await, server.connect().await);
    let ask = async || {
        let mut third = server.connect().await;
        third.write_all(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
        until_closed(&mut third).await
    };
    assert!(timeout(SHORT, ask()).await.is_err(), "a third was served");
    drop(first);
    assert!(ask().await.starts_with("HTTP/1.1 200 "));
    assert!(server.service.state.metrics.to_text().contains("belfry_http_connections "));
    drop(second);
    server.stop().await;
}

#[tokio::test]
async fn http_2_is_spoken() {
    let server = Listening::with(Config::default()).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let answer = client.get(format!("http://{}/healthz", server.address)).send().await.unwrap();
    assert_eq!(answer.version(), reqwest::Version::HTTP_2);
    assert_eq!(answer.text().await.unwrap(), r#"{"status":"ok"}"#);
    drop(client);
    server.stop().await;
}

/// Attack 110: the host of links is the configured one, however a request names another.
#[tokio::test]
async fn no_host_that_a_request_names_is_believed() {
    let server = Listening::with(Config::default()).await;
    let metadata = "/.well-known/oauth-authorization-server";
    for (target, hosts) in [
        (format!("http://evil.example{metadata}"), "Host: evil.example\r\n"),
        (format!("http://evil.example{metadata}"), "Host: ring.example\r\n"),
        (format!("https://evil.example:99{metadata}"), ""),
        (metadata.to_owned(), "Host: ring.example\r\nHost: evil.example\r\n"),
        (metadata.to_owned(), "Host: evil.example\r\nHost: ring.example\r\n"),
        (metadata.to_owned(), "Host: evil.example, ring.example\r\n"),
        ("http://evil.example/api/v2/instance".to_owned(), "Host: evil.example\r\n"),
        ("http://evil.example/oauth/sign_in".to_owned(), "Host: evil.example\r\n"),
        ("http://evil.example/oauth/authorize".to_owned(), "Host: evil.example\r\n"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = server.say(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 "), "{request}");
        assert!(!answer.contains("evil.example"), "{request}{answer}");
        if target.ends_with(metadata) {
            assert!(answer.contains(r#""issuer":"https://ring.example/""#), "{request}{answer}");
        }
    }
    // Such a call is counted and routed like any other.
    let elsewhere = b"GET http://evil.example/healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
    let answer = server.say(elsewhere).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && !answer.contains("ratelimit"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn http_1_0_is_spoken() {
    let server = Listening::with(Config::default()).await;
    let answer = server.say(b"GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn an_error_over_a_socket_has_its_body() {
    let server = Listening::with(Config::default()).await;
    let answer = reqwest::get(format!("http://{}/nothing", server.address)).await.unwrap();
    assert_eq!(answer.status(), 404);
    assert!(answer.text().await.unwrap().contains("There is nothing at this path"));
    server.stop().await;
}
