//! A push service that responds over TLS after a delay, for the delivery rows of `cargo xtask bench`.
//! Its second, plain listener returns the origin and the counts.

use std::collections::HashSet;
use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Accepts every Web Push message after a delay
#[derive(Debug, Parser)]
struct Arguments {
    /// Milliseconds until a response
    #[arg(long)]
    delay_ms: u64,
    /// Refuse the messages beyond this number in flight, with status 429
    #[arg(long, default_value_t = usize::MAX)]
    max_in_flight: usize,
    /// Speak only HTTP/1.1
    #[arg(long)]
    http1: bool,
    /// File to which the certificate of the authority is written
    #[arg(long)]
    authority_file: PathBuf,
}

/// The messages since the counts were last requested.
#[derive(Default)]
struct Counts {
    accepted: usize,
    refused: usize,
    /// The paths of the accepted messages, each of which is a device.
    devices: HashSet<String>,
}

struct PushService {
    delay: Duration,
    max_in_flight: usize,
    in_flight: AtomicUsize,
    counts: Mutex<Counts>,
}

impl PushService {
    async fn respond(&self, request: Request<Incoming>) -> StatusCode {
        let device = request.uri().path().to_owned();
        // Reads the body, as every real handler does. A client may close the connection.
        let _ = request.into_body().collect().await;
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst);
        let status = if in_flight < self.max_in_flight {
            tokio::time::sleep(self.delay).await;
            StatusCode::CREATED
        } else {
            StatusCode::TOO_MANY_REQUESTS
        };
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if status.is_success() {
            counts.accepted += 1;
            counts.devices.insert(device);
        } else {
            counts.refused += 1;
        }
        status
    }

    /// Returns the counts as three numbers, and restarts them.
    fn take_counts(&self) -> String {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { accepted, refused, devices } = std::mem::take(&mut *counts);
        format!("{accepted} {} {refused}", devices.len())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { delay_ms, max_in_flight, http1, authority_file } = Arguments::parse();
    let protocols: &[&str] = if http1 { &["http/1.1"] } else { &["h2"] };
    let (config, authority) = create_certificates(protocols)?;
    fs::write(authority_file, authority)?;
    let service = Arc::new(PushService {
        delay: Duration::from_millis(delay_ms),
        max_in_flight,
        in_flight: AtomicUsize::default(),
        counts: Mutex::default(),
    });
    let listener = TcpListener::bind((LOOPBACK, 0)).await?;
    let origin = format!("https://{}", listener.local_addr()?);
    tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&service)));

    let router = Router::new()
        .route("/origin", axum::routing::get(async move || origin))
        .route("/counts", axum::routing::get(async move || service.take_counts()));
    let listener = TcpListener::bind((LOOPBACK, 0)).await?;
    println!("push_service listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

/// Creates a certificate for 127.0.0.1. Returns the TLS configuration, and the certificate of the
/// authority in PEM format.
fn create_certificates(protocols: &[&str]) -> Result<(ServerConfig, String), Box<dyn Error>> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "bench authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate =
        CertificateParams::new(vec![LOOPBACK.to_string()])?.signed_by(&key, &authority)?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(
        vec![certificate.der().clone()],
        PrivateKeyDer::try_from(key.serialize_der())?,
    )?;
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok((config, authority.pem()))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, push_service: Arc<PushService>) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let push_service = Arc::clone(&push_service);
        tokio::spawn(async move {
            drop(stream.set_nodelay(true));
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| {
                let push_service = Arc::clone(&push_service);
                async move {
                    let mut response = Response::new(Full::<Bytes>::default());
                    *response.status_mut() = push_service.respond(request).await;
                    Ok::<_, Infallible>(response)
                }
            });
            // A closed connection is not an error.
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
