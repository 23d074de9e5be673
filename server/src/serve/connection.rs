//! One connection, from its first byte to its last.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::traffic::{Counted, Fault, Traffic};
use super::without_delay;
use crate::config;
use crate::http::{HttpService, Peer};

/// How long a connection that is told to end may take to do so.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub(super) struct Connection {
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) site: HttpService,
    pub(super) peer: Peer,
    pub(super) stopped: watch::Receiver<()>,
    pub(super) bounds: config::Http,
}

/// Why we end a connection.
enum End {
    Stopped,
    Fault(Fault),
}

impl Connection {
    pub(super) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        without_delay(&stream);
        let open = self.site.state().metrics.connections.clone();
        open.inc();
        match tls {
            None => self.speak(stream).await,
            Some(tls) => {
                if let Some(stream) = self.shake_hands(stream, &tls).await {
                    self.speak(stream).await;
                }
            }
        }
        open.dec();
    }

    /// Secures a connection, unless the peer is too slow or the service stops meanwhile.
    async fn shake_hands(
        &self,
        stream: TcpStream,
        tls: &TlsAcceptor,
    ) -> Option<TlsStream<TcpStream>> {
        let mut stopped = self.stopped.clone();
        let shaken = tokio::select! {
            shaken = timeout(self.bounds.idle_timeout, tls.accept(stream)) => shaken,
            _ = stopped.changed() => return None,
        };
        match shaken {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
        None
    }

    /// Serves requests until the peer leaves, is too slow or idle, or the service stops.
    async fn speak(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let traffic = Arc::<Traffic>::default();
        let stream = Counted { stream, traffic: Arc::clone(&traffic) };
        // Of this connection alone: what all connections share, two cores would pull back and
        // forth at every call.
        let own = Arc::new((self.site, Arc::clone(&traffic)));
        let peer = self.peer;
        let service = service_fn(move |request: Request<Incoming>| {
            let own = Arc::clone(&own);
            async move {
                let (site, traffic) = &*own;
                let _call = traffic.begin();
                Ok::<_, std::convert::Infallible>(site.respond(peer, request.map(Body::new)).await)
            }
        });
        let mut serving = pin!(self.builder.serve_connection(TokioIo::new(stream), service));
        let config::Http { header_timeout, idle_timeout, .. } = self.bounds;
        let end = async {
            tokio::select! {
                _ = self.stopped.changed() => End::Stopped,
                fault = traffic.fault(header_timeout, idle_timeout) => End::Fault(fault),
            }
        };
        // Asked only when there may be an end; without this, with every packet.
        let mut end: FuturesUnordered<_> = [end].into_iter().collect();
        let end = tokio::select! {
            biased;
            served = &mut serving => {
                if let Err(error) = served {
                    tracing::debug!(%error, "a connection failed");
                }
                return;
            }
            Some(end) = end.next() => end,
        };
        match end {
            // Whatever has come of a first head, no call was accepted that could be finished.
            End::Stopped if traffic.is_unused() => {}
            End::Stopped => {
                serving.as_mut().graceful_shutdown();
                // HTTP/2 ends when the peer has heard of it. One that is mute is not waited for.
                while timeout(LAST_WORDS, serving.as_mut()).await.is_err() {
                    if traffic.is_at_rest() {
                        break;
                    }
                }
            }
            End::Fault(Fault::Idle) => {
                // Whoever is not done reading an answer by the end of the grace is cut off, too.
                serving.as_mut().graceful_shutdown();
                drop(timeout(LAST_WORDS, serving).await);
            }
            End::Fault(Fault::SlowHead) => tracing::debug!("a head took too long"),
        }
    }
}
