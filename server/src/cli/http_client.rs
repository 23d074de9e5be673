//! An HTTP client for commands: GET requests, such as a health check of the running server.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use belfry_runtime::certificate::rejection;
use belfry_runtime::certificate::verifier::{AnyNameVerifier, system_authorities};

/// Maximum time for a request. A readiness check waits for the database for up to two seconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response body, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Verification of an HTTPS server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CertificateCheck {
    /// Verification with the certificate authorities of the operating system, for the host of the
    /// URL.
    Authorities,
    /// No verification, for the server on this machine, whose certificate has its public name.
    None,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub status: StatusCode,
    /// The body, with invalid UTF-8 replaced.
    pub body: String,
    pub location: Option<String>,
    pub local_address: SocketAddr,
}

/// Sends a GET request with these headers, without following redirects.
pub(super) async fn get(
    url: &Url,
    certificate_check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, String> {
    let response = timeout(TIMEOUT, get_without_timeout(url, certificate_check, headers)).await;
    response.unwrap_or_else(|_| Err(format!("no response within {TIMEOUT:?}")))
}

async fn get_without_timeout(
    url: &Url,
    certificate_check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, String> {
    let (Some(host), Some(port), "http" | "https") =
        (url.host_str(), url.port_or_known_default(), url.scheme())
    else {
        return Err("the URL must begin with http:// or https://, and have a host".to_owned());
    };
    let host = host.trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("connection refused: nothing listens on {host} port {port}")
        }
        _ => format_error_chain(&error),
    })?;
    let local_address = stream.local_addr().map_err(|error| format_error_chain(&error))?;
    if url.scheme() == "http" {
        return get_over_stream(url, headers, stream, local_address).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format_error_chain(&error))?;
    let connector = TlsConnector::from(Arc::new(build_client_config(certificate_check)?));
    let stream =
        connector.connect(name, stream).await.map_err(|error| describe_tls_error(&error))?;
    get_over_stream(url, headers, stream, local_address).await
}

fn describe_tls_error(error: &io::Error) -> String {
    if let Some(reason) = rejection::find_certificate_error(error) {
        return format!("its certificate {}", rejection::describe(&reason));
    }
    match rejection::find_tls_error(error) {
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not respond with TLS; probably it serves plain HTTP".to_owned()
        }
        _ => format_error_chain(error),
    }
}

/// Sends the request on a new connection and reads the response.
async fn get_over_stream<S>(
    url: &Url,
    headers: &[(&str, &str)],
    stream: S,
    local_address: SocketAddr,
) -> Result<Response, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let describe_error = |error: hyper::Error| {
        let reason = format_error_chain(&error);
        if url.scheme() == "http" && (error.is_parse() || error.is_incomplete_message()) {
            return format!("it does not respond with HTTP; probably it serves HTTPS ({reason})");
        }
        reason
    };
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(describe_error)?;
    tokio::spawn(connection);
    let mut request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(header::HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(header::USER_AGENT, concat!("belfry/", env!("CARGO_PKG_VERSION")));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request =
        request.body(Empty::<Bytes>::new()).map_err(|error| format_error_chain(&error))?;
    let response = sender.send_request(request).await.map_err(describe_error)?;
    let status = response.status();
    let location = response
        .headers()
        .get(header::LOCATION)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let bytes = Limited::new(response.into_body(), MAX_BODY_BYTES)
        .collect()
        .await
        .map_err(|error| format_error_chain(&*error))?
        .to_bytes();
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Response { status, body, location, local_address })
}

fn build_client_config(certificate_check: CertificateCheck) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder();
    let with_verifier = match certificate_check {
        CertificateCheck::Authorities => builder.with_root_certificates(system_authorities()?),
        CertificateCheck::None => {
            builder.dangerous().with_custom_certificate_verifier(AnyNameVerifier::new(None))
        }
    };
    Ok(with_verifier.with_no_client_auth())
}

/// Returns the message of an error, followed by those of its causes.
fn format_error_chain(error: &(dyn Error + 'static)) -> String {
    let mut messages: Vec<String> =
        successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect();
    // Some errors repeat their cause.
    messages.dedup_by(|cause, error| error.ends_with(cause.as_str()));
    messages.join(": ")
}
