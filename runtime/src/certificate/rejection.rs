//! Descriptions of certificate errors for the operator.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::CertificateError;
use rustls::pki_types::UnixTime;

/// Describes why a certificate is rejected, as a predicate without a subject: "expired at …".
pub fn describe(reason: &CertificateError) -> String {
    match reason {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("expired at {}", to_timestamp(*not_after))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let valid_from = to_timestamp(*not_before);
            let now = to_timestamp(*time);
            format!("is not valid before {valid_from}; this machine's clock says {now}")
        }
        // A wrong signature, or one for a different kind of key, usually means that the issuer has
        // the same name as a trusted authority.
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "was issued by an authority that this machine does not trust, or the server does not \
             send the intermediate certificates"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            match &*presented.iter().map(|name| plain_name(name)).collect::<Vec<_>>() {
                [] => format!("has no subjectAltName, so it is not valid for {expected}"),
                names => format!("is for {}, not for {expected}", names.join(", ")),
            }
        }
        CertificateError::BadEncoding => "cannot be parsed".to_owned(),
        other => describe_other(other),
    }
}

/// Describes any other reason. rustls has no variant for two common reasons, so they are recognised
/// by their debug output.
fn describe_other(reason: &CertificateError) -> String {
    let debug = format!("{reason:?}");
    if debug.contains("UnsupportedCertVersion") {
        return "has X.509 version 1, which TLS clients reject: create one of version 3 with \
                subjectAltName (openssl: -addext subjectAltName=DNS:ring.example)"
            .to_owned();
    }
    if debug.contains("CaUsedAsEndEntity") {
        return "is a CA certificate (CA:TRUE), which TLS clients reject for a server: create one \
                with -addext basicConstraints=critical,CA:FALSE"
            .to_owned();
    }
    format!("is rejected: {reason}")
}

/// Returns the name in `DnsName("ring.example")` or `IpAddress(127.0.0.1)`.
fn plain_name(presented: &str) -> &str {
    let inner_name = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner_name.unwrap_or(presented).trim_matches('"')
}

pub fn to_timestamp(time: UnixTime) -> Timestamp {
    let second = i64::try_from(time.as_secs()).ok();
    second.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MAX)
}

pub fn find_tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    successors(Some(error), |error| (*error).source()).find_map(|error| {
        // The Redis client wraps its errors in `Arc`.
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        let error = shared.map_or(error, |error| &**error as &(dyn Error + 'static));
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref()).or_else(|| error.downcast_ref())
    })
}

/// Finds the reason why a certificate was rejected among the causes of an error.
pub fn find_certificate_error(error: &(dyn Error + 'static)) -> Option<CertificateError> {
    match find_tls_error(error)? {
        rustls::Error::InvalidCertificate(reason) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn a_rejection_is_described_with_dates_and_names() {
        let unix_time = |second| UnixTime::since_unix_epoch(Duration::from_secs(second));
        let expected = ServerName::try_from("ring.example").unwrap();
        let wrong_name = |presented: &[&str]| CertificateError::NotValidForNameContext {
            expected: expected.clone(),
            presented: presented.iter().map(|&name| name.to_owned()).collect(),
        };
        for (reason, description) in [
            (
                CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                    signature_algorithm_id: vec![1],
                    public_key_algorithm_id: vec![2],
                },
                "was issued by an authority that this machine does not trust, or the server does \
                 not send the intermediate certificates",
            ),
            (
                CertificateError::ExpiredContext {
                    time: unix_time(86_400),
                    not_after: unix_time(0),
                },
                "expired at 1970-01-01T00:00:00Z",
            ),
            (
                CertificateError::NotValidYetContext {
                    time: unix_time(0),
                    not_before: unix_time(86_400),
                },
                "is not valid before 1970-01-02T00:00:00Z; this machine's clock says \
                 1970-01-01T00:00:00Z",
            ),
            (
                wrong_name(&["DnsName(\"a.example\")", "IpAddress(127.0.0.1)"]),
                "is for a.example, 127.0.0.1, not for ring.example",
            ),
            (wrong_name(&[]), "has no subjectAltName, so it is not valid for ring.example"),
            (CertificateError::Revoked, "is rejected: Revoked"),
        ] {
            assert_eq!(describe(&reason), description);
        }
        assert!(describe(&CertificateError::UnknownIssuer).contains("does not trust"));
    }
}
