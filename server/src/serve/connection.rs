//! One connection: TLS handshake, requests, timeouts and graceful shutdown.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Timeout};
use crate::config;
use crate::http::{HttpService, Peer};

/// Maximum time for the peer to read the last response when a connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

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
    pub(super) http: config::Http,
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

    /// Performs the TLS handshake, until its timeout passes or the server stops.
    async fn handshake(
        &self,
        stream: TcpStream,
        tls: &TlsAcceptor,
    ) -> Option<TlsStream<TcpStream>> {
        let mut stop = self.stop.clone();
        let result = tokio::select! {
            result = timeout(self.http.handshake_timeout, tls.accept(stream)) => result,
            _ = stop.changed() => return None,
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
                let is_closed = activity.record_response(is_rejected) || is_health_only;
                // HTTP/2 has no such header. Its connections are closed by the timeouts.
                if is_closed && version < Version::HTTP_2 {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let mut serving = pin!(self.builder.serve_connection(TokioIo::new(stream), handler));
        let config::Http { header_timeout, idle_timeout, .. } = self.http;
        // `None` if the server stops.
        let timed_out = tokio::select! {
            biased;
            result = &mut serving => {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection failed");
                }
                return;
            }
            _ = self.stop.changed() => None,
            timeout = activity.timeout(header_timeout, idle_timeout) => Some(timeout),
        };
        match timed_out {
            None if activity.is_unused() => {}
            None => {
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
