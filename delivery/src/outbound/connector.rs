//! Connections to allowed addresses.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belfry_core::push::address::{PushAddressPolicy, Scheme};
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_runtime::certificate::rejection;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use tower_service::Service;

use super::OutboundOptions;
use super::connections::{ConnectionPermit, Connections, NetworkConnections};
use super::lookup::Lookups;

/// Maximum time to connect to one address of a host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of addresses of a host that are tried, one after the other.
const MAX_ADDRESSES: usize = 3;
/// Maximum number of bytes that a connection reads between the beginnings of two responses. Far
/// more than the responses of a push service to concurrent messages.
const MAX_READ_BYTES: usize = 256 * 1024;

tokio::task_local! {
    /// How the request that this task polls may connect.
    pub(super) static CONNECT_OPTIONS: ConnectOptions;
}

#[derive(Clone, Copy)]
pub(super) struct ConnectOptions {
    /// Whether the origin has accepted a message before.
    pub(super) is_proven: bool,
    /// The end of the time to look up a host, connect to it and complete the TLS handshake.
    pub(super) deadline: Instant,
}

/// Connects to the host of a URL, if all its addresses are allowed.
#[derive(Clone)]
pub(super) struct Connector {
    address_policy: PushAddressPolicy,
    pub(super) lookups: Lookups,
    tls: TlsConnector,
    connections: Connections,
}

impl Connector {
    pub(super) fn new(options: OutboundOptions) -> Self {
        let OutboundOptions { address_policy, authorities, resolve, max_connections, .. } = options;
        let mut tls =
            ClientConfig::builder().with_root_certificates(authorities).with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls = TlsConnector::from(Arc::new(tls));
        let lookups = Lookups::new(resolve);
        let connections = Connections::new(max_connections);
        Self { address_policy, lookups, tls, connections }
    }

    /// Connects to a host. `phase` is always the error to report if it takes too long.
    async fn connect(
        self,
        uri: Uri,
        is_proven: bool,
        phase: &mut AttemptError,
    ) -> Result<TokioIo<OutboundStream>, AttemptError> {
        // Checked again here, so that no caller can bypass the policy.
        let endpoint = Endpoint::parse(&uri.to_string(), &self.address_policy)
            .map_err(|_| AttemptError::ForbiddenAddress)?;
        let origin = endpoint.origin();
        let addresses = match origin.address() {
            Some(address) => Arc::from([address]),
            None => self.lookups.addresses(&origin.host.to_string(), is_proven, phase).await?,
        };
        // One forbidden address rejects them all, because the host decides which of them accepts
        // the connection.
        if !addresses.iter().all(|address| self.address_policy.allows(origin.scheme, *address)) {
            return Err(AttemptError::ForbiddenAddress);
        }
        let (stream, permit) = self.connect_to_first(&addresses, origin.port, phase).await?;
        if origin.scheme == Scheme::Http {
            return Ok(OutboundStream::new(Either::Left(stream), permit));
        }
        let name = match origin.address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(origin.host.to_string())
                .map_err(|_| AttemptError::ForbiddenAddress)?,
        };
        *phase = AttemptError::Tls;
        let stream = self.tls.connect(name, stream).await.map_err(|error| {
            let certificate_error = rejection::find_certificate_error(&error);
            certificate_error.map_or(AttemptError::Tls, |_| AttemptError::Certificate)
        })?;
        Ok(OutboundStream::new(Either::Right(stream), permit))
    }

    /// Connects to the first address that accepts connections. Waits while there are too many
    /// connections.
    async fn connect_to_first(
        &self,
        addresses: &[IpAddr],
        port: u16,
        phase: &mut AttemptError,
    ) -> Result<(TcpStream, ConnectionPermit), AttemptError> {
        for address in addresses.iter().take(MAX_ADDRESSES) {
            *phase = AttemptError::Busy;
            let permit = self.connections.acquire(*address).await;
            *phase = AttemptError::Refused;
            let connect = TcpStream::connect((*address, port));
            if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, connect).await {
                // With Nagle's algorithm, the second segment of a small request would wait for an
                // acknowledgement. If it cannot be turned off, the connection is only slower.
                drop(stream.set_nodelay(true));
                return Ok((stream, permit));
            }
        }
        Err(AttemptError::Refused)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<OutboundStream>;
    type Error = AttemptError;
    type Future = BoxFuture<'static, Result<TokioIo<OutboundStream>, AttemptError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let ConnectOptions { is_proven, deadline } = CONNECT_OPTIONS.get();
        let connector = self.clone();
        // The timeout of the request is not enough: if a pooled connection becomes available first,
        // the HTTP client finishes this one in the background.
        let connect = async move {
            let mut phase = AttemptError::Busy;
            let stream = timeout_at(deadline, connector.connect(uri, is_proven, &mut phase)).await;
            stream.unwrap_or(Err(phase))
        };
        connect.boxed()
    }
}

/// Counts the bytes that a connection has read since its last response began, so that a server
/// cannot keep this process busy with frames that belong to no response.
#[derive(Clone, Default)]
pub(super) struct ReadBudget(Arc<AtomicUsize>);

impl ReadBudget {
    /// Starts counting again.
    pub(super) fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Counts received bytes. It is an error if there are too many of them.
    fn record(&self, bytes: usize) -> io::Result<()> {
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_READ_BYTES {
            return Err(io::Error::other("the server sends too much without a response"));
        }
        Ok(())
    }
}

/// The properties of a connection, which are in the extensions of its responses.
#[derive(Clone)]
pub(super) struct ConnectionDetails {
    /// Whether it serves several requests concurrently.
    pub(super) has_streams: bool,
    pub(super) read_budget: ReadBudget,
    pub(super) network: Arc<NetworkConnections>,
}

/// A connection with or without TLS.
pub(super) struct OutboundStream {
    stream: Either<TcpStream, TlsStream<TcpStream>>,
    read_budget: ReadBudget,
    permit: ConnectionPermit,
}

impl OutboundStream {
    fn new(
        stream: Either<TcpStream, TlsStream<TcpStream>>,
        permit: ConnectionPermit,
    ) -> TokioIo<Self> {
        TokioIo::new(Self { stream, read_budget: ReadBudget::default(), permit })
    }
}

impl Connection for OutboundStream {
    fn connected(&self) -> Connected {
        let is_http2 = match &self.stream {
            Either::Left(_) => false,
            Either::Right(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        };
        let ConnectionPermit { network, is_reusable, .. } = &self.permit;
        let connected = Connected::new().extra(ConnectionDetails {
            has_streams: is_http2 && *is_reusable,
            read_budget: self.read_budget.clone(),
            network: Arc::clone(network),
        });
        if !is_reusable {
            connected.poison();
        }
        if is_http2 { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for OutboundStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.read_budget.record(buffer.filled().len() - filled_before))
    }
}

impl AsyncWrite for OutboundStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
