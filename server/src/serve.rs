//! The HTTP server: accepts connections up to a maximum, and drains them when it stops.

mod activity;
mod connection;
mod file_limit;
mod listeners;
mod request_body;
mod request_head;
mod response_body;
mod slots;
mod stream;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use belfry_runtime::log_throttle::LogThrottle;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use self::connection::{Connection, HEADER_TIMEOUT};
pub use self::file_limit::raise_file_limit;
pub use self::listeners::Listeners;
use self::slots::{ConnectionSlot, ConnectionSlots};
use crate::http::{HttpService, Peer};
use crate::tls::Tls;

static ACCEPT_ERROR_LOG: LogThrottle = LogThrottle::new("accepting a connection failed");

/// Maximum number of headers in an HTTP/1 request.
const MAX_HEADERS: usize = 100;

/// Maximum size of a request head, in bytes.
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// Serves until `stop` completes, then waits for requests in flight, for at most the shutdown
/// timeout.
pub async fn serve(
    listener: impl Into<Listeners>,
    tls: Option<Tls>,
    service: HttpService,
    stop: impl Future<Output = ()>,
) {
    let listener = listener.into();
    let http = service.state().config.http;
    let acceptor = Acceptor {
        builder: Arc::new(connection_builder()),
        slots: ConnectionSlots::new(http),
        stop_sender: watch::Sender::new(false),
        idle_timeout: http.idle_timeout,
        tls,
        service,
    };
    tokio::pin!(stop);
    // The connection that waited for a slot when the server stopped.
    let waiting_connection = loop {
        let accept_result = tokio::select! {
            () = &mut stop => break None,
            result = listener.accept() => result,
        };
        let (stream, peer) = match accept_result {
            Ok(connection) => connection,
            Err(error) => {
                back_off_after_accept_error(&error).await;
                continue;
            }
        };
        let slot = tokio::select! {
            () = &mut stop => break Some((stream, peer)),
            slot = acceptor.acquire_slot(peer) => slot,
        };
        acceptor.serve_connection(stream, peer, slot);
    };
    acceptor.service.state().begin_shutdown();
    tracing::info!("draining in-flight requests");
    let queued_connections = listener.close().await;
    // Idle connections close soon, which frees slots for the waiting ones.
    acceptor.stop_sender.send_replace(true);
    let drain = async {
        for (stream, peer) in waiting_connection.into_iter().chain(queued_connections) {
            let slot = acceptor.acquire_slot(peer).await;
            acceptor.serve_connection(stream, peer, slot);
        }
        // Completes when every connection has dropped its receiver.
        acceptor.stop_sender.closed().await;
    };
    if timeout(http.shutdown_timeout, drain).await.is_err() {
        let timeout_ms = u64::try_from(http.shutdown_timeout.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(timeout_ms, "shutdown timeout, aborting in-flight requests");
    }
}

struct Acceptor {
    builder: Arc<auto::Builder<TokioExecutor>>,
    slots: ConnectionSlots,
    /// Notifies the connections that the server is stopping.
    stop_sender: watch::Sender<bool>,
    idle_timeout: Duration,
    tls: Option<Tls>,
    service: HttpService,
}

impl Acceptor {
    /// Waits for a slot, while further connections wait in the kernel's queue. Returns `None` if
    /// the address has too many connections.
    async fn acquire_slot(&self, peer: SocketAddr) -> Option<ConnectionSlot> {
        let state = self.service.state();
        let is_proxy = state.limits.active().proxies.contains(peer.ip());
        let limited_address = (!is_proxy).then_some(peer.ip());
        let slot = self.slots.acquire(limited_address).await.ok();
        if slot.is_none() {
            state.metrics.http.rejected_connections.inc();
            tracing::debug!(peer = %peer.ip(), "too many connections from one address");
        }
        slot
    }

    /// Serves a connection in a separate task; closes it if it has no slot.
    fn serve_connection(&self, stream: TcpStream, peer: SocketAddr, slot: Option<ConnectionSlot>) {
        let Some(slot) = slot else { return };
        let connection = Connection {
            builder: Arc::clone(&self.builder),
            service: self.service.clone(),
            peer: Peer(peer),
            stop: self.stop_sender.subscribe(),
            is_health_only: slot.is_health_only,
            idle_timeout: self.idle_timeout,
        };
        let tls = self.tls.as_ref().map(Tls::acceptor);
        tokio::spawn(async move {
            connection.run(stream, tls).await;
            drop(slot);
        });
    }
}

/// Returns hyper's connection builder with the HTTP/1 and HTTP/2 limits of this server.
fn connection_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        // Slow request heads are detected by `activity`.
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        // h2 buffers this much of a response, without recording its progress.
        .max_send_buf_size(64 * 1024)
        .max_header_list_size(u32::try_from(MAX_HEADER_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(HEADER_TIMEOUT)
        .keep_alive_timeout(HEADER_TIMEOUT);
    builder
}

/// Ignores connections that were lost before they were accepted. Other errors, such as too many
/// open files, are logged and followed by a pause, because retrying immediately would fail again.
async fn back_off_after_accept_error(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset) {
        if ACCEPT_ERROR_LOG.admits() {
            tracing::error!(%error, "accepting a connection failed");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::oneshot;

    use super::*;
    use crate::http::test_service;

    #[tokio::test]
    async fn a_stopping_server_completes_requests_and_refuses_connections() {
        let dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop_sender, stop_receiver) = oneshot::channel::<()>();
        let service = test_service(dir.path()).await;
        let stop = async { drop(stop_receiver.await) };
        let server = tokio::spawn(serve(listener, None, service, stop));

        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(stop_sender);
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();

        assert!(
            response.starts_with("HTTP/1.1 200 OK") && response.ends_with("done"),
            "{response}"
        );
        server.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
