//! Servers that violate the protocol, respond slowly or send too much.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_delivery::outbound::{OutboundClient, OutboundOptions};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::date_time_ymd;
use rustls::RootCertStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::server::TlsStream;

use crate::server::{LOOPBACK, TestPushService, accept, endpoint_at, post};

/// The timeout of tests in which the server does not respond.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

const THOUSAND_CHARACTERS: &str = match std::str::from_utf8(&[b'x'; 1000]) {
    Ok(text) => text,
    Err(_) => unreachable!(),
};

#[tokio::test]
async fn a_slow_or_endless_response_ends_at_the_timeout() {
    let slow = Duration::from_millis(20);
    for chunks in
        [&[""][..], &["HTTP/1.1 201 Created\r\n", "x"], &["HTTP/1.1 100 Continue\r\n\r\n"]]
    {
        let server = TestPushService::start_raw(chunks, slow).await;
        let options = OutboundOptions { timeout: SHORT_TIMEOUT, ..server.options() };
        let result = post(&options, &server.endpoint()).await;
        assert_eq!(result.unwrap_err(), AttemptError::Timeout, "{chunks:?}");
    }
}

/// The status has arrived, so the message is not sent again.
#[tokio::test]
async fn a_body_that_is_slow_or_too_large_counts_as_empty() {
    let slow = Duration::from_millis(20);
    for (chunks, interval) in [
        (&["HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n", ""][..], slow),
        (&["HTTP/1.1 201 Created\r\n\r\n", "x"], slow),
        (&["HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\nx\r\n"], slow),
        (&["HTTP/1.1 201 Created\r\n\r\n", THOUSAND_CHARACTERS], Duration::ZERO),
        (
            &["HTTP/1.1 201 Created\r\ncontent-length: 70000\r\n\r\n", THOUSAND_CHARACTERS],
            Duration::ZERO,
        ),
    ] {
        let server = TestPushService::start_raw(chunks, interval).await;
        let options = OutboundOptions { timeout: SHORT_TIMEOUT, ..server.options() };
        let response = post(&options, &server.endpoint()).await.unwrap();
        assert_eq!((response.status().as_u16(), response.body().len()), (201, 0), "{chunks:?}");
    }
}

#[tokio::test]
async fn an_oversized_or_invalid_response_is_rejected() {
    for (chunks, error) in [
        (&["HTTP/1.1 200 OK\r\nx: ", THOUSAND_CHARACTERS][..], AttemptError::Protocol),
        (&["HTTP/1.1 200 OK\r\n", "x: y\r\n"], AttemptError::Protocol),
        (&["HTTP/1.1 200 ", THOUSAND_CHARACTERS], AttemptError::Protocol),
        (&["SSH-2.0-OpenSSH_10\r\n"], AttemptError::Protocol),
        (&["HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"], AttemptError::Protocol),
        (
            &["HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
            AttemptError::Protocol,
        ),
        (&["HTTP/2.0 200 OK\r\n\r\n"], AttemptError::Protocol),
    ] {
        let server = TestPushService::start_raw(chunks, Duration::ZERO).await;
        let result = post(&server.options(), &server.endpoint()).await;
        assert_eq!(result.unwrap_err(), error, "{chunks:?}");
    }
}

#[tokio::test]
async fn an_http2_response_with_many_headers_is_rejected() {
    let server = TestPushService::start(|_| {
        let mut response = Response::builder();
        for number in 0..1000 {
            response = response.header(format!("x-{number}"), THOUSAND_CHARACTERS);
        }
        response.body(Full::default()).unwrap()
    })
    .await;
    let result = post(&server.options(), &server.endpoint()).await;
    assert_eq!(result.unwrap_err(), AttemptError::Protocol);
}

#[tokio::test]
async fn a_large_body_of_an_http2_response_counts_as_empty() {
    let server = TestPushService::start(|_| Response::new(Full::from(vec![0; 65_537]))).await;
    let response = post(&server.options(), &server.endpoint()).await.unwrap();
    assert_eq!(response.body().len(), 0);
    let server = TestPushService::start(|_| Response::new(Full::from(vec![0; 65_536]))).await;
    let response = post(&server.options(), &server.endpoint()).await.unwrap();
    assert_eq!(response.body().len(), 65_536);
}

/// An HTTP/2 frame: its payload's length, its type, flags and stream.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let header = [length[1], length[2], length[3], kind, flags, 0, 0, 0, stream];
    [&header, payload].concat()
}

