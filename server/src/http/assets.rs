//! `GET /static/…`: the files that pages load.

use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::http::error::CommonError;
use crate::http::extract::raw_path::RawPath;
use crate::pages::assets::Asset;

/// Returns a file. Its name changes with its content, so caches may store it forever.
pub(super) async fn asset(path: RawPath) -> Result<Response, CommonError> {
    let name = path.parameter("{file}").unwrap_or_default();
    let asset = Asset::find(name).ok_or(CommonError::NotFound)?;
    let headers = [
        (header::CONTENT_TYPE, asset.content_type()),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, asset.content).into_response())
}
