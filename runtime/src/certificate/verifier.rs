//! Verification of the certificates that servers present to Belfry.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Returns the certificate authorities of the operating system, or those in `SSL_CERT_FILE`.
pub fn system_authorities() -> Result<RootCertStore, String> {
    let native_certs = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    authorities.add_parsable_certificates(native_certs.certs);
    if authorities.is_empty() {
        return Err(format!(
            "no certificate authorities found in the operating system ({:?}); install them (Debian: \
             ca-certificates), or name a file with SSL_CERT_FILE",
            native_certs.errors
        ));
    }
    Ok(authorities)
}

/// Accepts a certificate for any host name, for `sslmode=verify-ca` and for connections of commands
/// to the server on this machine. With authorities, the chain and its validity are verified;
/// without, every certificate is accepted, even an expired one. In both cases the server must prove
/// possession of the private key.
#[derive(Debug)]
pub struct AnyNameVerifier {
    /// The trusted authorities; `None` to accept every certificate.
    authorities: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyNameVerifier {
    /// Creates a verifier that trusts `authorities`, or every issuer without them.
    pub fn new(authorities: Option<RootCertStore>) -> Arc<Self> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        Arc::new(Self { authorities, algorithms })
    }
}

impl ServerCertVerifier for AnyNameVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(authorities) = &self.authorities {
            verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(end_entity)?,
                authorities,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
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
