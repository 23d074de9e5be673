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
    pub(super) fn error_response(
        self,
        status: StatusCode,
        matrix_code: &str,
        oauth_code: &str,
        message: &str,
    ) -> Response {
        let body = match self {
            Self::Matrix => json!({ "errcode": matrix_code, "error": message }),
            Self::OAuth | Self::Page => {
                json!({ "error": oauth_code, "error_description": message })
            }
            Self::Api => json!({ "error": message }),
        };
        (status, Json(body)).into_response()
    }
}
