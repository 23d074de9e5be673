//! One connection, from its first byte to its last.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::without_delay;
use crate::http::{Peer, Site};

/// How long a connection that is told to end may take to do so.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub(super) struct Connection {
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) site: Site,
    pub(super) peer: Peer,
    pub(super) stopped: watch::Receiver<()>,
    pub(super) idle_timeout: Duration,
}

/// The calls of one connection.
#[derive(Default)]
struct Calls {
    in_flight: AtomicUsize,
    begun: AtomicUsize,
}

impl Connection {
    pub(super) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        without_delay(&stream);
        let open = self.site.belfry().metrics.connections.clone();
        open.inc();
        match tls {
            None => self.speak(stream).await,
            Some(tls) => match timeout(self.idle_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream).await,
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            },
        }
        open.dec();
    }

    /// Serves requests until the peer leaves, is idle for too long, or the service stops.
    async fn speak(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let calls = Arc::new(Calls::default());
        let (site, peer, counted) = (self.site, self.peer, Arc::clone(&calls));
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (site, counted) = (site.clone(), Arc::clone(&counted));
            async move {
                let _call = Call::begin(counted);
                Ok::<_, std::convert::Infallible>(site.answer(request.map(Body::new)).await)
            }
        });
        let mut serving = pin!(self.builder.serve_connection(TokioIo::new(stream), service));
        let mut seen = 0;
        loop {
            tokio::select! {
                ended = &mut serving => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection failed");
                    }
                    return;
                }
                _ = self.stopped.changed() => {
                    serving.as_mut().graceful_shutdown();
                    drop(serving.await);
                    return;
                }
                () = sleep(self.idle_timeout) => {}
            }
            let begun = calls.begun.load(Ordering::Relaxed);
            if begun == seen && calls.in_flight.load(Ordering::Relaxed) == 0 {
                // Nothing for a whole period. Whoever is not done reading an answer by the end
                // of the grace is cut off, too.
                serving.as_mut().graceful_shutdown();
                drop(timeout(LAST_WORDS, serving).await);
                return;
            }
            seen = begun;
        }
    }
}

/// A call that is being answered; it ends when this is dropped, also by a panic or a reset.
struct Call(Arc<Calls>);

impl Call {
    fn begin(calls: Arc<Calls>) -> Self {
        calls.begun.fetch_add(1, Ordering::Relaxed);
        calls.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
