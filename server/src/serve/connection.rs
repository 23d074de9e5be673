//! One connection: TLS handshake, requests, timeouts and graceful shutdown.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
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

use super::activity::{Activity, CloseReason};
use super::request_body::RequestBody;
use super::stream::{CLOSE_TIMEOUT, RecordingStream};
use super::{request_head, response_body};
use crate::http::{HttpService, Peer};

/// Maximum duration of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time to receive a request head. It is checked at intervals, so a slow head may take up
/// to twice as long.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// Time that a connection without a request in flight stays open after the server has stopped
/// accepting connections. A request that the peer has already sent is still answered, with
/// `Connection: close`.
const REQUEST_GRACE: Duration = Duration::from_millis(250);

/// Maximum duration of a connection that serves health requests only.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Connection {
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) service: HttpService,
    pub(super) peer: Peer,
    /// Becomes true when the server stops. The server waits until every connection has dropped its
    /// receiver.
    pub(super) stop: watch::Receiver<bool>,
    /// True if the connection exceeds the maximum and serves health requests only.
    pub(super) is_health_only: bool,
    pub(super) idle_timeout: Duration,
}

impl Connection {
    pub(super) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // An error is ignored: it only means that small packets may be delayed.
        drop(stream.set_nodelay(true));
        let state = self.service.state().clone();
        let _open = state.metrics.http.connections.enter();
        let max_duration = if self.is_health_only { HEALTH_TIMEOUT } else { Duration::MAX };
        let serve = async {
            match tls {
                None => self.serve(stream).await,
                Some(tls) => {
                    if let Some(stream) = self.handshake(stream, &tls).await {
                        self.serve(stream).await;
                    }
                }
            }
        };
        drop(timeout(max_duration, serve).await);
    }

    /// Performs the TLS handshake. Gives up after a timeout, and shortly after the server stops.
    async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        tls: &TlsAcceptor,
    ) -> Option<TlsStream<S>> {
        let mut stop = self.stop.clone();
        let stop_grace = async {
            drop(stop.wait_for(|is_stopping| *is_stopping).await);
            sleep(REQUEST_GRACE).await;
        };
        let result = tokio::select! {
            result = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)) => result,
            () = stop_grace => return None,
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
        let stream = RecordingStream::new(stream, Arc::clone(&activity));
        let shared_state = Arc::new((self.service, Arc::clone(&activity)));
        let peer = self.peer;
        let is_health_only = self.is_health_only;
        let handler = service_fn(move |request: Request<Incoming>| {
            let shared_state = Arc::clone(&shared_state);
            async move {
                let (service, activity) = &*shared_state;
                let _request = activity.begin_request();
                let version = request.version();
                let violation = request_head::find_violation(version, request.headers());
                let (request, body) = RequestBody::share(request, activity);
                let mut response = if let Some(reason) = violation {
                    // Boxed to keep the common future small.
                    Box::pin(service.reject(peer, request, reason)).await
                } else if is_health_only {
                    service.respond_over_capacity(peer, request).await
                } else {
                    service.respond(peer, request).await
                };
                let has_unread_body = match body {
                    Some(body) if !body.is_end_stream() => {
                        violation.is_some()
                            // A body that has timed out gets no more time.
                            || response.status() == StatusCode::REQUEST_TIMEOUT
                            // Boxed to keep the common future small.
                            || !Box::pin(body.discard_unread()).await
                    }
                    _ => false,
                };
                if has_unread_body {
                    activity.record_unread_body();
                }
                let is_stopping = service.state().is_stopping();
                let must_close =
                    has_unread_body || violation.is_some() || is_health_only || is_stopping;
                // HTTP/2 has no `Connection` header. Its connections are closed by GOAWAY when the
                // server stops, and otherwise by the timeouts.
                if must_close && version < Version::HTTP_2 {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                } else if is_stopping {
                    activity.close();
                }
                if version == Version::HTTP_2 {
                    response = response_body::record_progress(response, activity);
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let mut connection = pin!(self.builder.serve_connection(TokioIo::new(stream), handler));
        // Returns the reason why the connection is closed; `None` if the server stops.
        let close_reason = async {
            tokio::select! {
                () = activity.wait_for_close() => None,
                _ = self.stop.wait_for(|is_stopping| *is_stopping) => None,
                reason = activity.wait_for_close_reason(HEADER_TIMEOUT, self.idle_timeout) => {
                    Some(reason)
                }
            }
        };
        // Unlike `select!`, this polls the future only when it was woken. Every request wakes the
        // task, and polling `stop` takes a lock that all connections share.
        let mut close_reasons = FuturesUnordered::from_iter([close_reason]);
        let close_reason = tokio::select! {
            biased;
            result = &mut connection => {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection failed");
                }
                return;
            }
            Some(close_reason) = close_reasons.next() => close_reason,
        };
        match close_reason {
            None => {
                // HTTP/2 needs no grace period: GOAWAY names the last request that is answered.
                if !activity.is_http2() && timeout(REQUEST_GRACE, connection.as_mut()).await.is_ok()
                {
                    return;
                }
                if activity.is_unused() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                // An HTTP/2 connection ends when the peer acknowledges the shutdown, which an
                // unresponsive peer never does.
                while timeout(CLOSE_TIMEOUT, connection.as_mut()).await.is_err() {
                    if activity.is_idle_http2(CLOSE_TIMEOUT) {
                        break;
                    }
                }
            }
            Some(CloseReason::Idle) => {
                connection.as_mut().graceful_shutdown();
                drop(timeout(CLOSE_TIMEOUT, connection).await);
            }
            Some(CloseReason::SlowHead) => tracing::debug!("request head timed out"),
        }
    }
}

#[cfg(test)]
mod tests;
