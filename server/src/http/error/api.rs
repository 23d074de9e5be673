//! Errors of the Mastodon-compatible API.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::app::AppError;
use belfry_core::oauth::sign_up::AccountError;
use belfry_core::oauth::validation::ValidationErrors;
use serde_json::{Map, Value, json};

use super::limit_exceeded::LimitExceeded;
use super::oauth::add_challenge;
use super::{CommonError, from_common};
use crate::http::extract::page_format::PageFormat;
use crate::http::respond::json::Json;
use crate::language::Localize;
use crate::passwords::Busy;
use crate::store::StoreError;

/// An error of the API: `{"error": "…"}`. The texts are Mastodon's, because clients compare them.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The request has no token.
    MissingToken,
    /// The token is unknown or malformed.
    InvalidToken,
    /// The token was revoked.
    RevokedToken,
    /// The token has expired.
    ExpiredToken,
    /// The token's account is disabled.
    DisabledAccount,
    /// The token lacks the scope.
    OutsideScopes,
    /// The token belongs to an app, and a user's token is required.
    UserRequired,
    /// The token belongs to a user, and an app's token is required.
    AppTokenRequired,
    /// Registration is closed.
    RegistrationClosed,
    /// Validation failed: a sentence, and the errors of each field.
    Invalid(String, Option<Value>),
    /// An error that any endpoint can return.
    Common(CommonError),
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Common(error) => return error.into_response(),
            Self::Invalid(error, details) => {
                let mut body = json!({ "error": error });
                if let Some(details) = details {
                    body["details"] = details;
                }
                return (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response();
            }
            Self::MissingToken | Self::InvalidToken => {
                (StatusCode::UNAUTHORIZED, "The access token is invalid")
            }
            Self::RevokedToken => (StatusCode::UNAUTHORIZED, "The access token was revoked"),
            Self::ExpiredToken => (StatusCode::UNAUTHORIZED, "The access token expired"),
            Self::DisabledAccount => (StatusCode::FORBIDDEN, "Your login is currently disabled"),
            Self::OutsideScopes => {
                (StatusCode::FORBIDDEN, "This action is outside the authorized scopes")
            }
            Self::UserRequired => {
                (StatusCode::UNPROCESSABLE_ENTITY, "This method requires an authenticated user")
            }
            Self::AppTokenRequired => {
                (StatusCode::FORBIDDEN, "This method requires an client credentials authentication")
            }
            Self::RegistrationClosed => {
                (StatusCode::FORBIDDEN, "Registration is closed on this server")
            }
        };
        let mut response = (status, Json(json!({ "error": text }))).into_response();
        match self {
            // Without a token, the challenge has no error code (RFC 6750 section 3.1).
            Self::MissingToken => add_challenge(&mut response, "Bearer realm=\"belfry\""),
            _ if status == StatusCode::UNAUTHORIZED => add_challenge(
                &mut response,
                &format!(
                    "Bearer realm=\"belfry\", error=\"invalid_token\", error_description=\"{text}\""
                ),
            ),
            _ => {}
        }
        response
    }
}

impl ApiError {
    /// The errors of an app registration, localised.
    pub(crate) fn invalid_app(invalid: &ValidationErrors<AppError>, format: &PageFormat) -> Self {
        Self::Invalid(invalid.localize(format.0), None)
    }

    /// The errors of a sign-up, localised, also by field.
    pub(crate) fn invalid_account(
        invalid: &ValidationErrors<AccountError>,
        format: &PageFormat,
    ) -> Self {
        let mut details = Map::new();
        for AccountError { field, error } in &invalid.0 {
            let description = error.localize(format.0);
            let wrong = json!({ "error": error.code(), "description": description });
            details.insert(field.as_str().to_owned(), json!([wrong]));
        }
        Self::Invalid(invalid.localize(format.0), Some(details.into()))
    }
}

from_common!(ApiError from CommonError, StoreError, Busy, LimitExceeded);
