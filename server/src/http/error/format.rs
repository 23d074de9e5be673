//! The formats that errors are written in.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::respond::json::Json;

/// The format of the errors of an area.
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
    /// An error in this format, with a text for the developer of the client.
    pub(crate) fn error(self, status: StatusCode, codes: Codes, text: &str) -> Response {
        let body = match self {
            Self::Matrix => json!({ "errcode": codes.matrix, "error": text }),
            Self::OAuth | Self::Page => json!({ "error": codes.oauth, "error_description": text }),
            Self::Api => json!({ "error": text }),
        };
        (status, Json(body)).into_response()
    }
}

/// The code of an error in the formats that have codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codes {
    pub(crate) matrix: &'static str,
    pub(crate) oauth: &'static str,
}
