//! The HTTP client for URLs that users choose, such as the push services of their devices.
//!
//! A message goes only to an address that the [`PushAddressPolicy`] allows. The addresses of a name
//! are checked for each connection. If one of them is forbidden, the name is rejected; otherwise, the
//! connection goes to one of the addresses that were checked. The client follows no redirects, uses
//! no proxy, and limits the duration and the size of a response.

mod connections;
mod connector;
mod lookup;
mod origin;
mod shared_map;

use std::array;
use std::error::Error;
use std::io;
use std::iter::successors;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::{Endpoint, EndpointOrigin};
use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper_util::client::legacy::{Client, Error as HttpError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use tokio::time::{Instant, timeout_at};

use self::connector::{ConnectOptions, ConnectionDetails, Connector};
use self::lookup::Lookups;
pub use self::origin::MAX_HTTP1_IN_FLIGHT;
use self::origin::{CLIENTS, Origin, Slot};
use self::shared_map::SharedMap;

/// Maximum time from the start of a request to the last byte of its response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to look up a host, connect to it and complete the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(7);
/// Maximum size of a response's headers, in bytes.
const MAX_HEADER_BYTES: u16 = 16 * 1024;
/// Maximum size of a response's body, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two pings on an HTTP/2 connection in use. Without them, a connection that a
/// router has dropped would be used until each message times out.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time for the response to a ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections. When half of them are open, new ones are closed after their first
/// request.
pub const MAX_CONNECTIONS: usize = 4096;

type HttpClient = Client<Connector, Full<Bytes>>;

/// A function that returns the addresses of a name. It may block.
pub type Resolve = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

#[derive(Clone)]
pub struct OutboundOptions {
    /// The addresses to which messages may be sent.
    pub address_policy: PushAddressPolicy,
    pub authorities: Arc<RootCertStore>,
    /// Maximum time from the start of a request to the last byte of its response.
    pub timeout: Duration,
    /// Maximum time from the start of a request until it has a connection.
    pub connect_timeout: Duration,
    pub resolve: Resolve,
    /// Maximum number of connections. Further ones wait for one of them to end.
    pub max_connections: usize,
}

impl OutboundOptions {
    /// Returns options with the usual timeout and the operating system's resolver.
    pub fn new(address_policy: PushAddressPolicy, authorities: RootCertStore) -> Self {
        let resolve: Resolve = Arc::new(|name| {
            let addresses = (name, 0).to_socket_addrs()?;
            Ok(addresses.map(|address| address.ip()).collect())
        });
        Self {
            address_policy,
            authorities: Arc::new(authorities),
            timeout: TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            resolve,
            max_connections: MAX_CONNECTIONS,
        }
    }
}

/// An HTTP client that sends messages to endpoints. Connections are shared by origin.
pub struct OutboundClient {
    http: [HttpClient; CLIENTS],
    origins: SharedMap<EndpointOrigin, Origin>,
    lookups: Lookups,
    timeout: Duration,
    connect_timeout: Duration,
}

impl OutboundClient {
    /// Creates a client. It must be used in a tokio runtime.
    pub fn new(options: OutboundOptions) -> Self {
        let OutboundOptions { timeout, connect_timeout, .. } = options;
        let connector = Connector::new(options);
        let lookups = connector.lookups.clone();
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_HTTP1_IN_FLIGHT)
            .http1_max_buf_size(MAX_HEADER_BYTES.into())
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .http2_max_header_list_size(MAX_HEADER_BYTES.into())
            .http2_initial_stream_window_size(u32::from(u16::MAX))
            .http2_initial_connection_window_size(1024 * 1024);
        let http = array::from_fn(|_| builder.build(connector.clone()));
        Self { http, origins: SharedMap::default(), lookups, timeout, connect_timeout }
    }

    /// Posts a message and returns the response, whose version is that of the connection. Its body
    /// is empty if it is too large or not complete in time. A redirect is returned, not followed.
    /// `is_proven` says whether the origin has accepted a message before.
    pub async fn post(
        &self,
        endpoint: &Endpoint,
        headers: HeaderMap,
        body: Bytes,
        is_proven: bool,
    ) -> Result<Response<Bytes>, AttemptError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() =
            endpoint.url().as_str().parse().map_err(|_| AttemptError::ForbiddenAddress)?;
        *request.headers_mut() = headers;
        let start = Instant::now();
        let deadline = start + self.timeout;
        let options = ConnectOptions { is_proven, deadline: start + self.connect_timeout };
        let slot = Slot::new(self.origins.get(endpoint.origin().clone()))?;
        let response = timeout_at(deadline, slot.send(&self.http, request, options)).await;
        let (head, body) = response.map_err(|_| AttemptError::Timeout)??.into_parts();
        if let Some(connection) = head.extensions.get::<ConnectionDetails>() {
            connection.read_budget.restart();
            if head.status.is_success() {
                connection.network.set_proven();
            }
        }
        // The status says whether the message was accepted. If an unreadable body made the attempt
        // fail, the message would be sent twice.
        let body = timeout_at(deadline, Limited::new(body, MAX_BODY_BYTES).collect()).await;
        let body = body.map(|result| result.map(Collected::to_bytes).unwrap_or_default());
        Ok(Response::from_parts(head, body.unwrap_or_default()))
    }

    /// Waits until no lookup of this name runs. A lookup cannot be cancelled, so it may take longer
    /// than its request.
    pub async fn lookup_ended(&self, host: &str) {
        self.lookups.ended(host).await;
    }
}

/// Finds the reason among the causes of an HTTP client error.
fn classify(error: &HttpError) -> AttemptError {
    let causes = || successors(Some(error as &(dyn Error + 'static)), |error| (*error).source());
    let is_refusal = |error: &h2::Error| {
        // A GOAWAY frame is the error of only those streams that the server has not processed.
        error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM))
    };
    if let Some(error) = causes().find_map(|cause| cause.downcast_ref::<AttemptError>()) {
        error.clone()
    } else if causes().filter_map(|cause| cause.downcast_ref()).any(is_refusal) {
        AttemptError::StreamRefused
    } else {
        AttemptError::Protocol
    }
}
