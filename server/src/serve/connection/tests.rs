//! Tests of single connections, with a paused clock.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::config;
use crate::http::{LARGE_RESPONSE_BYTES, test_service};
use crate::tls::Tls;

const REQUEST: &[u8] = b"GET /well HTTP/1.1\r\nHost: a\r\n\r\n";

/// The head of a request whose response does not depend on its body.
const HEAD_WITH_BODY: &[u8] = b"POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";

/// A server with one connection, and that connection's peer. The clock is paused.
struct ConnectionServer {
    peer: DuplexStream,
    stop_sender: watch::Sender<bool>,
    service: HttpService,
    server_task: JoinHandle<()>,
    _dir: tempfile::TempDir,
}

async fn build_connection(
    dir: &tempfile::TempDir,
    stop_sender: &watch::Sender<bool>,
) -> Connection {
    let http = config::HttpSettings::default();
    Connection {
        builder: Arc::new(crate::serve::connection_builder()),
        service: test_service(dir.path()).await,
        peer: Peer(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
        stop: stop_sender.subscribe(),
        is_health_only: false,
        idle_timeout: http.idle_timeout,
    }
}

impl ConnectionServer {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stop_sender = watch::Sender::new(false);
        let connection = build_connection(&dir, &stop_sender).await;
        let service = connection.service.clone();
        tokio::time::pause();
        let (peer, stream) = duplex(64 * 1024);
        let server_task = tokio::spawn(connection.serve(stream));
        Self { peer, stop_sender, service, server_task, _dir: dir }
    }

    /// Sends a request and returns the response, which is small enough for one read.
    async fn request(&mut self) -> String {
        self.peer.write_all(REQUEST).await.unwrap();
        let mut response = [0; 4096];
        let length = self.peer.read(&mut response).await.unwrap();
        String::from_utf8_lossy(&response[..length]).into_owned()
    }

    fn stop(&self) {
        self.service.state().begin_shutdown();
        self.stop_sender.send_replace(true);
    }
}

