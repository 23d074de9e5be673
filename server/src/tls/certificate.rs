//! Certificates in PEM files: their validity period and their names.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore};

use belfry_runtime::certificate::rejection::{self, to_timestamp};
use belfry_runtime::file_access::describe_file_error;

/// Time before a certificate's expiry during which the operator is warned.
const EXPIRY_WARNING_PERIOD: SignedDuration = SignedDuration::from_hours(14 * 24);

/// A server certificate with the chain of its issuers.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The certificates in the file: the server's first, then those of its issuers.
    pub chain: Vec<CertificateDer<'static>>,
    /// The first second of its validity.
    pub not_before: Timestamp,
    /// The last second of its validity. An issuer in the chain may expire earlier.
    pub not_after: Timestamp,
}

impl Certificate {
    /// Reads a PEM file. The error does not repeat the path.
    pub fn read(path: &Path) -> Result<Self, String> {
        let chain = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| describe_pem_error(path, &error, "certificate"))?;
        let server_certificate = chain.first().ok_or("it contains no certificate in PEM")?;
        let (not_before, not_after) =
            read_validity(server_certificate).map_err(|error| match error {
                rustls::Error::InvalidCertificate(reason) => {
                    format!("the certificate {}", rejection::describe(&reason))
                }
                error => error.to_string(),
            })?;
        Ok(Self { chain, not_before, not_after })
    }

    /// Returns whether the certificate is for this host: a name, or an IP address with or without
    /// brackets.
    pub fn covers(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']);
        let parsed = self
            .chain
            .first()
            .and_then(|certificate| ParsedCertificate::try_from(certificate).ok());
        let name = ServerName::try_from(host).ok();
        parsed.zip(name).is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
    }

    /// Describes the problem with the certificate's validity at `now`, if any.
    pub fn validity_problem(&self, now: Timestamp) -> Option<String> {
        let Self { not_before, not_after, .. } = self;
        if now < *not_before {
            Some(format!("is not valid before {not_before}: check this machine's clock"))
        } else if now > *not_after {
            Some(format!("expired at {not_after}: clients reject it; renew it"))
        } else {
            (not_after.duration_since(now) < EXPIRY_WARNING_PERIOD)
                .then(|| format!("expires at {not_after}, in less than 14 days: renew it"))
        }
    }
}

/// Describes why an item, such as a certificate, cannot be read from a PEM file.
pub(crate) fn describe_pem_error(path: &Path, error: &pem::Error, item: &str) -> String {
    match error {
        pem::Error::Io(error) => describe_file_error(path, error),
        pem::Error::NoItemsFound => format!("it contains no {item} in PEM"),
        // The messages of other errors show parts of the file.
        _ => "it is not valid PEM; it may be incomplete".to_owned(),
    }
}

