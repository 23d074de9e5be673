//! A push service on 127.0.0.1 with a certificate for `push.example`, and clients that trust it.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_delivery::outbound::{OutboundClient, OutboundOptions};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

pub(crate) struct TestPushService {
    pub(crate) port: u16,
    pub(crate) authorities: RootCertStore,
    connections: Arc<AtomicUsize>,
}

/// The response of a [`TestPushService`] to a request.
pub(crate) type Respond = fn(&Request<Incoming>) -> Response<Full<Bytes>>;

impl TestPushService {
    /// Starts a server that speaks HTTP/2 and HTTP/1.1.
    pub(crate) async fn start(respond: Respond) -> Self {
        Self::start_with(
            &["h2", "http/1.1"],
            |_| {},
            move |stream| async move {
                let service =
                    service_fn(
                        move |request| async move { Ok::<_, Infallible>(respond(&request)) },
                    );
                let server = auto::Builder::new(TokioExecutor::new());
                drop(server.serve_connection(TokioIo::new(stream), service).await);
            },
        )
        .await
    }

    /// Starts a server that reads an HTTP/1.1 request and then sends these chunks, `interval`
    /// apart. It repeats the last one forever.
    pub(crate) async fn start_raw(chunks: &'static [&'static str], interval: Duration) -> Self {
        Self::start_with(
            &["http/1.1"],
            |_| {},
            move |mut stream| async move {
                let mut request = [0; 4096];
                drop(stream.read(&mut request).await);
                let last = chunks.last().into_iter().cycle();
                for chunk in chunks.iter().chain(last) {
                    if stream.write_all(chunk.as_bytes()).await.is_err() {
                        return;
                    }
                    drop(stream.flush().await);
                    if !interval.is_zero() {
                        tokio::time::sleep(interval).await;
                    }
                }
            },
        )
        .await
    }

    /// Starts a server that offers these ALPN protocols and calls `serve` for each connection. Its
    /// certificate is for `push.example` and its address, unless `change` modifies it.
    pub(crate) async fn start_with<F: Future<Output = ()> + Send>(
        protocols: &[&str],
        change: impl FnOnce(&mut CertificateParams),
        serve: impl Fn(TlsStream<TcpStream>) -> F + Copy + Send + Sync + 'static,
    ) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let names = vec!["push.example".to_owned(), LOOPBACK.to_string()];
        let mut certificate = CertificateParams::new(names).unwrap();
        change(&mut certificate);
        let key = KeyPair::generate().unwrap();
        let certificate = certificate.signed_by(&key, &authority).unwrap();
        let mut authorities = RootCertStore::empty();
        authorities.add(authority.der().clone()).unwrap();
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (port, connections) = accept(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream).await;
                }
            }
        })
        .await;
        Self { port, authorities, connections }
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns options that trust the server's authority, allow its network and resolve every name to
    /// its address.
    pub(crate) fn options(&self) -> OutboundOptions {
        let mut options = OutboundOptions::new(loopback_policy(), self.authorities.clone());
        options.resolve = Arc::new(|_| Ok(vec![LOOPBACK]));
        options
    }

    /// Returns a URL of the server by name.
    pub(crate) fn endpoint(&self) -> Endpoint {
        endpoint_at(self.port)
    }
}

/// Accepts connections on 127.0.0.1 and calls `serve` for each. Returns the port and the number of
/// connections so far.
pub(crate) async fn accept<F: Future<Output = ()> + Send>(
    serve: impl Fn(TcpStream) -> F + Clone + Send + Sync + 'static,
) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let serve = serve.clone();
            tokio::spawn(async move { serve(stream).await });
        }
    });
    (port, connections)
}

/// Returns a URL of `push.example` with this port.
pub(crate) fn endpoint_at(port: u16) -> Endpoint {
    let url = format!("https://push.example:{port}/send?a=b");
    Endpoint::parse(&url, &loopback_policy()).unwrap()
}

/// Returns a policy that allows 127.0.0.0/8.
pub(crate) fn loopback_policy() -> PushAddressPolicy {
    PushAddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()])
}

pub(crate) async fn post(
    options: &OutboundOptions,
    endpoint: &Endpoint,
) -> Result<Response<Bytes>, AttemptError> {
    let client = OutboundClient::new(options.clone());
    client.post(endpoint, HeaderMap::new(), Bytes::from_static(b"message"), false).await
}
