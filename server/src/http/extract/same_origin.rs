//! Detection of requests from other origins.

use axum::http::{HeaderMap, header};

use crate::config::BaseUrl;

pub(crate) const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Returns whether a request comes from a page of this server, or directly from the user (`none`).
/// Older browsers send `Origin` instead of `Sec-Fetch-Site`; for this server's pages `Origin` is
/// `null`, because of their `Referrer-Policy`. Without either header, the request is accepted, and
/// the CSRF token is the only protection.
pub(crate) fn is_same_origin(headers: &HeaderMap, base_url: &BaseUrl) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    match headers.get(header::ORIGIN) {
        Some(origin) => origin == "null" || *origin == *base_url.to_string(),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_from_other_origins_are_detected() {
        let base_url: BaseUrl = "https://ring.example".parse().unwrap();
        for (name, value, expected) in [
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "", false),
            ("origin", "https://ring.example", true),
            ("origin", "null", true),
            ("origin", "http://ring.example", false),
            ("origin", "https://ring.example:8443", false),
            ("origin", "https://ring.example.evil.example", false),
            ("x-other", "", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(is_same_origin(&headers, &base_url), expected, "{name}: {value}");
        }
    }
}
