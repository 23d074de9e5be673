//! The HTTP client for URLs that users choose, such as the push services of their devices.
//!
//! A message goes only to an address that the [`PushAddressPolicy`] allows. A name is resolved once
//! for each connection. If one of its addresses is forbidden, the name is rejected; otherwise, the
//! connection goes to one of the addresses that were checked. The client follows no redirects, uses
//! no proxy, and limits the duration and the size of a response.

mod connector;
mod lookup;

use std::error::Error;
use std::io;
use std::iter::successors;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use tokio::time::{Instant, timeout_at};

use self::connector::{Connector, ReadBudget};
use self::lookup::Lookups;

/// Maximum time from the start of a request to the last byte of its response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response's headers, in bytes.
const MAX_HEADER_BYTES: u16 = 16 * 1024;
/// Maximum size of a response's body, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between two pings on an HTTP/2 connection in use. Without them, a connection that a
/// router has dropped would be used until each message times out.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time for the response to a ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections. When half of them are open, new ones are closed after their first
/// request.
pub const MAX_CONNECTIONS: usize = 4096;
/// Maximum number of unused HTTP/1.1 connections to an origin.
pub(crate) const MAX_IDLE_CONNECTIONS: usize = 64;

/// A function that returns the addresses of a name. It may block.
pub type Resolve = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

#[derive(Clone)]
pub struct OutboundOptions {
    /// The addresses to which messages may be sent.
    pub address_policy: PushAddressPolicy,
    pub authorities: Arc<RootCertStore>,
    /// Maximum time from the start of a request to the last byte of its response, and to establish
    /// a connection.
    pub timeout: Duration,
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
            resolve,
            max_connections: MAX_CONNECTIONS,
        }
    }
}

/// An HTTP client that sends messages to endpoints. Connections are shared by origin.
pub struct OutboundClient {
    http: Client<Connector, Full<Bytes>>,
    lookups: Lookups,
    timeout: Duration,
}

impl OutboundClient {
    /// Creates a client. It must be used in a tokio runtime.
    pub fn new(options: OutboundOptions) -> Self {
        let timeout = options.timeout;
        let connector = Connector::new(options);
        let lookups = connector.lookups.clone();
        let http = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .http1_max_buf_size(MAX_HEADER_BYTES.into())
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .http2_max_header_list_size(MAX_HEADER_BYTES.into())
            .http2_initial_stream_window_size(u32::from(u16::MAX))
            .http2_initial_connection_window_size(1024 * 1024)
            .build(connector);
        Self { http, lookups, timeout }
    }

    /// Posts a message and returns the response. Its body is empty if it is too large or not
    /// complete in time. A redirect is returned, not followed. `is_proven` says whether the origin
    /// has accepted a message before.
    pub async fn post(
        &self,
        endpoint: &Endpoint,
        headers: HeaderMap,
        body: Bytes,
        _is_proven: bool,
    ) -> Result<Response<Bytes>, AttemptError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() =
            endpoint.url().as_str().parse().map_err(|_| AttemptError::ForbiddenAddress)?;
        *request.headers_mut() = headers;
        let deadline = Instant::now() + self.timeout;
        let response = timeout_at(deadline, self.http.request(request)).await;
        let response = response.map_err(|_| AttemptError::Timeout)?;
        let (head, body) = response.map_err(|error| classify(&error))?.into_parts();
        if let Some(read_budget) = head.extensions.get::<ReadBudget>() {
            read_budget.restart();
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
fn classify(error: &(dyn Error + 'static)) -> AttemptError {
    let mut causes = successors(Some(error), |error| (*error).source());
    causes.find_map(|cause| cause.downcast_ref().cloned()).unwrap_or(AttemptError::Protocol)
}
