//! What a failure of OAuth says: to programs, to apps, and to people.

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

/// A failure of an OAuth endpoint: `{"error": "code", "error_description": "…"}`.
#[derive(Debug)]
pub(crate) enum OAuthApiError {
    /// The protocol says no.
    Refused(OAuthError),
    /// Something that can happen anywhere.
    Common(CommonError),
}

impl IntoResponse for OAuthApiError {
    fn into_response(self) -> Response {
        let refusal = match self {
            Self::Refused(refusal) => refusal,
            Self::Common(problem) => return problem.into_response(),
        };
        let status = status_of(refusal);
        let body = json!({
            "error": refusal.code().as_str(),
            "error_description": refusal.to_string(),
        });
        let mut answer = (status, Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            demand(&mut answer, "Basic realm=\"belfry\"");
        }
        answer
    }
}

/// The status of a refusal that is answered, not redirected.
fn status_of(refusal: OAuthError) -> StatusCode {
    match refusal.code() {
        ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
        ErrorCode::UnauthorizedClient => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// A failure of the API: `{"error": "…"}`. The texts are Mastodon's; clients compare them.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// There is no token.
    MissingToken,
    /// The token is unknown, or no token at all.
    InvalidToken,
    /// The token was revoked.
    RevokedToken,
    /// The token's time is over.
    ExpiredToken,
    /// The token's account is disabled.
    DisabledAccount,
    /// The token may not be used for this.
    OutsideScopes,
    /// The token is an app's own, and this is for people.
    NoUser,
    /// The token is a person's, and this is for apps.
    NotAnApp,
    /// Strangers may not make accounts.
    RegistrationClosed,
    /// What was sent is wrong: the sentence, and what is wrong with each field.
    Invalid(String, Option<Value>),
    /// Something that can happen anywhere.
    Common(CommonError),
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Common(problem) => return problem.into_response(),
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
            Self::NoUser => {
                (StatusCode::UNPROCESSABLE_ENTITY, "This method requires an authenticated user")
            }
            Self::NotAnApp => {
                (StatusCode::FORBIDDEN, "This method requires an client credentials authentication")
            }
            Self::RegistrationClosed => {
                (StatusCode::FORBIDDEN, "Registration is closed on this server")
            }
        };
        let mut answer = (status, Json(json!({ "error": text }))).into_response();
        match self {
            // Who sent no token is told what is needed, not what was wrong (RFC 6750, section 3.1).
            Self::MissingToken => demand(&mut answer, "Bearer realm=\"belfry\""),
            _ if status == StatusCode::UNAUTHORIZED => demand(
                &mut answer,
                &format!(
                    "Bearer realm=\"belfry\", error=\"invalid_token\", error_description=\"{text}\""
                ),
            ),
            _ => {}
        }
        answer
    }
}

/// Says how a caller can prove who they are.
fn demand(answer: &mut Response, challenge: &str) {
    let challenge = HeaderValue::from_str(challenge).expect("the texts are plain ASCII");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
}

impl From<OAuthError> for OAuthApiError {
    fn from(refusal: OAuthError) -> Self {
        Self::Refused(refusal)
    }
}

impl From<GrantError> for OAuthApiError {
    fn from(error: GrantError) -> Self {
        Self::Refused(error.into())
    }
}

impl ApiError {
    /// What is wrong with a registration, in the reader's language.
    pub(crate) fn invalid_app(invalid: &ValidationErrors<AppError>, format: &PageFormat) -> Self {
        Self::Invalid(invalid.localize(format.0), None)
    }

    /// What is wrong with a sign-up, and with each of its fields.
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

/// A failure that a person sees, as a page.
#[derive(Debug)]
pub(crate) enum PageError {
    /// The protocol says no, and there is nowhere to send the answer.
    Refused(OAuthError),
    /// The request is not this browser's, or no longer open.
    Expired,
    /// The form may not be one of ours.
    Unchecked,
    /// Something that can happen anywhere.
    Common(CommonError),
}

impl PageError {
    /// The status of the page.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(refusal) => status_of(*refusal),
            Self::Expired => StatusCode::BAD_REQUEST,
            Self::Unchecked => StatusCode::FORBIDDEN,
            Self::Common(problem) => problem.answer(ErrorFormat::Page).status(),
        }
    }

    /// What the page is about.
    pub(crate) fn cause(&self) -> ErrorCause {
        match self {
            Self::Refused(refusal) => ErrorCause::Refused(*refusal),
            Self::Expired => ErrorCause::Expired,
            Self::Unchecked => ErrorCause::Unchecked,
            Self::Common(CommonError::TooMany(_)) => ErrorCause::TooMany,
            Self::Common(CommonError::NoSuchPath) => ErrorCause::NotFound,
            Self::Common(CommonError::Unavailable(_) | CommonError::Internal) => {
                ErrorCause::Internal
            }
            Self::Common(_) => ErrorCause::Malformed,
        }
    }

    /// The same for a program.
    pub(crate) fn answer(self) -> Response {
        let invalid = |text| ErrorFormat::Page.error(self.status(), UNKNOWN_REQUEST, text);
        match self {
            Self::Refused(refusal) => OAuthApiError::Refused(refusal).into_response(),
            Self::Common(problem) => problem.into_response(),
            Self::Expired => invalid("The request has been answered or is too old"),
            Self::Unchecked => invalid("The form does not come from a page of this server"),
        }
    }
}

/// Why somebody was not signed in, and sees the page again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInError {
    /// There is no such account, or its password is another.
    Wrong,
    /// Too many passwords are being hashed.
    Busy,
    /// Too many attempts; the next one may be made after this time.
    TooMany(Duration),
}

impl SignInError {
    /// The status of the page.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Wrong => StatusCode::UNAUTHORIZED,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// What the page says.
    pub(crate) fn alert(self) -> SignInAlert {
        let minutes = self.wait().map(|wait| wait.as_secs().div_ceil(60).try_into());
        match minutes {
            None => SignInAlert::Wrong,
            Some(minutes) => SignInAlert::TooMany { minutes: minutes.unwrap_or(usize::MAX) },
        }
    }

    /// How long to wait before the next attempt.
    pub(crate) fn wait(self) -> Option<Duration> {
        match self {
            Self::Wrong => None,
            Self::Busy => Some(Duration::from_secs(5)),
            Self::TooMany(wait) => Some(wait),
        }
    }
}

impl From<OAuthError> for PageError {
    fn from(refusal: OAuthError) -> Self {
        Self::Refused(refusal)
    }
}

/// What can happen anywhere can happen to these too.
macro_rules! can_be_a_problem {
    ($($error:ident from $($cause:ident),*;)*) => {$($(
        impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Common(cause.into())
            }
        }
    )*)*};
}

can_be_a_problem! {
    OAuthApiError from CommonError, StoreError, LimitExceeded;
    ApiError from CommonError, StoreError, Busy, LimitExceeded;
    PageError from CommonError, StoreError;
}
