//! Errors of the OAuth endpoints.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::error::{ErrorCode, OAuthError};
use belfry_core::oauth::grant::GrantError;
use serde_json::json;

use super::limit_exceeded::LimitExceeded;
use super::{CommonError, from_common};
use crate::http::respond::json::Json;
use crate::store::StoreError;

/// An error of an OAuth endpoint: `{"error": "code", "error_description": "…"}`.
#[derive(Debug)]
pub(crate) enum OAuthApiError {
    /// An error that the protocol defines.
    Protocol(OAuthError),
    /// An error that any endpoint can return.
    Common(CommonError),
}

impl IntoResponse for OAuthApiError {
    fn into_response(self) -> Response {
        let error = match self {
            Self::Protocol(error) => error,
            Self::Common(error) => return error.into_response(),
        };
        let status = status_of(error);
        let body = json!({
            "error": error.code().as_str(),
            "error_description": error.to_string(),
        });
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            add_challenge(&mut response, "Basic realm=\"belfry\"");
        }
        response
    }
}

/// The status of an error that is not sent to a redirect URI.
pub(super) fn status_of(error: OAuthError) -> StatusCode {
    match error.code() {
        ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
        ErrorCode::UnauthorizedClient => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Adds a `WWW-Authenticate` header.
pub(super) fn add_challenge(response: &mut Response, challenge: &str) {
    let challenge = HeaderValue::from_str(challenge).expect("the texts are plain ASCII");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
}

impl From<OAuthError> for OAuthApiError {
    fn from(error: OAuthError) -> Self {
        Self::Protocol(error)
    }
}

impl From<GrantError> for OAuthApiError {
    fn from(error: GrantError) -> Self {
        Self::Protocol(error.into())
    }
}

from_common!(OAuthApiError from CommonError, StoreError, LimitExceeded);
