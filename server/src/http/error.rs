//! Errors of handlers, with their status codes and formats.

mod api;
pub(crate) mod gateway;
mod matrix;
mod oauth;
mod page;

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::form::FormError;
use belfry_core::limits::RateLimitDecision;
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::scope::Scope;
use belfry_runtime::log_throttle::LogThrottle;
use belfry_store::StoreError;
use bytes::Bytes;
use serde_json::json;

pub(crate) use self::api::ApiError;
pub(crate) use self::matrix::MatrixError;
pub(crate) use self::oauth::{OAuthApiError, log_rejection};
pub(crate) use self::page::{PageError, SubmitError, security_status, sign_in_status};
use crate::account_memory::{AccountBusy, TooManyUnreadResponses};
use crate::auth::passwords::HashQueueFull;
use crate::config::RateLimitMode;
use crate::evaluation::pool::EvaluationError;
use crate::http::json::{Json, JsonBytes};
use crate::paths::{ACCOUNT, OPENAPI};

/// Implements `From` for the causes of a [`CommonError`], which the target type wraps.
macro_rules! from_common {
    ($error:ident from $($cause:ident),*) => {$(
        impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Common(cause.into())
            }
        }
    )*};
}
use from_common;

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
    fn error_response(
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

static DATABASE_ERROR_LOG: LogThrottle = LogThrottle::new("database error");

/// An error that any endpoint can return. The area's layer writes it in the area's format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommonError {
    #[error("There is nothing at this path")]
    NotFound,
    /// A program requested the front page.
    #[error(
        "There is nothing at this path; {OPENAPI} describes the API, and {ACCOUNT} is the \
         account page"
    )]
    FrontPage,
    #[error("This path cannot be called with this method")]
    MethodNotAllowed,
    #[error("The body must not be larger than {0} bytes")]
    BodyTooLarge(usize),
    #[error("The body did not arrive in time")]
    BodyTimeout,
    #[error("The connection closed before the whole body arrived")]
    BodyIncomplete,
    #[error(transparent)]
    LimitExceeded(#[from] LimitExceeded),
    #[error("{0}")]
    Malformed(String),
    #[error(
        "Send the body as application/x-www-form-urlencoded, multipart/form-data or \
         application/json, in UTF-8, and say so in Content-Type"
    )]
    UnsupportedMediaType,
    /// The account must wait for its earlier requests, regardless of the server's load.
    #[error("{0}")]
    AccountBusy(&'static str),
    /// The database is unreachable or the server is overloaded.
    #[error("{0}")]
    Unavailable(&'static str),
    #[error("Internal server error; the cause has been logged")]
    Internal,
}

impl CommonError {
    pub(crate) fn to_response(&self, format: ErrorFormat) -> Response {
        let (status, matrix_code, oauth_code) = match self {
            Self::LimitExceeded(exceeded) => return exceeded.to_response(format),
            Self::AccountBusy(message) => return account_busy_response(message, format),
            Self::NotFound | Self::FrontPage => {
                (StatusCode::NOT_FOUND, "M_UNRECOGNIZED", "invalid_request")
            }
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "M_UNRECOGNIZED", "invalid_request")
            }
            Self::BodyTooLarge(_) => {
                (StatusCode::PAYLOAD_TOO_LARGE, "M_TOO_LARGE", "invalid_request")
            }
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "M_UNKNOWN", "invalid_request"),
            Self::BodyIncomplete | Self::Malformed(_) => {
                (StatusCode::BAD_REQUEST, "M_UNKNOWN", "invalid_request")
            }
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "M_UNKNOWN", "invalid_request")
            }
            Self::Unavailable(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "M_UNKNOWN", "temporarily_unavailable")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "M_UNKNOWN", "server_error"),
        };
        let mut response =
            format.error_response(status, matrix_code, oauth_code, &self.to_string());
        if matches!(self, Self::Unavailable(_)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

/// Returns the response to an account that must wait for its earlier requests, which usually take a
/// fraction of a second.
fn account_busy_response(message: &str, format: ErrorFormat) -> Response {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = match format {
        ErrorFormat::Matrix => {
            let errcode = "M_LIMIT_EXCEEDED";
            let body = json!({ "errcode": errcode, "error": message, "retry_after_ms": 1000 });
            (status, Json(body)).into_response()
        }
        _ => format.error_response(status, "M_LIMIT_EXCEEDED", "temporarily_unavailable", message),
    };
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Stores the error in the response's extensions; the area's layer writes the body.
impl IntoResponse for CommonError {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

/// NUL characters are the client's error. The cause of any other error is only logged; the response
/// shows whether the client should retry.
impl From<StoreError> for CommonError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Nul) {
            return Self::Malformed("NUL characters are not allowed".to_owned());
        }
        if DATABASE_ERROR_LOG.admits() {
            tracing::error!(%error, "database error");
        }
        match error {
            StoreError::Unavailable(_) => {
                Self::Unavailable("The database cannot be used at the moment; try again soon")
            }
            _ => Self::Internal,
        }
    }
}

