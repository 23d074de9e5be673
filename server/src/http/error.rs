//! Errors of handlers. This module and its children hold all status codes and texts of failures.

mod api;
pub(crate) mod format;
pub(crate) mod gateway;
pub(crate) mod limit_exceeded;
mod matrix;
mod oauth;
mod page;

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::FormError;
use bytes::Bytes;

pub(crate) use self::api::ApiError;
use self::format::{Codes, ErrorFormat};
use self::limit_exceeded::LimitExceeded;
pub(crate) use self::matrix::MatrixError;
pub(crate) use self::oauth::OAuthApiError;
pub(crate) use self::page::{PageError, SignInError};
use crate::http::respond::json::JsonBytes;
use crate::passwords::Busy;
use crate::store::StoreError;

/// Implements conversions of errors that any endpoint can return.
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

/// An error that any endpoint can return. The layer of the area writes it in the format of the area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommonError {
    /// No route has this path.
    NotFound,
    /// The route of this path does not have this method.
    MethodNotAllowed,
    /// The body is larger than this many bytes.
    BodyTooLarge(usize),
    /// The body did not arrive in time.
    BodyTimeout,
    /// The connection closed before the whole body arrived.
    BodyIncomplete,
    /// A rate limit is exceeded.
    LimitExceeded(LimitExceeded),
    /// The request cannot be parsed, for this reason.
    Malformed(String),
    /// The body is not a form, a multipart form or JSON in UTF-8.
    UnsupportedMediaType,
    /// The database is unreachable or the server is overloaded.
    Unavailable(&'static str),
    /// An error of the server; its cause is in the log.
    Internal,
}

impl CommonError {
    /// The response in this format.
    pub(crate) fn to_response(&self, format: ErrorFormat) -> Response {
        let (status, codes) = match self {
            Self::LimitExceeded(exceeded) => {
                return too_many_requests(format, exceeded.retry_after());
            }
            Self::NotFound => (StatusCode::NOT_FOUND, UNRECOGNIZED),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, UNRECOGNIZED),
            Self::BodyTooLarge(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                Codes { matrix: "M_TOO_LARGE", oauth: "invalid_request" },
            ),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, UNKNOWN_REQUEST),
            Self::BodyIncomplete | Self::Malformed(_) => (StatusCode::BAD_REQUEST, UNKNOWN_REQUEST),
            Self::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, UNKNOWN_REQUEST),
            Self::Unavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Codes { matrix: "M_UNKNOWN", oauth: "temporarily_unavailable" },
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                Codes { matrix: "M_UNKNOWN", oauth: "server_error" },
            ),
        };
        let mut response = format.error(status, codes, &self.text());
        if matches!(self, Self::Unavailable(_)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }

    fn text(&self) -> String {
        match self {
            Self::NotFound => "There is nothing at this path".to_owned(),
            Self::MethodNotAllowed => "This path cannot be called with this method".to_owned(),
            Self::BodyTooLarge(limit) => format!("The body may have at most {limit} bytes"),
            Self::BodyTimeout => "The body did not arrive in time".to_owned(),
            Self::BodyIncomplete => {
                "The connection closed before the whole body arrived".to_owned()
            }
            Self::LimitExceeded(_) => TOO_MANY.to_owned(),
            Self::Malformed(reason) => reason.clone(),
            Self::UnsupportedMediaType => "Send the body as application/x-www-form-urlencoded, \
                multipart/form-data or application/json, in UTF-8, and say so in Content-Type"
                .to_owned(),
            Self::Unavailable(reason) => (*reason).to_owned(),
            Self::Internal => "Internal server error; the cause has been logged".to_owned(),
        }
    }
}

const UNRECOGNIZED: Codes = Codes { matrix: "M_UNRECOGNIZED", oauth: "invalid_request" };
const UNKNOWN_REQUEST: Codes = Codes { matrix: "M_UNKNOWN", oauth: "invalid_request" };

const TOO_MANY: &str = "Too many requests";

/// The response to a request over a limit. Written by hand, because it must stay cheap under load.
fn too_many_requests(format: ErrorFormat, wait: Duration) -> Response {
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
    let retry_after = [(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)))];
    (StatusCode::TOO_MANY_REQUESTS, retry_after, JsonBytes(body)).into_response()
}

/// Stores the error in the extensions of the response; the layer of the area writes the body.
impl IntoResponse for CommonError {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

/// The client learns whether to try again, the log has the cause.
impl From<StoreError> for CommonError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Nul) {
            return Self::Malformed("NUL characters are not allowed".to_owned());
        }
        tracing::error!(%error, "database error");
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
        Self::Unavailable("Too many sign-ins at the moment; try again soon")
    }
}

impl From<LimitExceeded> for CommonError {
    fn from(exceeded: LimitExceeded) -> Self {
        Self::LimitExceeded(exceeded)
    }
}
