//! TLS for all connections to PostgreSQL: pooled ones, the listening one and cancel requests.

use std::error::Error;
use std::path::Path;

use belfry_runtime::certificate::rejection;
use belfry_runtime::certificate::verifier::{AnyNameVerifier, system_authorities};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::engine::database::{TlsParameters, Verification};

/// Returns the TLS connector for these parameters. Without parameters, returns a placeholder that
/// is never used.
pub(super) fn build_connector(
    parameters: Option<&TlsParameters>,
) -> Result<MakeRustlsConnect, String> {
    let Some(TlsParameters { verification, roots, client }) = parameters else {
        let placeholder = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
        return Ok(MakeRustlsConnect::new(placeholder.with_no_client_auth()));
    };
    let roots = match roots {
        Some(path) => read_roots(path).map_err(|error| format!("sslrootcert: {error}"))?,
        None => system_authorities().map_err(|error| format!("{error} or with sslrootcert"))?,
    };
    let builder = ClientConfig::builder();
    let verified_builder = match verification {
        Verification::IssuerAndName => builder.with_root_certificates(roots),
        Verification::Issuer => {
            builder.dangerous().with_custom_certificate_verifier(AnyNameVerifier::new(Some(roots)))
        }
    };
    let config = match client {
        None => verified_builder.with_no_client_auth(),
        Some(client) => {
            let certificate_chain = read_certificates(&client.certificate)
                .map_err(|error| format!("sslcert: {error}"))?;
            let key_error =
                |error: &dyn Error| format!("sslkey: cannot use {}: {error}", client.key.display());
            let key =
                PrivateKeyDer::from_pem_file(&client.key).map_err(|error| key_error(&error))?;
            verified_builder
                .with_client_auth_cert(certificate_chain, key)
                .map_err(|error| key_error(&error))?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots.add(certificate).map_err(|error| file_error(path, &error))?;
    }
    Ok(roots)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| file_error(path, &error))?;
    if certificates.is_empty() {
        return Err(format!("{} contains no certificate", path.display()));
    }
    Ok(certificates)
}

fn file_error(path: &Path, error: &dyn Error) -> String {
    format!("cannot use {}: {error}", path.display())
}

/// Returns the reason why the server certificate was rejected, and advice; `None` if it was not.
pub(super) fn describe_rejection(error: &tokio_postgres::Error) -> Option<String> {
    let reason = rejection::find_certificate_error(error)?;
    let advice = match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "name the certificate authority that issued it with sslrootcert=PATH in the URL"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a host name of the certificate in the URL, or sslmode=verify-ca"
        }
        _ => "replace the certificate of the PostgreSQL server",
    };
    let problem = rejection::describe(&reason);
    Some(format!("the certificate of the server {problem}; {advice}"))
}
