//! Errors of the OAuth endpoints, of the API and of the pages.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::app::AppError;
use belfry_core::oauth::error::{ErrorCode, OAuthError};
use belfry_core::oauth::grant::GrantError;
use belfry_core::oauth::sign_up::AccountError;
use belfry_core::oauth::validation::ValidationErrors;
use serde_json::{Map, Value, json};

use super::{CommonError, UNKNOWN_REQUEST};
use crate::http::error::format::ErrorFormat;
use crate::http::error::limit_exceeded::LimitExceeded;
use crate::http::extract::page_format::PageFormat;
use crate::http::respond::json::Json;
use crate::language::Localize;
use crate::pages::{ErrorCause, SignInAlert};
use crate::passwords::Busy;
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
fn status_of(error: OAuthError) -> StatusCode {
    match error.code() {
        ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
        ErrorCode::UnauthorizedClient => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

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

/// Adds a `WWW-Authenticate` header.
fn add_challenge(response: &mut Response, challenge: &str) {
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
        for AccountError { field, error } in invalid {
            let description = error.localize(format.0);
            let wrong = json!({ "error": error.code(), "description": description });
            details.insert(field.as_str().to_owned(), json!([wrong]));
        }
        Self::Invalid(invalid.localize(format.0), Some(details.into()))
    }
}

/// An error that a person sees as a page.
#[derive(Debug)]
pub(crate) enum PageError {
    /// An OAuth error that cannot be sent to a redirect URI.
    OAuth(OAuthError),
    /// The authorization request belongs to another browser, is completed, or has expired.
    Expired,
    /// The form may come from another site: its CSRF token or origin is wrong.
    ForgedForm,
    /// An error that any endpoint can return.
    Common(CommonError),
}

impl PageError {
    /// The status of the page.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::OAuth(error) => status_of(*error),
            Self::Expired => StatusCode::BAD_REQUEST,
            Self::ForgedForm => StatusCode::FORBIDDEN,
            Self::Common(error) => error.to_response(ErrorFormat::Page).status(),
        }
    }

    /// The cause that the page explains.
    pub(crate) fn cause(&self) -> ErrorCause {
        match self {
            Self::OAuth(error) => ErrorCause::Refused(*error),
            Self::Expired => ErrorCause::Expired,
            Self::ForgedForm => ErrorCause::Unchecked,
            Self::Common(CommonError::LimitExceeded(_)) => ErrorCause::TooMany,
            Self::Common(CommonError::NotFound) => ErrorCause::NotFound,
            Self::Common(CommonError::Unavailable(_) | CommonError::Internal) => {
                ErrorCause::Internal
            }
            Self::Common(_) => ErrorCause::Malformed,
        }
    }

    /// The response for a client that wants JSON.
    pub(crate) fn into_json(self) -> Response {
        let invalid = |text| ErrorFormat::Page.error(self.status(), UNKNOWN_REQUEST, text);
        match self {
            Self::OAuth(error) => OAuthApiError::Protocol(error).into_response(),
            Self::Common(error) => error.into_response(),
            Self::Expired => invalid("The authorization request is completed or has expired"),
            Self::ForgedForm => invalid("The form does not come from a page of this server"),
        }
    }
}

/// The reason why a sign-in failed and the page is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInError {
    /// The account does not exist, or the password is wrong.
    WrongPassword,
    /// Too many passwords are being hashed.
    Busy,
    /// Too many attempts; the next one is allowed after this time.
    TooMany(Duration),
}

impl SignInError {
    /// The status of the page.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::WrongPassword => StatusCode::UNAUTHORIZED,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The alert on the page.
    pub(crate) fn alert(self) -> SignInAlert {
        let minutes = self.wait().map(|wait| wait.as_secs().div_ceil(60).try_into());
        match minutes {
            None => SignInAlert::Wrong,
            Some(minutes) => SignInAlert::TooMany { minutes: minutes.unwrap_or(usize::MAX) },
        }
    }

    /// The time to wait before the next attempt.
    pub(crate) fn wait(self) -> Option<Duration> {
        match self {
            Self::WrongPassword => None,
            Self::Busy => Some(Duration::from_secs(5)),
            Self::TooMany(wait) => Some(wait),
        }
    }
}

impl From<OAuthError> for PageError {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

/// Implements conversions of errors that any endpoint can return.
macro_rules! from_common {
    ($($error:ident from $($cause:ident),*;)*) => {$($(
        impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Common(cause.into())
            }
        }
    )*)*};
}

from_common! {
    OAuthApiError from CommonError, StoreError, LimitExceeded;
    ApiError from CommonError, StoreError, Busy, LimitExceeded;
    PageError from CommonError, StoreError;
}