/// An HTTP/2 server that sends a frame over and over, before or after its first response.
struct FloodServer {
    server: TestPushService,
    /// Gets a permit to begin the flood after the response.
    begin: &'static Semaphore,
    /// Has a permit when the client has closed the connection.
    closed: &'static Semaphore,
}

async fn start_flood(repeated: &'static [u8], has_response: bool) -> FloodServer {
    let [begin, closed]: [&'static Semaphore; 2] =
        std::array::from_fn(|_| &*Box::leak(Box::new(Semaphore::new(0))));
    let serve = move |mut stream: TlsStream<TcpStream>| async move {
        let mut request = [0; 4096];
        drop(stream.read(&mut request).await);
        drop(stream.write_all(&frame(4, 0, 0, &[])).await);
        if has_response {
            // HEADERS with the status 200, which is the whole response.
            drop(stream.write_all(&frame(1, 5, 1, &[0x88])).await);
            drop(begin.acquire().await);
        }
        let (mut reader, mut writer) = tokio::io::split(stream);
        let send = async { while writer.write_all(repeated).await.is_ok() {} };
        let mut sink = tokio::io::sink();
        tokio::select! {
            () = send => {}
            _ = tokio::io::copy(&mut reader, &mut sink) => {}
        }
        closed.add_permits(1);
    };
    let server = TestPushService::start_with(&["h2"], |_| {}, serve).await;
    FloodServer { server, begin, closed }
}

#[tokio::test]
async fn a_flood_of_http2_frames_closes_the_connection_during_and_after_a_request() {
    for (name, repeated) in [
        ("PING", frame(6, 0, 0, &[0; 8])),
        ("PING acknowledgement", frame(6, 1, 0, &[0; 8])),
        ("SETTINGS", frame(4, 0, 0, &[])),
        ("SETTINGS acknowledgement", frame(4, 1, 0, &[])),
        ("WINDOW_UPDATE", frame(8, 0, 0, &[0, 0, 0, 1])),
        ("PRIORITY", frame(2, 0, 1, &[0, 0, 0, 3, 1])),
        ("RST_STREAM", frame(3, 0, 1, &[0, 0, 0, 8])),
        ("GOAWAY", frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])),
        // HEADERS without END_HEADERS must be followed by CONTINUATION.
        ("HEADERS", frame(1, 0, 1, &[0x88])),
        ("status 103", frame(1, 4, 1, b"\x08\x03103")),
        ("DATA", frame(0, 0, 1, &[0; 1000])),
        ("empty DATA", frame(0, 0, 1, &[])),
        ("an unknown type", frame(200, 0, 0, &[0; 1000])),
    ] {
        let repeated = repeated.repeat(1000).leak();
        for has_response in [false, true] {
            let flood = start_flood(repeated, has_response).await;
            let client = OutboundClient::new(flood.server.options());
            let result =
                client.post(&flood.server.endpoint(), HeaderMap::new(), Bytes::new(), false).await;
            let expected =
                if has_response { Ok(StatusCode::OK) } else { Err(AttemptError::Protocol) };
            assert_eq!(result.map(|response| response.status()), expected, "{name}");
            flood.begin.add_permits(1);
            let closed = tokio::time::timeout(Duration::from_mins(1), flood.closed.acquire()).await;
            assert!(closed.is_ok(), "{name}: the connection is open, response: {has_response}");
        }
    }
}

