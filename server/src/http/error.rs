//! What a failure says: the only file with the status codes of failures.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::matrix::{DUMMY, LoginError};
use belfry_core::oauth::account;
use belfry_core::oauth::bearer::BearerError;
use belfry_core::percent::PercentError;
use belfry_core::rules::{Access, Class, PathError, Refusal};
use serde_json::json;

use super::area::{Area, Codes};
use crate::passwords::Busy;
use crate::store::StoreError;

/// A failure that can happen anywhere. Its answer takes the shape of the area that was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
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
    /// Something that is needed does not answer, or too many ask for it.
    Unavailable(&'static str),
    /// A mistake of ours; the log says which.
    Internal,
}

impl Problem {
    /// The answer, in the shape of an area.
    pub(super) fn answer(&self, area: Area) -> Response {
        let (status, codes) = match self {
            Self::NoSuchPath => (StatusCode::NOT_FOUND, UNRECOGNIZED),
            Self::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, UNRECOGNIZED),
            Self::TooLarge(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                Codes { rules: "M_TOO_LARGE", oauth: "invalid_request" },
            ),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, UNKNOWN_REQUEST),
            Self::Broken => (StatusCode::BAD_REQUEST, UNKNOWN_REQUEST),
            Self::Unavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Codes { rules: "M_UNKNOWN", oauth: "temporarily_unavailable" },
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                Codes { rules: "M_UNKNOWN", oauth: "server_error" },
            ),
        };
        let mut answer = area.error(status, codes, &self.text());
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
            Self::Unavailable(why) => (*why).to_owned(),
            Self::Internal => "Something went wrong here; it has been logged".to_owned(),
        }
    }
}

const UNRECOGNIZED: Codes = Codes { rules: "M_UNRECOGNIZED", oauth: "invalid_request" };
const UNKNOWN_REQUEST: Codes = Codes { rules: "M_UNKNOWN", oauth: "invalid_request" };

/// A problem travels in the answer's extensions until `site.rs`, which knows the area, writes it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = Response::default();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// The client is told whether another try makes sense, the log what happened.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed");
        match error {
            StoreError::Unavailable(_) => {
                Self::Unavailable("The database cannot be used at the moment; try again soon")
            }
            _ => Self::Internal,
        }
    }
}

impl From<Busy> for Problem {
    fn from(_: Busy) -> Self {
        Self::Unavailable("Too many people are signing in at this moment; try again soon")
    }
}

/// A failure of the push rules, and of what Matrix clients ask beside them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RuleError {
    #[error("{0:?}")]
    Problem(Problem),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Query(#[from] PercentError),
    #[error(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    Bearer(#[from] BearerError),
    #[error("An access token is needed")]
    MissingToken,
    #[error("The access token is not known, or is no longer good")]
    UnknownToken,
    #[error("This account has been deactivated")]
    Deactivated,
    #[error("This token is that of an app; the token of a user is needed")]
    NoUser,
    #[error("This token lacks the scope {}; push would do too", .0.scope())]
    Scope(Access),
    #[error("This user is not in the namespace of the application service")]
    OutsideNamespace,
    #[error("The application service has no account of this name")]
    NoAccount,
    #[error("user_id may be given once")]
    RepeatedUser,
    #[error("This belongs to another user")]
    Foreign,
    #[error("This is for users; an application service has nothing to sign out of")]
    NoLogout,
    #[error("The name or the password is wrong")]
    WrongPassword,
    #[error("{0}")]
    Login(LoginError),
    #[error("This server does not let strangers make accounts")]
    RegistrationClosed,
    #[error("This server has no guests")]
    Guest,
    #[error("The user name {0}")]
    Username(account::Problem),
    #[error("The password {0}")]
    Password(account::Problem),
    #[error("This user name is kept for an application service")]
    Exclusive,
    /// The registration has another stage to go through; true if it went through an unknown one.
    #[error("Complete one of the flows")]
    Stages { session: String, unknown: bool },
}

