//! HTTPS: from files, with HTTP/2, and with new files while connections are open.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use belfry::config::{Config, Tls};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Listening, PATIENCE, SHORT, until_closed};
use crate::support::Process;
use crate::support::process::run;
use crate::support::service::config;

/// Writes a new certificate for localhost and its key, and gives the certificate.
fn write_certificate(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
    made.cert.der().clone()
}

fn secure(folder: &TempDir) -> Config {
    config(|config| {
        config.tls = Some(Tls {
            certificate: folder.path().join("certificate.pem"),
            key: folder.path().join("key.pem"),
        });
    })
}

/// Connects, trusting only these certificates.
async fn connect(
    server: &Listening,
    trusted: &[&CertificateDer<'static>],
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add((*certificate).clone()).unwrap();
    }
    let mut client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(client)).connect(name, server.connect().await).await
}

async fn healthy(stream: &mut TlsStream<TcpStream>) -> bool {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).await.unwrap();
    answer[..length].starts_with(b"HTTP/1.1 200 OK")
}

#[tokio::test]
async fn https_is_served_from_a_certificate_and_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = write_certificate(folder.path());
    let server = Listening::with(secure(&folder)).await;

    let mut stream = connect(&server, &[&certificate], b"http/1.1").await.unwrap();
    assert!(healthy(&mut stream).await);
    let stream = connect(&server, &[&certificate], b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
}

#[tokio::test]
async fn plain_http_to_an_https_port_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let server = Listening::with(secure(&folder)).await;
    let answer = server.say(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(!answer.starts_with("HTTP/"), "{answer}");
}

/// The begin of a client's first message, which says that more is to come.
const HALF_A_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

/// Attack 138.
#[tokio::test]
async fn a_handshake_that_is_not_finished_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let mut config = secure(&folder);
    config.http.idle_timeout = SHORT;
    let server = Listening::with(config).await;
    for begin in [&b""[..], b"\x16", HALF_A_HELLO] {
        assert_eq!(server.say(begin).await, "", "{begin:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_does_not_delay_the_end() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let mut config = secure(&folder);
    config.http.shutdown_timeout = PATIENCE * 30;
    config.http.idle_timeout = PATIENCE * 30;
    let server = Listening::with(config).await;
    let mut half = server.connect().await;
    half.write_all(HALF_A_HELLO).await.unwrap();
    // One that was accepted later is served, so that the first is in its handshake by now.
    let _refused = connect(&server, &[], b"http/1.1").await.unwrap_err();
    server.stop().await;
    assert_eq!(until_closed(&mut half).await, "");
}

#[tokio::test]
async fn a_new_certificate_is_used_without_dropping_connections() {
    let folder = tempfile::tempdir().unwrap();
    let old = write_certificate(folder.path());
    let server = Listening::with(secure(&folder)).await;
    let mut open = connect(&server, &[&old], b"http/1.1").await.unwrap();
    assert!(healthy(&mut open).await);

    // Half a change is no change.
    std::fs::write(folder.path().join("key.pem"), "not yet").unwrap();
    let new = write_certificate(folder.path());

    let began = Instant::now();
    let mut fresh = loop {
        match connect(&server, &[&new], b"http/1.1").await {
            Ok(stream) => break stream,
            Err(_) => assert!(began.elapsed() < PATIENCE, "the old one is still in use"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert!(healthy(&mut fresh).await);
    assert!(healthy(&mut open).await, "the connection from before is still good");
}

#[tokio::test]
async fn the_binary_serves_https_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let flags = ["--tls-certificate", "certificate.pem", "--tls-key", "key.pem"];
    let server = Process::start(folder.path(), &flags);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    std::fs::write(folder.path().join("other.pem"), "nothing").unwrap();
    for (certificate, key, named) in [
        ("nowhere.pem", "key.pem", "cannot use nowhere.pem for TLS"),
        ("other.pem", "key.pem", "cannot use other.pem for TLS"),
        ("certificate.pem", "other.pem", "cannot use other.pem for TLS"),
        ("certificate.pem", "", "BELFRY_"),
    ] {
        let mut flags = vec!["serve", "--listen", "127.0.0.1:0", "--tls-certificate", certificate];
        if !key.is_empty() {
            flags.extend(["--tls-key", key]);
        }
        let output = run(folder.path(), &flags);
        let message = String::from_utf8(output.stderr).unwrap();
        let named = if key.is_empty() { "a certificate and a key are needed" } else { named };
        assert!(message.contains(named), "{message}");
    }
}