#[tokio::test]
async fn an_endless_http2_header_block_is_rejected() {
    let server = TestPushService::start_with(
        &["h2"],
        |_| {},
        async |mut stream| {
            let mut request = [0; 4096];
            drop(stream.read(&mut request).await);
            drop(stream.write_all(&frame(4, 0, 0, &[])).await);
            drop(stream.write_all(&frame(1, 0, 1, &[0x88])).await);
            // A literal header with a name of one byte and a value of 100 bytes.
            let header = [&[0, 1, b'x', 100][..], &[b'y'; 100]].concat();
            while stream.write_all(&frame(9, 0, 1, &header)).await.is_ok() {}
        },
    )
    .await;
    let result = post(&server.options(), &server.endpoint()).await;
    assert_eq!(result.unwrap_err(), AttemptError::Protocol);
}

/// The error says how far the connection came, so that a server that does not accept connections is
/// not taken for one that does not respond.
#[tokio::test]
async fn each_phase_of_a_connection_has_its_error() {
    // The first server sends nothing, the second sends something other than TLS, the third closes
    // the connection, nothing listens on the fourth port, and the last server does not accept
    // connections, because its queue is full.
    let (silent, _) = accept(async |stream| {
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(stream);
    })
    .await;
    let (plain, _) = accept(async |mut stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await);
        tokio::time::sleep(Duration::from_mins(1)).await;
    })
    .await;
    let (closed, _) = accept(async |_| {}).await;
    let unused = TcpListener::bind((LOOPBACK, 0)).await.unwrap().local_addr().unwrap().port();
    let full = TcpSocket::new_v4().unwrap();
    full.bind((LOOPBACK, 0).into()).unwrap();
    let full = full.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(stream) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queue.push(stream.unwrap());
    }
    let server = TestPushService::start(|_| Response::default()).await;
    let mut options = server.options();
    for (port, error) in [
        (silent, AttemptError::Tls),
        (plain, AttemptError::Tls),
        (closed, AttemptError::Tls),
        (unused, AttemptError::Refused),
        (address.port(), AttemptError::Refused),
    ] {
        options.connect_timeout = SHORT_TIMEOUT;
        let result = post(&options, &endpoint_at(port)).await;
        assert_eq!(result.unwrap_err(), error, "{error:?}");
    }
    options.resolve = Arc::new(|_| {
        std::thread::sleep(2 * SHORT_TIMEOUT);
        Ok(vec![LOOPBACK])
    });
    assert_eq!(post(&options, &server.endpoint()).await.unwrap_err(), AttemptError::Dns);
    options.connect_timeout = server.options().connect_timeout;
    assert_eq!(post(&options, &server.endpoint()).await.unwrap().status(), StatusCode::OK);
}

/// Two requests start two connections. The first serves both, so no request waits for the second.
#[tokio::test]
async fn a_connection_that_no_request_needs_is_closed_if_its_handshake_stalls() {
    static HAS_SECOND: Semaphore = Semaphore::const_new(0);
    let server = TestPushService::start_with(
        &["http/1.1"],
        |_| {},
        async |stream| {
            let service = service_fn(async |_: Request<Incoming>| {
                let _permit = HAS_SECOND.acquire().await.unwrap();
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            });
            let server = auto::Builder::new(TokioExecutor::new());
            drop(server.serve_connection(TokioIo::new(stream), service).await);
        },
    )
    .await;
    let (sender, mut receiver) = mpsc::channel(1);
    let count = Arc::new(AtomicUsize::new(0));
    let server_port = server.port;
    let (port, _) = accept(move |mut stream| {
        let count = Arc::clone(&count);
        let sender = sender.clone();
        async move {
            if count.fetch_add(1, Ordering::SeqCst) == 0 {
                let mut server = TcpStream::connect((LOOPBACK, server_port)).await.unwrap();
                drop(copy_bidirectional(&mut stream, &mut server).await);
            } else {
                HAS_SECOND.add_permits(1);
                drop(stream.read_to_end(&mut Vec::new()).await);
                sender.send(()).await.unwrap();
            }
        }
    })
    .await;
    let mut options = server.options();
    options.connect_timeout = Duration::from_secs(2);
    let client = OutboundClient::new(options);
    let endpoint = endpoint_at(port);
    let send = || client.post(&endpoint, HeaderMap::new(), Bytes::new(), false);
    let (one, two) = tokio::join!(send(), send());
    assert_eq!((one.unwrap().status(), two.unwrap().status()), (StatusCode::OK, StatusCode::OK));
    let result = tokio::time::timeout(Duration::from_mins(1), receiver.recv()).await;
    assert_eq!(result, Ok(Some(())), "the second connection is still open");
}

