//! Error formats.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::json::Json;

/// The format of an area's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// Matrix: `{"errcode": "M_…", "error": "…"}`.
    Matrix,
    /// OAuth: `{"error": "code", "error_description": "…"}`.
    OAuth,
    /// A page for browsers, the OAuth format for programs.
    Page,
    /// Mastodon's API: `{"error": "…"}`.
    Api,
}

impl ErrorFormat {
    /// Returns an error response in this format. `matrix` and `oauth` are the error's codes in
    /// these two formats.
    pub(super) fn error(
        self,
        status: StatusCode,
        matrix: &str,
        oauth: &str,
        text: &str,
    ) -> Response {
        let body = match self {
            Self::Matrix => json!({ "errcode": matrix, "error": text }),
            Self::OAuth | Self::Page => json!({ "error": oauth, "error_description": text }),
            Self::Api => json!({ "error": text }),
        };
        (status, Json(body)).into_response()
    }
}
