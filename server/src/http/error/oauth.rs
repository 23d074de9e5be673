//! Errors of the OAuth endpoints.

use std::fmt::Display;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::grant::CodeError;
use belfry_core::oauth::registration::ClientMetadataError;
use belfry_runtime::log_throttled;
use belfry_store::StoreError;
use serde_json::json;

use super::{CommonError, LimitExceeded, from_common, with_challenge};
use crate::auth::tokens::IssueError;
use crate::escape::shorten;
use crate::http::json::Json;

/// Maximum length of a redirect URI in the log, in bytes. Bounded because clients choose it.
const MAX_LOGGED_URI_BYTES: usize = 500;

/// An error of an OAuth endpoint: `{"error": "code", "error_description": "…"}`. When it becomes a
/// response, its reason is logged, unless it is a [`CommonError`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum OAuthApiError {
    #[error(transparent)]
    Protocol(#[from] OAuthError),
    /// The response does not contain the reason. `app` is the app that the request names, if it
    /// exists.
    #[error("{reason}")]
    Undisclosed { error: OAuthError, reason: &'static str, app: Option<i64> },
    #[error(transparent)]
    Code(#[from] CodeError),
    #[error(transparent)]
    Metadata(#[from] ClientMetadataError),
    #[error("Registration is closed: the server's operator adds apps.")]
    RegistrationClosed,
    #[error(transparent)]
    Common(#[from] CommonError),
}

impl IntoResponse for OAuthApiError {
    fn into_response(self) -> Response {
        let app = if let Self::Undisclosed { app, .. } = &self { *app } else { None };
        log_rejection(&self, app, None);
        match &self {
            Self::Common(error) => error.clone().into_response(),
            Self::Protocol(error) | Self::Undisclosed { error, .. } => {
                oauth_response(error, &error.to_string())
            }
            Self::Code(error) => oauth_response(&OAuthError::InvalidGrant, &error.description()),
            Self::Metadata(error) => error_body(StatusCode::BAD_REQUEST, error.code(), &self),
            Self::RegistrationClosed => {
                error_body(StatusCode::FORBIDDEN, OAuthError::AccessDenied.code(), &self)
            }
        }
    }
}

/// Logs why an OAuth request is rejected, except for a [`CommonError`]. `app` is the app that a
/// request names without authentication; an authenticated app is in the request context of the log
/// line. `redirect_uri` is the URI in the request, if that is the reason.
pub(crate) fn log_rejection(reason: &OAuthApiError, app: Option<i64>, redirect_uri: Option<&str>) {
    let (error, key) = match reason {
        OAuthApiError::Common(_) => return,
        OAuthApiError::Protocol(error) => (error.code(), error.into()),
        OAuthApiError::Undisclosed { error, reason, .. } => (error.code(), *reason),
        OAuthApiError::Code(error) => (OAuthError::InvalidGrant.code(), error.into()),
        OAuthApiError::Metadata(error) => (error.code(), error.code()),
        OAuthApiError::RegistrationClosed => (OAuthError::AccessDenied.code(), "closed"),
    };
    // Without query and fragment, which may contain secrets.
    let redirect_uri = redirect_uri
        .and_then(|uri| uri.split(['?', '#']).next())
        .map(|uri| shorten(uri, MAX_LOGGED_URI_BYTES));
    let app = app.map(tracing::field::display);
    log_throttled!(info, by key, "OAuth request rejected", error, %reason, app, redirect_uri);
}

pub(super) fn oauth_response(error: &OAuthError, description: &str) -> Response {
    let status = oauth_status(error);
    let is_challenged = status == StatusCode::UNAUTHORIZED;
    let challenge = is_challenged.then_some("Basic realm=\"belfry\"");
    with_challenge(error_body(status, error.code(), &description), challenge)
}

fn error_body(status: StatusCode, code: &str, description: &impl Display) -> Response {
    let body = json!({ "error": code, "error_description": description.to_string() });
    (status, Json(body)).into_response()
}

/// Returns the status of an error that is not sent to a redirect URI.
pub(super) fn oauth_status(error: &OAuthError) -> StatusCode {
    match error {
        OAuthError::InvalidClient
        | OAuthError::UnknownClient
        | OAuthError::MissingOrMalformedCredentials => StatusCode::UNAUTHORIZED,
        OAuthError::UnauthorizedRevocation => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Errors other than those of the store become `invalid_client`: the client was authenticated
/// before, so its app has been disabled since.
impl From<IssueError> for OAuthApiError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Store(error) => error.into(),
            _ => Self::Undisclosed {
                error: OAuthError::InvalidClient,
                reason: "the app was disabled during the request",
                app: None,
            },
        }
    }
}

from_common!(OAuthApiError from StoreError, LimitExceeded);
