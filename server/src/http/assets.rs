//! `GET /static/…`: the files that pages load.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::extract::raw_path::RawPath;
use crate::pages::assets::{Asset, STYLE};

/// The name of a file changes with its content, so caches may store it forever.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Forbids everything in an image but styles, for a browser that opens it as a document.
const IMAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Returns a file.
pub(super) async fn asset(
    State(state): State<Arc<AppState>>,
    path: RawPath,
) -> Result<Response, CommonError> {
    let name = path.parameter("{file}").unwrap_or_default();
    if let Some(logo) = state.logo.as_ref().filter(|logo| logo.is_named(name)) {
        let headers = [
            (header::CONTENT_TYPE, logo.content_type),
            (header::CACHE_CONTROL, FOREVER),
            (header::CONTENT_SECURITY_POLICY, IMAGE_POLICY),
        ];
        return Ok((headers, logo.content.clone()).into_response());
    }
    if state.style.is_named(name) {
        let headers =
            [(header::CONTENT_TYPE, STYLE.content_type()), (header::CACHE_CONTROL, FOREVER)];
        return Ok((headers, state.style.content.clone()).into_response());
    }
    let asset = Asset::find(name).ok_or(CommonError::NotFound)?;
    let headers = [(header::CONTENT_TYPE, asset.content_type()), (header::CACHE_CONTROL, FOREVER)];
    Ok((headers, asset.content).into_response())
}
