//! Requirements on request heads that hyper does not check.

use hyper::{HeaderMap, Version, header};

/// Returns the reason why a request must be rejected and its connection closed, if there is one. A
/// proxy in front of the server might interpret such a request differently, which enables request
/// smuggling.
pub(super) fn find_violation(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        // HTTP/2 names the host in a pseudo-header instead (RFC 9113, section 8.3.1).
        (None, _) if version == Version::HTTP_11 => {
            return Some("A request must have a Host header");
        }
        (Some(_), Some(_)) => return Some("A request must not have more than one Host header"),
        (Some(host), None) if !has_only_host_chars(host.as_bytes()) => {
            return Some("The Host header must be a host and an optional port");
        }
        _ => {}
    }
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => None,
        (Some(encoding), None) if encoding.as_bytes().eq_ignore_ascii_case(b"chunked") => None,
        _ => Some("The only supported Transfer-Encoding is chunked"),
    }
}

/// Returns whether a `Host` header has only characters that are valid in a host and port (RFC 3986,
/// section 3.2), except the comma, which would make it a list. It may be empty. It is not parsed,
/// because that would allocate for every request.
fn has_only_host_chars(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=[]:".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_hosts_and_unsupported_transfer_encodings_are_rejected() {
        let host = ("host", "a");
        for (version, headers, is_valid) in [
            (Version::HTTP_11, &[host][..], true),
            (Version::HTTP_11, &[("host", "ring.example:8080")], true),
            (Version::HTTP_11, &[("host", "[::1]:8080")], true),
            (Version::HTTP_11, &[("host", "xn--bcher-kva.example")], true),
            (Version::HTTP_11, &[("host", "a_b")], true),
            (Version::HTTP_11, &[("host", "")], true),
            (Version::HTTP_11, &[], false),
            (Version::HTTP_11, &[host, host], false),
            (Version::HTTP_11, &[("host", "a, b")], false),
            (Version::HTTP_11, &[("host", "a,b")], false),
            (Version::HTTP_11, &[("host", "a b")], false),
            (Version::HTTP_11, &[("host", "user@a")], false),
            (Version::HTTP_11, &[("host", "a/b")], false),
            (Version::HTTP_10, &[], true),
            (Version::HTTP_10, &[host, host], false),
            (Version::HTTP_2, &[], true),
            (Version::HTTP_2, &[host], true),
            (Version::HTTP_2, &[host, host], false),
            (Version::HTTP_11, &[host, ("transfer-encoding", "Chunked")], true),
            (Version::HTTP_11, &[host, ("transfer-encoding", "gzip, chunked")], false),
            (Version::HTTP_11, &[host, ("transfer-encoding", "gzip")], false),
            (Version::HTTP_11, &[host, ("transfer-encoding", "identity")], false),
            (Version::HTTP_11, &[host, ("transfer-encoding", "chunked, chunked")], false),
            (
                Version::HTTP_11,
                &[host, ("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")],
                false,
            ),
        ] {
            let mut header_map = HeaderMap::new();
            for (name, value) in headers {
                header_map.append(*name, value.parse().unwrap());
            }
            let violation = find_violation(version, &header_map);
            assert_eq!(violation.is_none(), is_valid, "{version:?} {headers:?}");
        }
    }
}