impl From<FormError> for CommonError {
    fn from(error: FormError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl From<HashQueueFull> for CommonError {
    fn from(_: HashQueueFull) -> Self {
        Self::Unavailable("Too many sign-ins at the moment; try again soon")
    }
}

impl From<EvaluationError> for CommonError {
    fn from(error: EvaluationError) -> Self {
        match error {
            EvaluationError::QueueFull => {
                Self::Unavailable("Too many events are being evaluated; try again soon")
            }
            EvaluationError::AccountBusy => Self::AccountBusy(
                "Another request from this account is being evaluated; try again soon",
            ),
            EvaluationError::Panicked => Self::Internal,
        }
    }
}

impl From<AccountBusy> for CommonError {
    fn from(_: AccountBusy) -> Self {
        Self::AccountBusy("Another large request from this account is in progress; try again soon")
    }
}

impl From<TooManyUnreadResponses> for CommonError {
    fn from(_: TooManyUnreadResponses) -> Self {
        Self::AccountBusy("Read the responses to earlier requests first; then try again")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Too many requests")]
pub struct LimitExceeded {
    /// Time until the client may retry.
    pub retry_after: Duration,
}

impl LimitExceeded {
    /// Returns an error if the decision rejects the request and limits are enforced.
    pub(crate) fn check(decision: &RateLimitDecision, mode: RateLimitMode) -> Result<(), Self> {
        match decision.retry_after() {
            Some(retry_after) if mode == RateLimitMode::Enforce => Err(Self { retry_after }),
            _ => Ok(()),
        }
    }

    /// Returns the response in this format. The body is formatted without `serde_json`, because the
    /// response must stay cheap under load.
    fn to_response(self, format: ErrorFormat) -> Response {
        let body = match format {
            ErrorFormat::Matrix => {
                let millis = self.retry_after.as_micros().div_ceil(1000).max(1);
                let retry_after_ms = u64::try_from(millis).unwrap_or(u64::MAX);
                let body_start = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many requests""#;
                Bytes::from(format!("{body_start},\"retry_after_ms\":{retry_after_ms}}}"))
            }
            ErrorFormat::OAuth | ErrorFormat::Page | ErrorFormat::Api => {
                Bytes::from_static(br#"{"error":"Too many requests"}"#)
            }
        };
        let seconds = HeaderValue::from(whole_seconds(self.retry_after));
        let retry_after = [(header::RETRY_AFTER, seconds)];
        (StatusCode::TOO_MANY_REQUESTS, retry_after, JsonBytes(body)).into_response()
    }
}

/// Describes the scopes that a token lacks. The conjunction is `or` if any one of them would
/// suffice, and `and` if all are required. Example:
/// `This token lacks the scope read:notifications or push`.
fn describe_missing_scopes<'a>(
    scopes: impl IntoIterator<Item = &'a Scope>,
    conjunction: &str,
) -> String {
    // Matrix's scope replaces all others for clients of the issuer below `/id`, which know it.
    let scopes = scopes.into_iter().filter(|scope| **scope != Scope::MatrixApi);
    let names: Vec<&str> = scopes.map(|scope| scope.as_str()).collect();
    let noun = if names.len() > 1 && conjunction == "and" { "scopes" } else { "scope" };
    format!("This token lacks the {noun} {}", names.join(&format!(" {conjunction} ")))
}

/// Adds a `WWW-Authenticate` header, if there is a challenge.
fn with_challenge(mut response: Response, challenge: Option<&str>) -> Response {
    if let Some(challenge) = challenge {
        let challenge = HeaderValue::from_str(challenge).expect("challenges are plain ASCII");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
