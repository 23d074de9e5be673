//! Connections: accepted up to a number, secured if need be, bounded in time, and drained when
//! the service stops.

mod connection;
mod traffic;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::config;
use crate::http::{HttpService, Peer};
use crate::tls::Tls;

/// Serves until `stop` is done, then lets calls in flight end, for a bounded time. The caller
/// binds and the caller stops, so that a test can do both.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    site: HttpService,
    stop: impl Future<Output = ()>,
) {
    let http = site.state().config.http;
    let builder = Arc::new(builder(http));
    let places = Arc::new(Semaphore::new(places_of(http) as usize));
    let (stopping, stopped) = watch::channel(());
    tokio::pin!(stop);
    loop {
        let accepted = async {
            // No place, no accept: more connections wait in the kernel's queue.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                rest_after(&error).await;
                continue;
            }
        };
        let connection = connection::Connection {
            builder: Arc::clone(&builder),
            site: site.clone(),
            peer: Peer(peer),
            stopped: stopped.clone(),
            bounds: http,
        };
        let tls = tls.as_ref().map(Tls::acceptor);
        tokio::spawn(async move {
            connection.run(stream, tls).await;
            drop(place);
        });
    }
    drop(listener);
    tracing::info!("stopping; calls in flight may end");
    stopping.send_replace(());
    // When every place is free again, every connection has ended.
    let ended = places.acquire_many(places_of(http));
    if tokio::time::timeout(http.shutdown_timeout, ended).await.is_err() {
        tracing::warn!(after = ?http.shutdown_timeout, "calls still in flight were cut off");
    }
}

/// The number of headers beyond which hyper answers 431 by itself.
const HEADERS_OF_HYPER: usize = 100;

fn places_of(http: config::Http) -> u32 {
    u32::try_from(http.max_connections).unwrap_or(u32::MAX).clamp(1, 1 << 20)
}

fn builder(http: config::Http) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // How long a head may take is watched in `traffic.rs`.
    builder.http1().header_read_timeout(None).max_buf_size(http.max_header_bytes.max(8 * 1024));
    // For its own number hyper has room ready; for any other it makes some at every call.
    if http.max_headers != HEADERS_OF_HYPER {
        builder.http1().max_headers(http.max_headers);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .max_header_list_size(u32::try_from(http.max_header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(http.header_timeout)
        .keep_alive_timeout(http.header_timeout);
    builder
}

/// A connection that was lost before it was accepted is no matter; when the process has no file
/// handles left, trying again at once would only burn a core.
async fn rest_after(error: &io::Error) {
    let lost = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    );
    if !lost {
        tracing::error!(%error, "cannot accept a connection");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Answers at once instead of gathering small packets.
fn without_delay(stream: &TcpStream) {
    let _works_without = stream.set_nodelay(true);
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;
    use crate::http::test_service;

    #[tokio::test]
    async fn a_call_in_flight_ends_well_and_new_connections_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let site = test_service(folder.path()).await;
        let serving = tokio::spawn(serve(listener, None, site, async { drop(stopped.await) }));

        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(stop);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();

        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("done"), "{answer}");
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
