//! Errors of the OAuth endpoints.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::grant::GrantError;
use belfry_store::StoreError;
use serde_json::json;

use super::{CommonError, LimitExceeded, from_common, with_challenge};
use crate::auth::tokens::IssueError;
use crate::http::json::Json;

/// An error of an OAuth endpoint: `{"error": "code", "error_description": "…"}`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OAuthApiError {
    #[error(transparent)]
    Protocol(#[from] OAuthError),
    #[error(transparent)]
    Common(#[from] CommonError),
}

impl IntoResponse for OAuthApiError {
    fn into_response(self) -> Response {
        let error = match self {
            Self::Protocol(error) => error,
            Self::Common(error) => return error.into_response(),
        };
        let body = json!({
            "error": error.code(),
            "error_description": error.to_string(),
        });
        let status = status_of(error);
        let is_challenged = status == StatusCode::UNAUTHORIZED;
        let challenge = is_challenged.then_some("Basic realm=\"belfry\"");
        with_challenge((status, Json(body)).into_response(), challenge)
    }
}

/// The status of an error that is not sent to a redirect URI.
pub(super) fn status_of(error: OAuthError) -> StatusCode {
    match error {
        OAuthError::InvalidClient => StatusCode::UNAUTHORIZED,
        OAuthError::UnauthorizedRevocation => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<GrantError> for OAuthApiError {
    fn from(error: GrantError) -> Self {
        Self::Protocol(error.into())
    }
}

/// Errors besides those of the store become `invalid_client`: the client was authenticated before,
/// so its app has been disabled since.
impl From<IssueError> for OAuthApiError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Store(error) => error.into(),
            _ => Self::Protocol(OAuthError::InvalidClient),
        }
    }
}

from_common!(OAuthApiError from StoreError, LimitExceeded);
