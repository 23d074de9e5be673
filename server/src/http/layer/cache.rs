//! Cache policies: the `Cache-Control` header of responses. Every response has one, because shared
//! caches may store responses without it, even those with the status 404 or 405 (RFC 9110, section
//! 15.1).

use axum::http::{HeaderMap, HeaderValue, header};

/// The `Cache-Control` header of responses whose handler sets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CachePolicy {
    /// `private, no-store`: responses belong to one user.
    PrivateNoStore,
    /// `no-store`, and `Pragma` for HTTP/1.0 caches, as RFC 6749, section 5.1 requires.
    NoStore,
}

impl CachePolicy {
    /// Adds the headers, unless the handler set `Cache-Control`.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        if headers.contains_key(header::CACHE_CONTROL) {
            return;
        }
        let value = if self == Self::NoStore { "no-store" } else { "private, no-store" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
        if self == Self::NoStore {
            headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        }
    }
}