/// Returns the first and the last second of a certificate's validity.
///
/// rustls does not expose them, but its errors contain them when a certificate is verified at a
/// time outside its validity, which is checked before the issuer.
fn read_validity(
    certificate: &CertificateDer<'_>,
) -> Result<(Timestamp, Timestamp), rustls::Error> {
    let certificate = ParsedCertificate::try_from(certificate)?;
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    let verify_at = |second| {
        let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(second));
        let roots = RootCertStore::empty();
        verify_server_cert_signed_by_trust_anchor(&certificate, &roots, &[], time, algorithms)
    };
    // Later than any expiry: years in certificates have at most four digits.
    let year_18000 = 500_000_000_000;
    let not_before = match verify_at(0) {
        Err(rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext {
            not_before,
            ..
        })) => to_timestamp(not_before),
        _ => Timestamp::UNIX_EPOCH,
    };
    match verify_at(year_18000) {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after,
            ..
        })) => Ok((not_before, to_timestamp(not_after))),
        Err(error) => Err(error),
        Ok(()) => Ok((not_before, Timestamp::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// Created by `openssl x509 -req` without extensions.
    const VERSION_1_CERTIFICATE: &str = "\
        MIHiMIGVAhQeuaSppQXP7OYUWY6TnBm2FHXaSzAFBgMrZXAwFDESMBAGA1UEAwwJ\n\
        bG9jYWxob3N0MB4XDTI2MTExNjEwMTEwMloXDTM2MTExMzEwMTEwMlowFDESMBAG\n\
        A1UEAwwJbG9jYWxob3N0MCowBQYDK2VwAyEAg+l1WaUNA1MTWyps0yOom1CUAbrg\n\
        2Mp7r9k53d/rAzUwBQYDK2VwA0EADY/Z2r5Cy0Knut5vA9QtScGJ/YejLy5h5W7B\n\
        AWFPpbluAW8M8xsBMWGI+YS3q0R1YaFdVz5uXDEW9SOwwTLWDA==\n\
        -----END CERTIFICATE-----\n";

    /// Writes a certificate to a file and reads it.
    fn create_certificate(
        dir: &Path,
        change_params: impl FnOnce(&mut CertificateParams),
    ) -> Certificate {
        let names = ["ring.example", "*.bells.example", "192.0.2.1", "2001:db8::1"];
        let mut params = CertificateParams::new(names.map(str::to_owned)).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2026, 4, 1);
        change_params(&mut params);
        let path = dir.join("certificate.pem");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        std::fs::write(&path, certificate.pem()).unwrap();
        Certificate::read(&path).unwrap()
    }

    fn parse_time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn validity_problems_depend_on_the_time() {
        let dir = tempfile::tempdir().unwrap();
        let certificate = create_certificate(dir.path(), |_| ());
        let [start, end] = ["2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z"].map(parse_time);
        assert_eq!((certificate.not_before, certificate.not_after), (start, end));
        let second = SignedDuration::from_secs(1);
        for (now, problem) in [
            (start - second, Some("is not valid before 2026-01-01T00:00:00Z")),
            (start, None),
            (end - EXPIRY_WARNING_PERIOD, None),
            (end - EXPIRY_WARNING_PERIOD + second, Some("expires at 2026-04-01T00:00:00Z")),
            (end, Some("expires at 2026-04-01T00:00:00Z")),
            (end + second, Some("expired at 2026-04-01T00:00:00Z")),
        ] {
            let found = certificate.validity_problem(now);
            assert_eq!(found.is_some(), problem.is_some(), "{now}");
            assert!(found.unwrap_or_default().starts_with(problem.unwrap_or_default()), "{now}");
        }
    }

    #[test]
    fn validity_is_read_for_extreme_periods_and_authority_certificates() {
        let dir = tempfile::tempdir().unwrap();
        let certificate = create_certificate(dir.path(), |params| {
            params.not_before = date_time_ymd(1970, 1, 1);
            params.not_after = date_time_ymd(9999, 12, 31);
        });
        assert_eq!(certificate.not_before, Timestamp::UNIX_EPOCH);
        assert!(certificate.not_after >= parse_time("9999-12-30T00:00:00Z"));
        // The certificate of a private authority, used as a server certificate.
        let authority = create_certificate(dir.path(), |params| {
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        });
        assert_eq!(authority.not_after, parse_time("2026-04-01T00:00:00Z"));
    }

    #[test]
    fn a_certificate_covers_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let certificate = create_certificate(dir.path(), |_| ());
        for (host, is_covered) in [
            ("ring.example", true),
            ("RING.example", true),
            ("other.example", false),
            ("a.ring.example", false),
            ("a.bells.example", true),
            ("a.b.bells.example", false),
            ("192.0.2.1", true),
            ("192.0.2.2", false),
            ("[2001:db8::1]", true),
            ("not a host", false),
        ] {
            assert_eq!(certificate.covers(host), is_covered, "{host}");
        }
    }

    #[test]
    fn a_file_without_a_usable_certificate_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("certificate.pem");
        assert!(Certificate::read(&path).unwrap_err().contains("No such file"));
        for content in ["", "not a certificate"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Certificate::read(&path).unwrap_err(), "it contains no certificate in PEM");
        }
        for (invalid_body, problem) in [
            ("AAAA\n-----END CERTIFICATE-----\n", "the certificate cannot be parsed"),
            ("AAAA\n", "it is not valid PEM; it may be incomplete"),
            (
                VERSION_1_CERTIFICATE,
                "the certificate has X.509 version 1, which TLS clients reject",
            ),
        ] {
            std::fs::write(&path, format!("-----BEGIN CERTIFICATE-----\n{invalid_body}")).unwrap();
            let error = Certificate::read(&path).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