#[tokio::test]
async fn a_certificate_that_is_not_for_the_host_is_rejected() {
    let serve = async |_| {};
    let valid = TestPushService::start_with(&[], |_| {}, serve).await;
    let mut untrusted = valid.options();
    untrusted.authorities = RootCertStore::empty().into();
    let result = post(&untrusted, &valid.endpoint()).await;
    assert_eq!(result.unwrap_err(), AttemptError::Certificate, "an unknown authority");

    let expired = TestPushService::start_with(
        &[],
        |certificate| certificate.not_after = date_time_ymd(2020, 1, 1),
        serve,
    );
    let other_name = TestPushService::start_with(
        &[],
        |certificate| certificate.subject_alt_names.clear(),
        serve,
    );
    for (reason, server) in [("expired", expired.await), ("another name", other_name.await)] {
        let result = post(&server.options(), &server.endpoint()).await;
        assert_eq!(result.unwrap_err(), AttemptError::Certificate, "{reason}");
    }
}

/// A push service closes idle connections at any time.
#[tokio::test]
async fn a_closed_connection_is_replaced() {
    let server = TestPushService::start_with(
        &["http/1.1"],
        |_| {},
        async |mut stream| {
            let mut request = [0; 4096];
            drop(stream.read(&mut request).await);
            drop(stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await);
            drop(stream.shutdown().await);
        },
    )
    .await;
    let client = OutboundClient::new(server.options());
    for number in 1..=5 {
        let response = client.post(&server.endpoint(), HeaderMap::new(), Bytes::new(), false).await;
        assert_eq!(response.unwrap().status(), 201, "message {number}");
        // Gives the client time to notice that the connection is closed.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn a_new_connection_is_closed_after_a_request_if_half_of_the_maximum_are_open() {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(TestPushService::start(|_| Response::new(Full::default())).await);
    }
    let mut authorities = RootCertStore::empty();
    authorities.roots.extend(servers.iter().flat_map(|server| server.authorities.roots.clone()));
    let options = OutboundOptions {
        authorities: Arc::new(authorities),
        max_connections: 4,
        ..servers[0].options()
    };
    let client = OutboundClient::new(options);
    for _ in 0..3 {
        for server in &servers {
            let response =
                client.post(&server.endpoint(), HeaderMap::new(), Bytes::new(), false).await;
            assert_eq!(response.unwrap().status(), 200);
        }
    }
    let counts: Vec<usize> = servers.iter().map(TestPushService::connections).collect();
    assert_eq!(counts, [1, 1, 3], "the first two connections are reused");
}

/// A message that waits for a connection does not look like a failure of its server.
#[tokio::test]
async fn a_message_waits_while_the_maximum_number_of_connections_is_open() {
    let server = TestPushService::start_raw(&[""], Duration::from_millis(20)).await;
    let client = OutboundClient::new(OutboundOptions {
        max_connections: 1,
        timeout: 2 * SHORT_TIMEOUT,
        connect_timeout: SHORT_TIMEOUT,
        ..server.options()
    });
    let endpoint = server.endpoint();
    let send = || client.post(&endpoint, HeaderMap::new(), Bytes::new(), false);
    let (first, second) = tokio::join!(send(), send());
    assert_eq!(first.unwrap_err(), AttemptError::Timeout);
    assert_eq!(second.unwrap_err(), AttemptError::Busy);
    assert_eq!(server.connections(), 1);
}

