//! HTTPS, with HTTP/2 and certificate reload.

use std::sync::Arc;
use std::time::Instant;

use belfry::config::{Config, TlsSettings};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Server, TIMEOUT, read_until_closed};
use crate::support::ServerProcess;
use crate::support::files::write_certificate;
use crate::support::process::run_belfry;
use crate::support::service::config_with;

fn tls_config(dir: &TempDir) -> Config {
    config_with(|config| {
        config.tls = Some(TlsSettings {
            certificate: dir.path().join("certificate.pem"),
            key: dir.path().join("key.pem"),
        });
    })
}

async fn connect_tls(
    server: &Server,
    trusted_certificates: &[&CertificateDer<'static>],
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted_certificates {
        roots.add((*certificate).clone()).unwrap();
    }
    let mut client_config =
        ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    client_config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(client_config)).connect(name, server.connect().await).await
}

async fn is_healthy(stream: &mut TlsStream<TcpStream>) -> bool {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut response = [0; 1024];
    let length = stream.read(&mut response).await.unwrap();
    response[..length].starts_with(b"HTTP/1.1 200 OK")
}

#[tokio::test]
async fn https_is_served_from_a_certificate_and_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let certificate = write_certificate(dir.path(), "localhost");
    let server = Server::with_config(tls_config(&dir)).await;

    let mut stream = connect_tls(&server, &[&certificate], b"http/1.1").await.unwrap();
    assert!(is_healthy(&mut stream).await);
    let stream = connect_tls(&server, &[&certificate], b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
}

#[tokio::test]
async fn a_plain_http_connection_to_an_https_port_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    let server = Server::with_config(tls_config(&dir)).await;
    let response = server.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(!response.starts_with("HTTP/"), "{response}");
}

/// Returns a `ClientHello` of a protocol version before TLS 1.3, which a server with an ECDSA key
/// accepts unless the version is too old.
fn client_hello(version: [u8; 2]) -> Vec<u8> {
    let extensions = b"\x00\x0a\x00\x04\x00\x02\x00\x17\x00\x0d\x00\x04\x00\x02\x04\x03";
    // No session; ECDHE with ECDSA and AES in GCM or CBC mode; no compression.
    let ciphers = b"\x00\x00\x04\xc0\x2b\xc0\x09\x01\x00\x00\x10";
    let body = [&version[..], &[7; 32], ciphers, extensions].concat();
    let length = u8::try_from(body.len()).unwrap();
    [&[0x16, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat()
}

#[tokio::test]
async fn tls_before_1_2_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    let server = Server::with_config(tls_config(&dir)).await;
    let response_head = async |version: [u8; 2]| {
        let mut stream = server.connect().await;
        stream.write_all(&client_hello(version)).await.unwrap();
        let mut head = [0; 7];
        stream.read_exact(&mut head).await.unwrap();
        head
    };
    for version in [[3, 0], [3, 1], [3, 2]] {
        let [alert, .., level, description] = response_head(version).await;
        assert_eq!((alert, level, description), (21, 2, 70), "protocol_version: {version:?}");
    }
    let [handshake, ..] = response_head([3, 3]).await;
    assert_eq!(handshake, 22, "TLS 1.2 is accepted");
}

/// The beginning of a `ClientHello`, which announces more bytes.
const INCOMPLETE_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[tokio::test]
async fn a_handshake_does_not_delay_the_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    let mut config = tls_config(&dir);
    config.http.shutdown_timeout = TIMEOUT * 30;
    config.http.idle_timeout = TIMEOUT * 30;
    let server = Server::with_config(config).await;
    let mut incomplete_stream = server.connect().await;
    incomplete_stream.write_all(INCOMPLETE_HELLO).await.unwrap();
    // A connection accepted later is served, so the earlier connection is in its handshake by now.
    let _untrusted_error = connect_tls(&server, &[], b"http/1.1").await.unwrap_err();
    server.stop().await;
    assert_eq!(read_until_closed(&mut incomplete_stream).await, "");
}

#[tokio::test]
async fn a_new_certificate_is_used_without_dropping_connections() {
    let dir = tempfile::tempdir().unwrap();
    let old_certificate = write_certificate(dir.path(), "localhost");
    let server = Server::with_config(tls_config(&dir)).await;
    let mut open_stream = connect_tls(&server, &[&old_certificate], b"http/1.1").await.unwrap();
    assert!(is_healthy(&mut open_stream).await);

    // An unusable key does not replace the certificate.
    std::fs::write(dir.path().join("key.pem"), "not yet").unwrap();
    let new_certificate = write_certificate(dir.path(), "localhost");

    let start = Instant::now();
    let mut new_stream = loop {
        match connect_tls(&server, &[&new_certificate], b"http/1.1").await {
            Ok(stream) => break stream,
            Err(_) => assert!(start.elapsed() < TIMEOUT, "the old certificate is still in use"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert!(is_healthy(&mut new_stream).await);
    assert!(is_healthy(&mut open_stream).await, "the open connection still works");
}

#[tokio::test]
async fn the_binary_serves_https_and_prints_its_url() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    let flags = ["--tls-certificate", "certificate.pem", "--tls-key", "key.pem"];
    let server = ServerProcess::start(dir.path(), &flags);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
}

#[test]
fn an_unusable_certificate_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    std::fs::write(dir.path().join("other.pem"), "nothing").unwrap();
    for (certificate, key, expected) in [
        ("nowhere.pem", "key.pem", "tls.certificate: cannot use nowhere.pem: No such file"),
        ("other.pem", "key.pem", "tls.certificate: cannot use other.pem"),
        (
            "key.pem",
            "certificate.pem",
            "cannot use key.pem: it contains no certificate in PEM, but a private key: exchange",
        ),
        ("certificate.pem", "other.pem", "tls.key: cannot use other.pem"),
        ("certificate.pem", "", "BELFRY_"),
    ] {
        let mut flags = vec!["serve", "--listen", "127.0.0.1:0", "--tls-certificate", certificate];
        if !key.is_empty() {
            flags.extend(["--tls-key", key]);
        }
        let output = run_belfry(dir.path(), &flags);
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = if key.is_empty() { "tls.key is missing" } else { expected };
        assert!(message.contains(expected), "{message}");
    }
}
