//! `GET /static/…`: the files that pages load.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::extract::raw_path::RawPath;
use crate::pages::assets::{StaticFile, all};

/// The name of a file changes with its content, so caches may store it forever.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Forbids everything except styles in an image that a browser opens as a document.
const IMAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Returns a file.
pub(super) async fn asset(
    State(state): State<Arc<AppState>>,
    path: RawPath,
) -> Result<Response, CommonError> {
    let name = path.parameter("{file}").unwrap_or_default();
    let is_named = |file: &&StaticFile| file.is_named(name);
    let configured = state.logo.iter().chain([&state.style]).find(is_named);
    let file = configured.or_else(|| all().find(is_named)).ok_or(CommonError::NotFound)?;
    let headers = [(header::CONTENT_TYPE, file.content_type), (header::CACHE_CONTROL, FOREVER)];
    let mut response = (headers, file.content.clone()).into_response();
    if file.content_type.starts_with("image/") {
        let policy = HeaderValue::from_static(IMAGE_POLICY);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}
