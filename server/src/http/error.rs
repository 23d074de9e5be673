//! What a failure says: here and in the folder beside it are all the status codes of failures.

pub(crate) mod format;
mod gateway;
pub(crate) mod limit_exceeded;
mod matrix;
mod oauth;

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::FormError;
use bytes::Bytes;

use self::format::{Codes, ErrorFormat};
use self::limit_exceeded::LimitExceeded;
pub(crate) use self::matrix::MatrixError;
pub(crate) use self::oauth::{ApiError, OAuthApiError, PageError, SignInError};
use crate::http::respond::json::JsonBytes;
use crate::passwords::Busy;
use crate::store::StoreError;

/// A failure that can happen anywhere. Its answer takes the shape of the area that was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommonError {
    /// No route has this path.
    NoSuchPath,
    /// The route of this path has other methods.
    WrongMethod,
    /// The body is larger than this many bytes.
    TooLarge(usize),
    /// The body did not arrive in time.
    TooSlow,
    /// The body broke off.
    Broken,
    /// The limits have no room for the call.
    TooMany(LimitExceeded),
    /// What was sent cannot be read, and why.
    Malformed(String),
    /// The body is no form, multipart form or JSON, or in another charset than UTF-8.
    MediaType,
    /// Something that is needed does not answer, or too many ask for it.
    Unavailable(&'static str),
    /// A mistake of ours; the log says which.
    Internal,
}

impl CommonError {
    /// The answer, in the shape of an area.
    pub(crate) fn answer(&self, format: ErrorFormat) -> Response {
        let (status, codes) = match self {
            Self::TooMany(refused) => return too_many(format, refused.wait()),
            Self::NoSuchPath => (StatusCode::NOT_FOUND, UNRECOGNIZED),
            Self::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, UNRECOGNIZED),
            Self::TooLarge(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                Codes { matrix: "M_TOO_LARGE", oauth: "invalid_request" },
            ),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, UNKNOWN_REQUEST),
            Self::Broken | Self::Malformed(_) => (StatusCode::BAD_REQUEST, UNKNOWN_REQUEST),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, UNKNOWN_REQUEST),
            Self::Unavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Codes { matrix: "M_UNKNOWN", oauth: "temporarily_unavailable" },
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                Codes { matrix: "M_UNKNOWN", oauth: "server_error" },
            ),
        };
        let mut answer = format.error(status, codes, &self.text());
        if matches!(self, Self::Unavailable(_)) {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        answer
    }

    fn text(&self) -> String {
        match self {
            Self::NoSuchPath => "There is nothing at this path".to_owned(),
            Self::WrongMethod => "This path cannot be called with this method".to_owned(),
            Self::TooLarge(most) => format!("The body may have at most {most} bytes"),
            Self::TooSlow => "The body did not arrive in time".to_owned(),
            Self::Broken => "The body broke off".to_owned(),
            Self::TooMany(_) => TOO_MANY.to_owned(),
            Self::Malformed(why) => why.clone(),
            Self::MediaType => "Send the body as application/x-www-form-urlencoded, \
                multipart/form-data or application/json, in UTF-8, and say so in Content-Type"
                .to_owned(),
            Self::Unavailable(why) => (*why).to_owned(),
            Self::Internal => "Something went wrong here; it has been logged".to_owned(),
        }
    }
}

const UNRECOGNIZED: Codes = Codes { matrix: "M_UNRECOGNIZED", oauth: "invalid_request" };
const UNKNOWN_REQUEST: Codes = Codes { matrix: "M_UNKNOWN", oauth: "invalid_request" };

const TOO_MANY: &str = "Too many requests";

/// The refusal of a limit, which must cost as little as can be: most areas have one body for all.
fn too_many(format: ErrorFormat, wait: Duration) -> Response {
    let body = match format {
        ErrorFormat::Matrix => {
            let wait = wait.as_nanos().div_ceil(1_000_000).max(1);
            let start = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"#;
            Bytes::from(format!("{start}\"{TOO_MANY}\",\"retry_after_ms\":{wait}}}"))
        }
        ErrorFormat::OAuth | ErrorFormat::Page | ErrorFormat::Api => {
            Bytes::from_static(br#"{"error":"Too many requests"}"#)
        }
    };
    let mut answer = JsonBytes(body).into_response();
    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    answer.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
    answer
}

/// A problem travels in the answer's extensions until `site.rs`, which knows the area, writes it.
impl IntoResponse for CommonError {
    fn into_response(self) -> Response {
        let mut answer = Response::default();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// The client is told whether another try makes sense, the log what happened.
impl From<StoreError> for CommonError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Nul) {
            return Self::Malformed("A NUL character cannot be kept".to_owned());
        }
        tracing::error!(%error, "the store failed");
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

impl From<Busy> for CommonError {
    fn from(_: Busy) -> Self {
        Self::Unavailable("Too many people are signing in at this moment; try again soon")
    }
}

impl From<LimitExceeded> for CommonError {
    fn from(refused: LimitExceeded) -> Self {
        Self::TooMany(refused)
    }
}
