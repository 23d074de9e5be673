//! TLS of all connections to PostgreSQL: those of the pool, the listening one and cancel requests.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::database::{TlsParameters, Verification};

/// The connector for these parameters; without them it is not used.
pub(super) fn connector(parameters: Option<&TlsParameters>) -> Result<MakeRustlsConnect, String> {
    let Some(TlsParameters { verification, roots, client }) = parameters else {
        let unused = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
        return Ok(MakeRustlsConnect::new(unused.with_no_client_auth()));
    };
    let roots = match roots {
        Some(path) => read_roots(path).map_err(|error| format!("sslrootcert: {error}"))?,
        None => system_roots()?,
    };
    let builder = ClientConfig::builder();
    let builder = match verification {
        Verification::IssuerAndName => builder.with_root_certificates(roots),
        Verification::Issuer => {
            let algorithms = ring::default_provider().signature_verification_algorithms;
            let verifier = IssuerVerifier { roots, algorithms };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let config = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let chain = read_certificates(&client.certificate)
                .map_err(|error| format!("sslcert: {error}"))?;
            let failed =
                |error: &dyn Error| format!("sslkey: cannot use {}: {error}", client.key.display());
            let key = PrivateKeyDer::from_pem_file(&client.key).map_err(|error| failed(&error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| failed(&error))?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The certificate authorities of the operating system, or those in `SSL_CERT_FILE`.
fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(format!(
            "no root certificates found in the operating system; name them with sslrootcert ({:?})",
            found.errors
        ));
    }
    Ok(roots)
}

fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots.add(certificate).map_err(|error| cannot_use(path, &error))?;
    }
    Ok(roots)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| cannot_use(path, &error))?;
    if certificates.is_empty() {
        return Err(format!("{} contains no certificate", path.display()));
    }
    Ok(certificates)
}

fn cannot_use(path: &Path, error: &dyn Error) -> String {
    format!("cannot use {}: {error}", path.display())
}

/// Verifies that a certificate was issued by one of the authorities, for any host name
/// (`sslmode=verify-ca`).
#[derive(Debug)]
struct IssuerVerifier {
    roots: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for IssuerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            algorithms,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// What to do about a certificate that was rejected.
pub(super) fn advice(error: &tokio_postgres::Error) -> Option<&'static str> {
    let rejected =
        successors(Some(error as &dyn Error), |error| (*error).source()).find_map(|error| {
            let tls =
                error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
            match tls {
                rustls::Error::InvalidCertificate(reason) => Some(reason.clone()),
                _ => None,
            }
        })?;
    match rejected {
        // Another authority, of another or of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Some(
            "name the certificate authority that issued the server's certificate with \
             sslrootcert=PATH in the URL",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Some("use a host name of the certificate in the URL, or sslmode=verify-ca")
        }
        _ => None,
    }
}
