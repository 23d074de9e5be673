//! Cross-origin requests (CORS). Endpoints authenticated by a token allow any origin, without
//! credentials; endpoints authenticated by a cookie allow none.
//!
//! `tower-http` is not used, because it responds to preflight requests with 200 and `Vary` headers
//! instead of a plain 204.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

const ALLOWED_METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
/// Clients of the Model Context Protocol send their version with every request, also for metadata.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, MCP-Protocol-Version, Traceparent, Tracestate",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, \
     Retry-After, WWW-Authenticate, Link, X-Request-Id",
);
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const ONE_DAY: HeaderValue = HeaderValue::from_static("86400");

/// The origins that may send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cors {
    AnyOrigin,
    SameOrigin,
}

impl Cors {
    /// Returns the response to a preflight request, which does not reach a handler. Every `OPTIONS`
    /// request counts as one.
    pub(crate) fn preflight_response(self, method: &Method) -> Option<Response> {
        (self == Self::AnyOrigin && *method == Method::OPTIONS).then(|| {
            let headers = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
                (header::ACCESS_CONTROL_MAX_AGE, ONE_DAY),
            ];
            (StatusCode::NO_CONTENT, headers).into_response()
        })
    }

    /// Adds the headers of every response, if any origin may send requests.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        if self == Self::AnyOrigin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
    }
}