/// Only what the server has certainly not processed counts as refused. The client sends nothing
/// again, because a request whose connection ends may have been processed.
#[tokio::test]
async fn a_refused_stream_is_not_a_failure_and_no_message_is_sent_twice() {
    use AttemptError::{Protocol, StreamRefused};
    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    let reset = |reason| frame(3, 0, 3, &[0, 0, 0, reason]);
    let go_away = |stream, reason| frame(7, 0, 0, &[0, 0, 0, stream, 0, 0, 0, reason]);
    for (name, frames, error) in [
        ("REFUSED_STREAM", reset(7), StreamRefused),
        ("INTERNAL_ERROR", reset(2), Protocol),
        ("CANCEL", reset(8), Protocol),
        ("GOAWAY before the stream", go_away(1, 0), StreamRefused),
        ("GOAWAY with an error before the stream", go_away(1, 11), StreamRefused),
        ("GOAWAY after the stream", go_away(3, 0), Protocol),
        ("no frame", Vec::new(), Protocol),
    ] {
        let frames: &'static [u8] = frames.leak();
        let serve = move |mut stream: TlsStream<TcpStream>| async move {
            drop(stream.write_all(&frame(4, 0, 0, &[])).await);
            let mut received = Vec::new();
            let mut answered = 0;
            // Responds with 200 to the first request, and with the frames to the second.
            while stream.read_buf(&mut received).await.is_ok_and(|length| length > 0) {
                let requests = count_request_heads(&received);
                while answered < requests {
                    answered += 1;
                    REQUESTS.fetch_add(1, Ordering::SeqCst);
                    if answered == 2 {
                        drop(stream.write_all(frames).await);
                        // A server that sends GOAWAY first closes the connection later.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        return;
                    }
                    drop(stream.write_all(&frame(1, 5, 1, &[0x88])).await);
                }
            }
        };
        let server = TestPushService::start_with(&["h2"], |_| {}, serve).await;
        let client = OutboundClient::new(server.options());
        let endpoint = server.endpoint();
        let send = || client.post(&endpoint, HeaderMap::new(), Bytes::new(), false);
        assert_eq!(send().await.unwrap().status(), StatusCode::OK, "{name}");
        assert_eq!(send().await.unwrap_err(), error, "{name}");
        assert_eq!(REQUESTS.swap(0, Ordering::SeqCst), 2, "{name}");
        assert_eq!(server.connections(), 1, "{name}");
    }
}

/// Returns the number of HEADERS frames that a client has sent.
fn count_request_heads(received: &[u8]) -> usize {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut frames = received.strip_prefix(preface).unwrap_or_default();
    let mut count = 0;
    while let [a, b, c, kind, ..] = *frames {
        let length = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
        if frames.len() < length {
            break;
        }
        count += usize::from(kind == 1);
        frames = &frames[length..];
    }
    count
}

#[tokio::test]
async fn an_http1_message_without_response_is_not_sent_again() {
    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    let serve = async |mut stream: TlsStream<TcpStream>| {
        // Closes the connection after the second request.
        for _ in 0..2 {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|length| length > 0)
                && REQUESTS.fetch_add(1, Ordering::SeqCst) == 0
            {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await);
            }
        }
    };
    let server = TestPushService::start_with(&["http/1.1"], |_| {}, serve).await;
    let client = OutboundClient::new(server.options());
    let endpoint = server.endpoint();
    let send = || client.post(&endpoint, HeaderMap::new(), Bytes::new(), false);
    assert_eq!(send().await.unwrap().status(), StatusCode::OK);
    // Gives the connection time to become available again.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(send().await.unwrap_err(), AttemptError::Protocol);
    assert_eq!((REQUESTS.load(Ordering::SeqCst), server.connections()), (2, 1));
}
