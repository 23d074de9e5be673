//! Connections over a real socket: timeouts, limits, HTTP/2 and TLS.

mod bodies;
mod floods;
mod slots;
mod stopping;
mod tls;
mod unread_bodies;

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
use crate::support::service::config_with;

/// Far longer than every timeout tested here.
const TIMEOUT: Duration = Duration::from_mins(1);
const SHORT_TIMEOUT: Duration = Duration::from_millis(200);

pub(crate) struct Server {
    address: SocketAddr,
    stop_sender: Option<oneshot::Sender<()>>,
    serve_task: JoinHandle<()>,
    pub(crate) service: Service,
}

impl Server {
    pub(crate) async fn with_config(config: Config) -> Self {
        // Boxed to keep the tests' futures small.
        Self::start(Box::pin(Service::start_with(config)).await).await
    }

    pub(crate) async fn start(service: Service) -> Self {
        let tls_settings = service.state.config.tls.clone();
        let tls = tls_settings.map(|files| belfry::tls::Tls::load(files).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop_sender, stop_receiver) = oneshot::channel::<()>();
        if let Some(tls) = &tls {
            tokio::spawn(tls.clone().watch());
        }
        let stop_signal = async { drop(stop_receiver.await) };
        let serve_task = tokio::spawn(serve(listener, tls, service.http.clone(), stop_signal));
        Self { address, stop_sender: Some(stop_sender), serve_task, service }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes and returns everything received until the connection is closed.
    pub(crate) async fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The server may close the connection before everything is written.
        drop(stream.write_all(bytes).await);
        read_until_closed(&mut stream).await
    }

    async fn stop(mut self) {
        drop(self.stop_sender.take());
        timeout(TIMEOUT, self.serve_task).await.expect("the server stops").unwrap();
    }
}

async fn read_until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    // The connection may also be reset.
    drop(timeout(TIMEOUT, reading).await.expect("the connection is closed"));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server =
        Server::with_config(config_with(|config| config.http.idle_timeout = SHORT_TIMEOUT)).await;
    let health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    for (bytes, response_count) in [
        ("", 0),
        // The beginning of the preface of HTTP/2.
        ("PRI * HT", 0),
        (health, 1),
        (&format!("{health}GET /healthz HTTP/1.1\r\nX-Slow: "), 1),
    ] {
        let responses = server.send(bytes.as_bytes()).await;
        assert_eq!(responses.matches("HTTP/1.1 200 OK\r\n").count(), response_count, "{bytes}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_with_a_request_in_flight_is_not_idle() {
    let server =
        Server::with_config(config_with(|config| config.http.idle_timeout = SHORT_TIMEOUT)).await;
    let token = server.service.user_client("alice").await.token().to_owned();
    let head = format!(
        "PUT /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {token}\r\nContent-Length: 14\r\nConnection: close\r\n\r\n"
    );
    let mut stream = server.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    // Longer than the timeout and the interval at which it is checked.
    tokio::time::sleep(SHORT_TIMEOUT * 3).await;
    stream.write_all(br#"{"actions":[]}"#).await.unwrap();
    let response = read_until_closed(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    server.stop().await;
}

#[tokio::test]
async fn a_request_head_with_too_many_bytes_or_headers_is_rejected() {
    let server = Server::with_config(Config::default()).await;
    let long_text = "a".repeat(64 * 1024);
    let headers = "X: 1\r\n".repeat(101);
    for request in [
        format!("GET /healthz HTTP/1.1\r\n{headers}\r\n"),
        format!("GET /healthz HTTP/1.1\r\nX-Long: {long_text}\r\n\r\n"),
        format!("GET /{long_text} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ] {
        let response = server.send(request.as_bytes()).await;
        let status = response.get(9..12).unwrap_or_default();
        assert!(["431", "414"].contains(&status), "{response}");
    }
    server.stop().await;
}

#[tokio::test]
async fn invalid_http_is_rejected() {
    let server = Server::with_config(Config::default()).await;
    for bytes in [
        &b"\x16\x03\x01 this is TLS\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nBad Header\r\n\r\n",
    ] {
        let response = server.send(bytes).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    }
    let response = server.send(b"GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(response.starts_with("HTTP/1.0 200 "), "the server still works: {response}");
    server.stop().await;
}

#[tokio::test]
async fn http2_is_supported() {
    let server = Server::with_config(Config::default()).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let response = client.get(format!("http://{}/healthz", server.address)).send().await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    assert_eq!(response.text().await.unwrap(), r#"{"status":"ok"}"#);
    drop(client);
    server.stop().await;
}

/// Links have the configured host, whatever host a request names.
#[tokio::test]
async fn the_host_in_a_request_is_not_trusted() {
    let server = Server::with_config(Config::default()).await;
    let metadata_path = "/.well-known/oauth-authorization-server";
    for (target, host_header) in [
        (format!("http://evil.example{metadata_path}"), "Host: evil.example\r\n"),
        (format!("http://evil.example{metadata_path}"), "Host: ring.example\r\n"),
        (format!("https://evil.example:99{metadata_path}"), "Host: evil.example:99\r\n"),
        (metadata_path.to_owned(), "Host: evil.example\r\n"),
        ("http://evil.example/api/v2/instance".to_owned(), "Host: evil.example\r\n"),
        ("http://evil.example/oauth/sign_in".to_owned(), "Host: evil.example\r\n"),
        ("http://evil.example/oauth/authorize".to_owned(), "Host: evil.example\r\n"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\n{host_header}Connection: close\r\n\r\n");
        let response = server.send(request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 "), "{request}");
        assert!(!response.contains("evil.example"), "{request}{response}");
        if target.ends_with(metadata_path) {
            assert!(
                response.contains(r#""issuer":"https://ring.example/""#),
                "{request}{response}"
            );
        }
    }
    // A request that names another host is routed like any other.
    let request_for_other_host =
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let response = server.send(request_for_other_host.as_bytes()).await;
    assert!(
        response.starts_with("HTTP/1.1 200 OK\r\n") && !response.contains("ratelimit"),
        "{response}"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_request_without_exactly_one_host_is_rejected_and_its_connection_closed() {
    let server = Server::with_config(Config::default()).await;
    let next_request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    for head in [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET http://ring.example/healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST /oauth/sign_in HTTP/1.1\r\nContent-Length: 34\r\n\r\n",
    ] {
        let response = server.send(format!("{head}{next_request}").as_bytes()).await;
        assert_eq!(response.get(8..13), Some(" 400 "), "{head}{response}");
        assert!(response.contains("Host header"), "{head}{response}");
        assert!(response.contains("cache-control: no-store\r\n"), "{head}{response}");
        assert_eq!(response.matches("HTTP/1.").count(), 1, "{head}{response}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_error_response_has_a_complete_body() {
    let server = Server::with_config(Config::default()).await;
    for path in ["/nothing", "/_service/nothing", "/oauth/nothing", "/api/v1/nothing"] {
        let response = reqwest::get(format!("http://{}{path}", server.address)).await.unwrap();
        assert_eq!(response.status(), 404);
        let length = response.headers()["content-length"].to_str().unwrap().to_owned();
        let body = response.text().await.unwrap();
        assert!(body.contains("There is nothing at this path"), "{path}: {body}");
        assert_eq!(length, body.len().to_string(), "{path}");
    }
    server.stop().await;
}