impl RuleError {
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Path(error) if error.is_unrecognized() => {
                (StatusCode::BAD_REQUEST, "M_UNRECOGNIZED")
            }
            Self::Path(_) | Self::Query(_) | Self::Bearer(_) | Self::RepeatedUser => {
                (StatusCode::BAD_REQUEST, "M_INVALID_PARAM")
            }
            Self::Refusal(refusal) | Self::Login(LoginError::Body(refusal)) => {
                match refusal.class() {
                    Class::NotJson => (StatusCode::BAD_REQUEST, "M_NOT_JSON"),
                    Class::BadJson => (StatusCode::BAD_REQUEST, "M_BAD_JSON"),
                    Class::MissingParam => (StatusCode::BAD_REQUEST, "M_MISSING_PARAM"),
                    Class::InvalidParam => (StatusCode::BAD_REQUEST, "M_INVALID_PARAM"),
                    Class::Unknown => (StatusCode::BAD_REQUEST, "M_UNKNOWN"),
                    Class::NotFound => (StatusCode::NOT_FOUND, "M_NOT_FOUND"),
                    Class::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "M_TOO_LARGE"),
                }
            }
            Self::Login(LoginError::Type | LoginError::Identifier) => {
                (StatusCode::BAD_REQUEST, "M_UNKNOWN")
            }
            Self::MissingToken => (StatusCode::UNAUTHORIZED, "M_MISSING_TOKEN"),
            Self::UnknownToken => (StatusCode::UNAUTHORIZED, "M_UNKNOWN_TOKEN"),
            Self::Stages { .. } => (StatusCode::UNAUTHORIZED, "M_UNRECOGNIZED"),
            // Not 401: clients would forget all they know of an account that may come back.
            Self::Deactivated => (StatusCode::FORBIDDEN, "M_USER_DEACTIVATED"),
            Self::Guest => (StatusCode::FORBIDDEN, "M_GUEST_ACCESS_FORBIDDEN"),
            Self::NoUser
            | Self::Scope(_)
            | Self::OutsideNamespace
            | Self::NoAccount
            | Self::Foreign
            | Self::NoLogout
            | Self::WrongPassword
            | Self::RegistrationClosed => (StatusCode::FORBIDDEN, "M_FORBIDDEN"),
            Self::Username(account::Problem::Taken) => (StatusCode::BAD_REQUEST, "M_USER_IN_USE"),
            Self::Username(_) => (StatusCode::BAD_REQUEST, "M_INVALID_USERNAME"),
            Self::Password(_) => (StatusCode::BAD_REQUEST, "M_WEAK_PASSWORD"),
            Self::Exclusive => (StatusCode::BAD_REQUEST, "M_EXCLUSIVE"),
            Self::Problem(_) => (StatusCode::INTERNAL_SERVER_ERROR, "M_UNKNOWN"),
        }
    }

    /// What the header says to clients that know OAuth and not Matrix.
    fn challenge(&self) -> Option<HeaderValue> {
        match self {
            Self::MissingToken => Some(HeaderValue::from_static("Bearer")),
            Self::UnknownToken => Some(HeaderValue::from_static("Bearer error=\"invalid_token\"")),
            Self::Scope(access) => {
                let scope = access.scope();
                let text = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                HeaderValue::from_str(&text).ok()
            }
            _ => None,
        }
    }
}

impl IntoResponse for RuleError {
    fn into_response(self) -> Response {
        if let Self::Problem(problem) = self {
            return problem.into_response();
        }
        let (status, errcode) = self.status();
        let mut body = json!({ "errcode": errcode, "error": self.to_string() });
        match &self {
            Self::UnknownToken => body["soft_logout"] = false.into(),
            Self::Stages { session, unknown } => {
                let flows = json!([{ "stages": [DUMMY] }]);
                let mut stages = json!({ "flows": flows, "params": {}, "session": session });
                if *unknown {
                    stages["errcode"] = body["errcode"].take();
                    stages["error"] = body["error"].take();
                }
                body = stages;
            }
            _ => {}
        }
        let mut answer = (status, Json(body)).into_response();
        if let Some(challenge) = self.challenge() {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        answer
    }
}

impl From<Problem> for RuleError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for RuleError {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<Busy> for RuleError {
    fn from(busy: Busy) -> Self {
        Self::Problem(busy.into())
    }
}

impl From<LoginError> for RuleError {
    fn from(error: LoginError) -> Self {
        Self::Login(error)
    }
}
