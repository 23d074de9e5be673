//! JSON responses.

use std::future::ready;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use belfry_core::json::to_bytes;
use bytes::Bytes;
use serde::Serialize;

use crate::app::AppState;

/// Initial capacity of a header map: enough for a typical response, so the map does not grow.
const HEADER_CAPACITY: usize = 14;

pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        JsonBytes(to_bytes(&self.0).into()).into_response()
    }
}

/// A response whose body is serialized JSON.
pub(crate) struct JsonBytes(pub(crate) Bytes);

impl IntoResponse for JsonBytes {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        let mut headers = HeaderMap::with_capacity(HEADER_CAPACITY);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.headers_mut() = headers;
        response
    }
}

/// Clients must revalidate, so that changed settings are visible right after a restart.
pub(crate) const REVALIDATE: [(header::HeaderName, HeaderValue); 1] =
    [(header::CACHE_CONTROL, HeaderValue::from_static("max-age=0"))];

/// Returns a route that always returns this document, serialized once.
pub(crate) fn constant_route(document: &impl Serialize) -> MethodRouter<AppState> {
    let body = Bytes::from(to_bytes(document));
    get(move || ready((REVALIDATE, JsonBytes(body.clone()))))
}