#[tokio::test]
async fn a_request_that_arrives_shortly_after_the_stop_is_answered() {
    for has_earlier_request in [true, false] {
        let mut server = ConnectionServer::start().await;
        if has_earlier_request {
            let response = server.request().await;
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
            assert!(!response.contains("connection: close\r\n"), "{response}");
        }
        server.stop();
        sleep(REQUEST_GRACE.saturating_sub(Duration::from_millis(5))).await;
        let response = server.request().await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains("connection: close\r\n"), "{response}");
        server.server_task.await.unwrap();
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_slow_first_or_second_request_head_is_cut_off() {
    for has_earlier_request in [true, false] {
        let mut server = ConnectionServer::start().await;
        if has_earlier_request {
            server.request().await;
        }
        let start = Instant::now();
        server.peer.write_all(b"GET /well HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.unwrap();
        assert_eq!(server.peer.read(&mut [0; 1]).await.unwrap(), 0);
        let elapsed = start.elapsed();
        assert!((HEADER_TIMEOUT..=HEADER_TIMEOUT * 2).contains(&elapsed), "{elapsed:?}");
        tokio::time::resume();
    }
}

/// The beginning of a `ClientHello`, which announces more bytes.
const INCOMPLETE_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[tokio::test]
async fn an_unfinished_handshake_is_cut_off() {
    for bytes in [&b""[..], b"\x16", INCOMPLETE_HELLO] {
        let dir = tempfile::tempdir().unwrap();
        let stop_sender = watch::Sender::new(false);
        let connection = build_connection(&dir, &stop_sender).await;
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| dir.path().join(name));
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(&certificate, pair.cert.pem()).unwrap();
        std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
        let tls = Tls::load(config::TlsSettings { certificate, key }).unwrap();
        tokio::time::pause();
        let (mut peer, stream) = duplex(64 * 1024);
        peer.write_all(bytes).await.unwrap();
        let start = Instant::now();
        assert!(connection.handshake(stream, &tls.acceptor()).await.is_none(), "{bytes:?}");
        let elapsed = start.elapsed();
        assert!(elapsed.as_secs() == HANDSHAKE_TIMEOUT.as_secs(), "{bytes:?}: {elapsed:?}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_shortly_after_the_stop() {
    for has_earlier_request in [true, false] {
        let mut server = ConnectionServer::start().await;
        if has_earlier_request {
            server.request().await;
        }
        let start = Instant::now();
        server.stop();
        server.server_task.await.unwrap();
        // Timers have a granularity of a millisecond.
        let delay = start.elapsed().checked_sub(REQUEST_GRACE);
        assert!(delay.is_some_and(|delay| delay < Duration::from_millis(5)), "{delay:?}");
        assert_eq!(server.peer.read(&mut [0; 1]).await.unwrap(), 0);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_slow_unread_body_does_not_keep_the_connection_open() {
    let mut server = ConnectionServer::start().await;
    let start = Instant::now();
    server.peer.write_all(HEAD_WITH_BODY).await.unwrap();
    let mut response = vec![0; 4096];
    let length = server.peer.read(&mut response).await.unwrap();
    let response = String::from_utf8_lossy(&response[..length]);
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    assert!(response.contains("connection: close\r\n"), "{response}");
    assert_eq!(start.elapsed().as_secs(), 1);
    // Sending more does not extend the time.
    while server.peer.write_all(b"a").await.is_ok() {
        sleep(Duration::from_millis(100)).await;
    }
    server.server_task.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), CLOSE_TIMEOUT.as_secs() + 1);
}

#[tokio::test]
async fn a_body_that_timed_out_gets_no_more_time() {
    let mut server = ConnectionServer::start().await;
    let start = Instant::now();
    let head = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    server.peer.write_all(head).await.unwrap();
    let mut response = vec![0; 4096];
    let length = server.peer.read(&mut response).await.unwrap();
    let response = String::from_utf8_lossy(&response[..length]);
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(response.contains("connection: close\r\n"), "{response}");
    assert_eq!(start.elapsed().as_secs(), config::HttpSettings::default().body_timeout.as_secs());
}

/// A peer that speaks HTTP/2.
struct Http2Peer(ConnectionServer);

// Frame types (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

// Frame flags (RFC 9113, section 6).
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

impl Http2Peer {
    /// Requests a large response, with the default window of 65,535 bytes.
    async fn start() -> Self {
        let mut peer = Self(ConnectionServer::start().await);
        peer.0.peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        peer.send(SETTINGS, 0, 0, b"").await.unwrap();
        // GET and http from HPACK's static table, and the path as a literal.
        let headers = b"\x82\x86\x04\x06/large";
        peer.send(HEADERS, END_STREAM | END_HEADERS, 1, headers).await.unwrap();
        peer
    }

    async fn send(
        &mut self,
        frame_type: u8,
        flags: u8,
        stream: u8,
        payload: &[u8],
    ) -> io::Result<()> {
        let head = [0, 0, u8::try_from(payload.len()).unwrap(), frame_type, flags, 0, 0, 0, stream];
        self.0.peer.write_all(&[&head, payload].concat()).await
    }

    /// Receives frames until the server pauses or the response ends, and answers pings. Returns the
    /// size of the data, and whether the response has ended.
    async fn receive(&mut self) -> io::Result<(usize, bool)> {
        let mut size = 0;
        let mut has_ended = false;
        let mut head = [0; 9];
        while let Ok(result) =
            timeout(Duration::from_secs(1), self.0.peer.read_exact(&mut head)).await
        {
            result?;
            let length =
                usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            self.0.peer.read_exact(&mut payload).await?;
            match (head[3], head[4]) {
                (DATA, flags) => {
                    size += length;
                    has_ended = flags & END_STREAM != 0;
                    if has_ended {
                        break;
                    }
                }
                // The server closes the connection of a peer that does not answer.
                (PING, 0) => self.send(PING, ACK, 0, &payload).await?,
                _ => {}
            }
        }
        Ok((size, has_ended))
    }
}

#[tokio::test]
async fn a_large_http2_response_may_be_read_slowly() {
    let mut peer = Http2Peer::start().await;
    let start = Instant::now();
    let mut received_bytes = 0;
    loop {
        let (size, has_ended) = peer.receive().await.expect("the whole response");
        received_bytes += size;
        if has_ended {
            break;
        }
        for _ in 0..4 {
            sleep(Duration::from_secs(10)).await;
            assert_eq!(peer.receive().await.expect("an open connection"), (0, false));
        }
        for stream in [0, 1] {
            peer.send(WINDOW_UPDATE, 0, stream, &16_384_u32.to_be_bytes()).await.unwrap();
        }
    }
    assert_eq!(received_bytes, LARGE_RESPONSE_BYTES);
    assert!(start.elapsed() > config::HttpSettings::default().idle_timeout * 3);
}

#[tokio::test]
async fn an_unread_http2_response_is_abandoned_even_if_the_peer_sends_pings() {
    let mut peer = Http2Peer::start().await;
    let start = Instant::now();
    while peer.receive().await.is_ok() && peer.send(PING, 0, 0, &[0; 8]).await.is_ok() {
        sleep(Duration::from_secs(5)).await;
    }
    assert!(start.elapsed() < config::HttpSettings::default().idle_timeout * 2);
}

#[tokio::test]
async fn a_stopping_server_finishes_http2_responses_that_make_progress() {
    let mut peer = Http2Peer::start().await;
    let (mut received_bytes, mut has_ended) = peer.receive().await.unwrap();
    peer.0.stop();
    while !has_ended {
        sleep(Duration::from_secs(2)).await;
        for stream in [0, 1] {
            peer.send(WINDOW_UPDATE, 0, stream, &16_384_u32.to_be_bytes()).await.unwrap();
        }
        let (size, is_last) = peer.receive().await.expect("the whole response");
        (received_bytes, has_ended) = (received_bytes + size, is_last);
    }
    assert_eq!(received_bytes, LARGE_RESPONSE_BYTES);
}
