//! `GET /oauth/static/…`: the files that pages load.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::http::error::CommonError;
use crate::http::extract::raw_path::RawPath;
use crate::pages::assets::{StaticFile, embedded_files};

/// The `Cache-Control` header of files. A file's name changes with its content, so caches may store
/// the file forever.
const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";

pub(super) async fn serve_asset(
    State(style): State<Arc<StaticFile>>,
    path: RawPath,
) -> Result<Response, CommonError> {
    let name = path.parameter("{file}").unwrap_or_default();
    let is_named = |file: &&StaticFile| file.is_named(name);
    let style = Some(&*style).filter(is_named);
    let file = style.or_else(|| embedded_files().find(is_named)).ok_or(CommonError::NotFound)?;
    let headers =
        [(header::CONTENT_TYPE, file.content_type), (header::CACHE_CONTROL, CACHE_FOREVER)];
    Ok((headers, file.content.clone()).into_response())
}
