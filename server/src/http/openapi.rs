//! `GET /openapi.json`: the description of the API (OpenAPI 3.1).

mod document;

use std::future::ready;
use std::sync::{Arc, OnceLock};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use belfry_core::json::to_bytes;
use belfry_core::secret::Sha256Digest;
use bytes::Bytes;

#[cfg(test)]
pub(super) use self::document::document;
use crate::app::AppState;
use crate::http::json::JsonBytes;

/// The serialised document.
struct Rendered {
    json: Bytes,
    etag: HeaderValue,
}

/// The route of the document. It is rendered for the first request, because most servers are never
/// asked for it.
pub(super) fn openapi() -> MethodRouter<Arc<AppState>> {
    let rendered = Arc::new(OnceLock::new());
    get(move |State(state): State<Arc<AppState>>, headers: HeaderMap| {
        ready(respond(rendered.get_or_init(|| Rendered::new(&state)), &headers))
    })
}

impl Rendered {
    fn new(state: &AppState) -> Self {
        let document = document::document(&state.base_url.to_string(), &state.config.name_segments);
        let json = String::from_utf8(to_bytes(&document)).expect("JSON is UTF-8");
        let etag = format!("\"{}\"", Sha256Digest::of(&json).to_text());
        let etag = HeaderValue::try_from(etag).expect("a digest is plain ASCII");
        Self { json: json.into(), etag }
    }
}

/// The document, unless the client has it already.
fn respond(rendered: &Rendered, headers: &HeaderMap) -> Response {
    // Clients must revalidate, so that changed settings are visible right after a restart.
    let cache = HeaderValue::from_static("max-age=0");
    let caching = [(header::CACHE_CONTROL, cache), (header::ETAG, rendered.etag.clone())];
    if is_cached(headers, &rendered.etag) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, JsonBytes(rendered.json.clone())).into_response()
}

/// Whether `If-None-Match` lists this entity tag (RFC 9110, section 13.1.2).
fn is_cached(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut tags = tags.flat_map(|tags| tags.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == *etag)
}
