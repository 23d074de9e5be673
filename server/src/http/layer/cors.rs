//! Cross-origin requests (CORS). Endpoints authenticated by a token are open to any origin, without
//! credentials; endpoints authenticated by a cookie are open to none.
//!
//! Written by hand, because tower-http responds to a preflight request with 200 and `Vary` headers,
//! and here the response is a plain 204.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static("Authorization, Content-Type");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, \
     Retry-After, WWW-Authenticate",
);
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const ONE_DAY: HeaderValue = HeaderValue::from_static("86400");

/// Which other origins may send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cors {
    /// Any.
    AnyOrigin,
    /// None.
    SameOrigin,
}

impl Cors {
    /// The response to a preflight request, which no handler sees.
    pub(crate) fn preflight(self, method: &Method) -> Option<Response> {
        (self == Self::AnyOrigin && *method == Method::OPTIONS).then(|| {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
                (header::ACCESS_CONTROL_MAX_AGE, ONE_DAY),
            ];
            (StatusCode::NO_CONTENT, allowed).into_response()
        })
    }

    /// Adds the headers that every response has.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        if self == Self::AnyOrigin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}
