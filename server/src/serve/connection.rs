//! One connection: TLS handshake, requests, timeouts and graceful shutdown.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Timeout};
use crate::http::{HttpService, Peer};

/// Maximum time of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time to receive a request head; enforced after at most twice that time.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time for the peer to read the last response when a connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection without a request in flight stays open after the server has stopped
/// accepting connections. A request that the peer sent before it could know is still answered, with
/// `Connection: close`.
pub(super) const REQUEST_GRACE: Duration = Duration::from_millis(250);

/// Maximum duration of a connection that serves health requests only.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Connection {
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) service: HttpService,
    pub(super) peer: Peer,
    /// Changes when the server stops; dropped when the connection has ended.
    pub(super) stop: watch::Receiver<()>,
    /// Whether the connection exceeds the maximum number and serves health requests only.
    pub(super) is_health_only: bool,
    pub(super) idle_timeout: Duration,
}

impl Connection {
    pub(super) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // An error is ignored: responses are also correct when small packets are delayed.
        drop(stream.set_nodelay(true));
        let state = Arc::clone(self.service.state());
        let _open = state.metrics.http.connections.enter();
        let max_time = if self.is_health_only { HEALTH_TIMEOUT } else { Duration::MAX };
        let serving = async {
            match tls {
                None => self.serve(stream).await,
                Some(tls) => {
                    if let Some(stream) = self.handshake(stream, &tls).await {
                        self.serve(stream).await;
                    }
                }
            }
        };
        drop(timeout(max_time, serving).await);
    }

    /// Performs the TLS handshake, until its timeout passes or shortly after the server stops.
    async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        tls: &TlsAcceptor,
    ) -> Option<TlsStream<S>> {
        let mut stop = self.stop.clone();
        let stopped = async {
            drop(stop.changed().await);
            sleep(REQUEST_GRACE).await;
        };
        let result = tokio::select! {
            result = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)) => result,
            () = stopped => return None,
        };
        match result {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
        None
    }

    /// Serves requests until the peer closes the connection, a timeout passes or the server stops.
    ///
    /// `hyper_util::server::graceful` is not used, because it waits for the rest of a first request
    /// head and for an unresponsive HTTP/2 peer, and cannot close a single idle connection.
    async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let activity = Arc::new(Activity::new());
        let stream = activity.record_stream(stream);
        // The connection of a proxy is shared by many clients, so rejections do not close it.
        let is_proxy = self.service.state().limits.active().proxies.contains(self.peer.0.ip());
        let shared = Arc::new((self.service, Arc::clone(&activity)));
        let (peer, is_health_only) = (self.peer, self.is_health_only);
        let handler = service_fn(move |request: Request<Incoming>| {
            let shared = Arc::clone(&shared);
            async move {
                let (service, activity) = &*shared;
                let _request = activity.begin_request();
                let (version, request) = (request.version(), request.map(Body::new));
                let mut response = if is_health_only {
                    service.respond_to_health(peer, request).await
                } else {
                    service.respond(peer, request).await
                };
                let is_rejected = response.status() == StatusCode::TOO_MANY_REQUESTS && !is_proxy;
                let is_stopping = service.state().is_stopping();
                let is_closed =
                    activity.record_response(is_rejected) || is_health_only || is_stopping;
                // HTTP/2 has no such header. Its connections are closed by GOAWAY when the server
                // stops, and otherwise by the timeouts.
                if is_closed && version < Version::HTTP_2 {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                } else if is_stopping {
                    activity.close();
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let mut serving = pin!(self.builder.serve_connection(TokioIo::new(stream), handler));
        // `None` if the server stops.
        let timed_out = async {
            tokio::select! {
                () = activity.closed() => None,
                _ = self.stop.changed() => None,
                timeout = activity.timeout(HEADER_TIMEOUT, self.idle_timeout) => Some(timeout),
            }
        };
        // Unlike `select!`, this polls the future only when it was woken. Every request wakes the
        // task, and polling `stop` takes a lock that all connections share.
        let mut timed_out = FuturesUnordered::from_iter([timed_out]);
        let timed_out = tokio::select! {
            biased;
            result = &mut serving => {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection failed");
                }
                return;
            }
            Some(timed_out) = timed_out.next() => timed_out,
        };
        match timed_out {
            None => {
                // HTTP/2 needs no grace: GOAWAY says which requests are answered.
                if !activity.is_http2() && timeout(REQUEST_GRACE, serving.as_mut()).await.is_ok() {
                    return;
                }
                if activity.is_unused() {
                    return;
                }
                serving.as_mut().graceful_shutdown();
                // An HTTP/2 connection ends when the peer acknowledges the shutdown, which an
                // unresponsive peer never does.
                while timeout(CLOSE_TIMEOUT, serving.as_mut()).await.is_err() {
                    if activity.is_idle_http2() {
                        break;
                    }
                }
            }
            Some(Timeout::Idle | Timeout::Rejected) => {
                serving.as_mut().graceful_shutdown();
                drop(timeout(CLOSE_TIMEOUT, serving).await);
            }
            Some(Timeout::SlowHead) => tracing::debug!("request head timed out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;
    use crate::config;
    use crate::http::test_service;
    use crate::tls::Tls;

    const REQUEST: &[u8] = b"GET /well HTTP/1.1\r\nHost: a\r\n\r\n";

    /// The peer of a connection that is served, and the server around it. The clock is paused.
    struct Peered {
        peer: DuplexStream,
        stop: watch::Sender<()>,
        service: HttpService,
        serving: JoinHandle<()>,
        _folder: tempfile::TempDir,
    }

    async fn connection(folder: &tempfile::TempDir, stop: &watch::Sender<()>) -> Connection {
        let http = config::Http::default();
        Connection {
            builder: Arc::new(crate::serve::builder(http)),
            service: test_service(folder.path()).await,
            peer: Peer(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
            stop: stop.subscribe(),
            is_health_only: false,
            idle_timeout: http.idle_timeout,
        }
    }

    impl Peered {
        async fn start() -> Self {
            let (folder, stop) = (tempfile::tempdir().unwrap(), watch::Sender::new(()));
            let connection = connection(&folder, &stop).await;
            let service = connection.service.clone();
            tokio::time::pause();
            let (peer, stream) = duplex(64 * 1024);
            let serving = tokio::spawn(connection.serve(stream));
            Self { peer, stop, service, serving, _folder: folder }
        }

        /// Sends a request and returns the first bytes of the response, which are all of it.
        async fn request(&mut self) -> String {
            self.peer.write_all(REQUEST).await.unwrap();
            let mut response = [0; 4096];
            let length = self.peer.read(&mut response).await.unwrap();
            String::from_utf8_lossy(&response[..length]).into_owned()
        }

        fn stop(&self) {
            self.service.state().begin_shutdown();
            self.stop.send_replace(());
        }
    }

    #[tokio::test]
    async fn a_request_that_arrives_shortly_after_the_stop_is_answered() {
        for is_used in [true, false] {
            let mut peered = Peered::start().await;
            if is_used {
                let response = peered.request().await;
                assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
                assert!(!response.contains("connection: close\r\n"), "{response}");
            }
            peered.stop();
            sleep(REQUEST_GRACE.saturating_sub(Duration::from_millis(5))).await;
            let response = peered.request().await;
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
            assert!(response.contains("connection: close\r\n"), "{response}");
            peered.serving.await.unwrap();
            tokio::time::resume();
        }
    }

    /// The frames that the server sends until it closes the connection.
    async fn read_frame_types(peer: &mut DuplexStream) -> Vec<u8> {
        let mut received = Vec::new();
        peer.read_to_end(&mut received).await.unwrap();
        let (mut types, mut rest) = (Vec::new(), &received[..]);
        while let Some((head, after)) = rest.split_at_checked(9) {
            types.push(head[3]);
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            rest = &after[after.len().min(usize::try_from(length).unwrap())..];
        }
        types
    }

    #[tokio::test]
    async fn a_slow_request_head_is_cut_off_whether_it_is_the_first_or_the_second() {
        for is_used in [true, false] {
            let mut peered = Peered::start().await;
            if is_used {
                peered.request().await;
            }
            let start = Instant::now();
            peered.peer.write_all(b"GET /well HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.unwrap();
            assert_eq!(peered.peer.read(&mut [0; 1]).await.unwrap(), 0);
            let elapsed = start.elapsed();
            assert!((HEADER_TIMEOUT..=HEADER_TIMEOUT * 2).contains(&elapsed), "{elapsed:?}");
            tokio::time::resume();
        }
    }

    #[tokio::test]
    async fn an_http_2_connection_is_closed_when_its_requests_are_rejected_repeatedly() {
        let mut peered = Peered::start().await;
        let mut limits = config::Config::default();
        limits.limits.rows = toml::from_str("ip = { requests = 1 }").unwrap();
        let state = peered.service.state();
        state.limits.replace(&limits, &state.metrics.limits);
        let mut frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        for stream_id in (1..30_u8).step_by(2) {
            // HEADERS: GET / over http, from HPACK's static table.
            frames.extend([0, 0, 3, 1, 5, 0, 0, 0, stream_id, 0x82, 0x86, 0x84]);
        }
        let start = Instant::now();
        peered.peer.write_all(&frames).await.unwrap();
        let types = read_frame_types(&mut peered.peer).await;
        let elapsed = start.elapsed();
        assert!(elapsed < config::Http::default().idle_timeout, "{elapsed:?}");
        let (headers, goaway) = (1, 7);
        assert_eq!(types.iter().filter(|kind| **kind == headers).count(), 15, "{types:?}");
        assert!(types.contains(&goaway), "{types:?}");
    }

    /// The beginning of a `ClientHello`, which announces more bytes.
    const INCOMPLETE_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

    #[tokio::test]
    async fn an_unfinished_handshake_is_cut_off() {
        for bytes in [&b""[..], b"\x16", INCOMPLETE_HELLO] {
            let folder = tempfile::tempdir().unwrap();
            let connection = connection(&folder, &watch::Sender::new(())).await;
            let [certificate, key] =
                ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
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
        for is_used in [true, false] {
            let mut peered = Peered::start().await;
            if is_used {
                peered.request().await;
            }
            let start = Instant::now();
            peered.stop();
            peered.serving.await.unwrap();
            // Timers have a granularity of a millisecond.
            let late = start.elapsed().checked_sub(REQUEST_GRACE);
            assert!(late.is_some_and(|late| late < Duration::from_millis(5)), "{late:?}");
            assert_eq!(peered.peer.read(&mut [0; 1]).await.unwrap(), 0);
            tokio::time::resume();
        }
    }
}
