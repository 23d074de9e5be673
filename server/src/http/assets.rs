//! `GET /oauth/static/…`: the files that pages load.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::extract::raw_path::RawPath;
use crate::pages::assets::{StaticFile, embedded_files};

/// The `Cache-Control` header of files. A file's name changes with its content, so caches may store
/// the file forever.
const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";

/// The content security policy of images. If a browser opens one as a document, everything except
/// styles is forbidden.
const IMAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Returns the file with the name in the path.
pub(super) async fn serve_asset(
    State(state): State<Arc<AppState>>,
    path: RawPath,
) -> Result<Response, CommonError> {
    let name = path.parameter("{file}").unwrap_or_default();
    let is_named = |file: &&StaticFile| file.is_named(name);
    let configured_file = state.logo.iter().chain([&state.style]).find(is_named);
    let file =
        configured_file.or_else(|| embedded_files().find(is_named)).ok_or(CommonError::NotFound)?;
    let headers =
        [(header::CONTENT_TYPE, file.content_type), (header::CACHE_CONTROL, CACHE_FOREVER)];
    let mut response = (headers, file.content.clone()).into_response();
    if file.content_type.starts_with("image/") {
        let policy = HeaderValue::from_static(IMAGE_POLICY);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}
