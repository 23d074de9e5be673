//! `GET /static/…`: the files that pages load.

use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};

use crate::http::error::CommonError;
use crate::pages::assets::Asset;

/// Returns a file. Its name changes with its content, so caches may store it for ever.
pub(super) async fn asset(uri: Uri) -> Response {
    let Some(asset) = Asset::at(uri.path()) else { return CommonError::NotFound.into_response() };
    let headers = [
        (header::CONTENT_TYPE, asset.content_type()),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.content).into_response()
}
