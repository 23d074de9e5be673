//! The requests to an origin that are in flight, and the HTTP client that sends each of them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::push::attempt_error::AttemptError;
use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{Connected, capture_connection};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::connector::{CONNECT_OPTIONS, ConnectOptions, ConnectionDetails};
use super::{HttpClient, classify};

/// Number of HTTP clients. Each opens one HTTP/2 connection to an origin.
pub(super) const CLIENTS: usize = 11;
/// Maximum number of requests in flight on an HTTP/2 connection. Most servers permit this number.
const MAX_STREAMS: usize = 100;
/// Maximum number of an origin's requests in flight if each needs its own connection. They use a
/// single HTTP client.
pub const MAX_HTTP1_IN_FLIGHT: usize = 128;

/// Contains the last failure to connect, and its time.
type ConnectLock = Arc<Mutex<Option<(Instant, AttemptError)>>>;

/// The requests to an origin.
#[derive(Default)]
pub(super) struct Origin {
    /// For each HTTP client, a lock which is held while a request gets a connection. Each request
    /// in flight has a clone.
    locks: [ConnectLock; CLIENTS],
    /// True if the newest connection serves one request at a time: with HTTP/1.1, or if it must be
    /// closed after its first request.
    is_without_streams: AtomicBool,
}

/// A request in flight.
pub(super) struct Slot {
    origin: Arc<Origin>,
    client: usize,
    lock: ConnectLock,
}

impl Slot {
    /// Selects the first HTTP client that may send a further request, so that few connections are
    /// used. Returns an error if there is none.
    pub(super) fn new(origin: Arc<Origin>) -> Result<Self, AttemptError> {
        let (clients, max) = if origin.is_without_streams.load(Ordering::Relaxed) {
            (1, MAX_HTTP1_IN_FLIGHT)
        } else {
            (CLIENTS, MAX_STREAMS)
        };
        let mut locks = origin.locks[..clients].iter();
        let client = locks.position(|lock| Arc::strong_count(lock) <= max);
        let client = client.ok_or(AttemptError::Busy)?;
        let lock = Arc::clone(&origin.locks[client]);
        Ok(Self { origin, client, lock })
    }

    /// Sends a request. If it opens an HTTP/2 connection, the other requests of the HTTP client wait
    /// for this connection, or fail with it. Otherwise, each of them would open one.
    pub(super) async fn send(
        &self,
        clients: &[HttpClient],
        mut request: Request<Full<Bytes>>,
        options: ConnectOptions,
    ) -> Result<Response<Incoming>, AttemptError> {
        let is_without_streams = &self.origin.is_without_streams;
        let mut connection = capture_connection(&mut request);
        let response = clients[self.client].request(request);
        let mut response = pin!(CONNECT_OPTIONS.scope(options, response));
        let start = Instant::now();
        let lock = timeout_at(options.deadline, self.lock.lock()).await;
        let lock = lock.map_err(|_| AttemptError::Busy)?;
        match &*lock {
            Some((time, error)) if *time > start => return Err(error.clone()),
            _ => {}
        }
        let lock = (!is_without_streams.load(Ordering::Relaxed)).then_some(lock);
        tokio::select! {
            biased;
            response = &mut response => {
                if let (Err(error), Some(mut lock)) = (&response, lock) && error.is_connect() {
                    *lock = Some((Instant::now(), classify(error)));
                }
                return response.map_err(|error| classify(&error));
            }
            connected = connection.wait_for_connection_metadata() => {
                if let Some(connected) = connected.as_ref() {
                    is_without_streams.store(!has_streams(connected), Ordering::Relaxed);
                }
            }
        }
        drop(lock);
        response.await.map_err(|error| classify(&error))
    }
}

/// Returns whether a connection serves several requests concurrently.
fn has_streams(connected: &Connected) -> bool {
    let mut extensions = Extensions::new();
    connected.get_extras(&mut extensions);
    extensions.get::<ConnectionDetails>().is_some_and(|details| details.has_streams)
}
