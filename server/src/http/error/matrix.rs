//! Errors in the Matrix format: `{"errcode": "M_…", "error": "…"}`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::account::{FieldError, NameError};
use belfry_core::json::JsonError;
use belfry_core::matrix::{LOGIN_PASSWORD, LoginError, MatrixErrorCode, STAGE_DUMMY};
use belfry_core::oauth::scope::Scope;
use belfry_core::oauth::token::MultipleTokens;
use belfry_core::percent::PercentError;
use belfry_core::push::pusher::{ActivationError, PusherError};
use belfry_core::rules::{PathError, RuleError};
use belfry_delivery::acceptance::{EnqueueError, MAX_TARGETS};
use belfry_store::{RuleWriteError, StoreError};
use serde_json::json;

use super::{CommonError, LimitExceeded, describe_missing_scopes, from_common, with_challenge};
use crate::account_memory::{AccountBusy, TooManyUnreadResponses};
use crate::auth::authentication::{AuthenticationError, SignUpError, VerifyError};
use crate::auth::passwords::HashQueueFull;
use crate::auth::tokens::IssueError;
use crate::evaluation::pool::EvaluationError;
use crate::http::json::Json;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MatrixError {
    #[error(transparent)]
    Common(#[from] CommonError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("There is nothing at this path; add a slash at its end")]
    MissingSlash,
    #[error(transparent)]
    Query(#[from] PercentError),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    Bearer(#[from] MultipleTokens),
    #[error("An access token is required")]
    MissingToken,
    #[error("The access token is unknown or no longer valid")]
    UnknownToken,
    /// The client can get another with its refresh token.
    #[error("The access token has expired; refresh it")]
    ExpiredToken,
    #[error("This account has been deactivated")]
    Deactivated,
    #[error("This token belongs to an app; the token of a user is required")]
    UserRequired,
    /// The token has none of these scopes.
    #[error("{}", describe_missing_scopes(*.0, "or"))]
    MissingScope(&'static [Scope]),
    #[error("This user is not in the namespace of the application service")]
    OutsideNamespace,
    #[error("User ids of this server have the form @NAME:{0}")]
    OtherServer(String),
    #[error("There is no account with this name")]
    NoAccount,
    #[error("user_id may be given only once")]
    RepeatedUser,
    #[error("This endpoint requires the token of an application service")]
    ApplicationServiceRequired,
    #[error("The user id in the path is not that of the access token")]
    OtherUser,
    #[error("There is no such device")]
    NoDevice,
    /// Deleting a device other than that of the token.
    #[error("Send the user's password in auth")]
    PasswordRequired,
    #[error("An application service cannot log out")]
    ServiceLogout,
    #[error("The name or the password is wrong")]
    WrongPassword,
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error("Registration is closed on this server")]
    RegistrationClosed,
    #[error("Matrix clients cannot sign in to this server: its operator has disabled them")]
    ClientsDisabled,
    #[error("Guest accounts are not supported")]
    GuestsUnsupported,
    #[error("The user name {0}")]
    Username(NameError),
    #[error("The password {0}")]
    Password(FieldError),
    #[error("This user name is reserved for an application service")]
    ReservedName,
    #[error("This user name is not in the namespaces of the application service")]
    NameOutsideNamespace,
    #[error(transparent)]
    Pusher(#[from] PusherError),
    #[error(
        "Push notifications are not configured on this server; its operator can enable them by \
         setting push.contact"
    )]
    DeliveryOff,
    #[error("An event may go to at most {MAX_TARGETS} pushers; name fewer members in a request")]
    TooManyPushers,
    #[error("This app has no pusher that waits for an acknowledgement")]
    NoPusher,
    #[error("The token has expired; set the pusher again to get a new one")]
    ExpiredAckToken,
    #[error("The token is not the one that was sent to the pusher")]
    UnknownAckToken,
    /// The client has not completed the registration's stage; `is_unknown_stage` if it sent an
    /// unknown one.
    #[error("Complete one of the flows")]
    IncompleteStages { session: String, is_unknown_stage: bool },
}

impl MatrixError {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::MissingSlash => (StatusCode::NOT_FOUND, "M_UNRECOGNIZED"),
            Self::Path(error) if error.is_unrecognized() => {
                (StatusCode::BAD_REQUEST, "M_UNRECOGNIZED")
            }
            Self::Path(_) | Self::Query(_) | Self::Bearer(_) | Self::RepeatedUser => {
                (StatusCode::BAD_REQUEST, "M_INVALID_PARAM")
            }
            Self::Rule(error) => status_for_code(error.code()),
            Self::Json(error) | Self::Login(LoginError::Json(error)) => {
                status_for_code(error.into())
            }
            Self::Login(
                LoginError::UnsupportedLoginType | LoginError::UnsupportedIdentifierType,
            ) => (StatusCode::BAD_REQUEST, "M_UNKNOWN"),
            Self::Pusher(error) => status_for_code(error.code()),
            Self::DeliveryOff => (StatusCode::SERVICE_UNAVAILABLE, "M_UNKNOWN"),
            Self::TooManyPushers => status_for_code(MatrixErrorCode::TooLarge),
            Self::NoPusher | Self::NoDevice => (StatusCode::NOT_FOUND, "M_NOT_FOUND"),
            Self::ExpiredAckToken => (StatusCode::BAD_REQUEST, "M_EXPIRED_ACTIVATION_TOKEN"),
            Self::UnknownAckToken => (StatusCode::BAD_REQUEST, "M_UNKNOWN_ACTIVATION_TOKEN"),
            Self::MissingToken => (StatusCode::UNAUTHORIZED, "M_MISSING_TOKEN"),
            Self::UnknownToken | Self::ExpiredToken => {
                (StatusCode::UNAUTHORIZED, "M_UNKNOWN_TOKEN")
            }
            Self::IncompleteStages { .. } | Self::PasswordRequired => {
                (StatusCode::UNAUTHORIZED, "M_UNRECOGNIZED")
            }
            // Not 401: clients would delete their data, but the account may be enabled again.
            Self::Deactivated => (StatusCode::FORBIDDEN, "M_USER_DEACTIVATED"),
            Self::GuestsUnsupported => (StatusCode::FORBIDDEN, "M_GUEST_ACCESS_FORBIDDEN"),
            Self::Username(NameError::Taken) => (StatusCode::BAD_REQUEST, "M_USER_IN_USE"),
            Self::Username(_) => (StatusCode::BAD_REQUEST, "M_INVALID_USERNAME"),
            Self::Password(_) => (StatusCode::BAD_REQUEST, "M_WEAK_PASSWORD"),
            Self::ReservedName | Self::NameOutsideNamespace => {
                (StatusCode::BAD_REQUEST, "M_EXCLUSIVE")
            }
            _ => (StatusCode::FORBIDDEN, "M_FORBIDDEN"),
        }
    }

    /// Returns the `WWW-Authenticate` header for OAuth clients (RFC 6750, section 3).
    fn challenge(&self) -> Option<String> {
        match self {
            Self::MissingToken => Some("Bearer".to_owned()),
            Self::UnknownToken | Self::ExpiredToken => {
                Some("Bearer error=\"invalid_token\"".to_owned())
            }
            Self::MissingScope(scopes) => {
                let scope = scopes[0];
                Some(format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""))
            }
            _ => None,
        }
    }
}

/// Returns the HTTP status for a Matrix error code, and the code as text.
fn status_for_code(code: MatrixErrorCode) -> (StatusCode, &'static str) {
    let status = match code {
        MatrixErrorCode::NotFound => StatusCode::NOT_FOUND,
        MatrixErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    };
    (status, code.as_str())
}

impl IntoResponse for MatrixError {
    fn into_response(self) -> Response {
        if let Self::Common(error) = self {
            return error.into_response();
        }
        let (status, errcode) = self.status_and_code();
        let mut body = json!({ "errcode": errcode, "error": self.to_string() });
        match &self {
            Self::UnknownToken => body["soft_logout"] = false.into(),
            Self::ExpiredToken => body["soft_logout"] = true.into(),
            Self::PasswordRequired => {
                let flows = json!([{ "stages": [LOGIN_PASSWORD] }]);
                body = json!({ "flows": flows, "params": {}, "session": "password" });
            }
            Self::IncompleteStages { session, is_unknown_stage } => {
                let flows = json!([{ "stages": [STAGE_DUMMY] }]);
                let mut stages = json!({ "flows": flows, "params": {}, "session": session });
                if *is_unknown_stage {
                    stages["errcode"] = body["errcode"].take();
                    stages["error"] = body["error"].take();
                }
                body = stages;
            }
            _ => {}
        }
        with_challenge((status, Json(body)).into_response(), self.challenge().as_deref())
    }
}

impl From<RuleWriteError> for MatrixError {
    fn from(error: RuleWriteError) -> Self {
        match error {
            RuleWriteError::Rejected(error) => error.into(),
            RuleWriteError::TooManyConflicts => {
                CommonError::Unavailable("The rules were changed concurrently too often; try again")
                    .into()
            }
            RuleWriteError::NoAccount => Self::Deactivated,
            RuleWriteError::Store(error) => error.into(),
        }
    }
}

impl From<ActivationError> for MatrixError {
    fn from(error: ActivationError) -> Self {
        match error {
            ActivationError::NoPusher => Self::NoPusher,
            ActivationError::UnknownToken => Self::UnknownAckToken,
            ActivationError::ExpiredToken => Self::ExpiredAckToken,
        }
    }
}

impl From<EnqueueError> for MatrixError {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::QueueFull => {
                CommonError::Unavailable("Too many messages are waiting to be delivered").into()
            }
            EnqueueError::Store(error) => error.into(),
        }
    }
}

impl From<VerifyError> for MatrixError {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Rejected(AuthenticationError::WrongPassword) => Self::WrongPassword,
            VerifyError::Rejected(AuthenticationError::Disabled) => Self::Deactivated,
            VerifyError::Rejected(AuthenticationError::Busy) => HashQueueFull.into(),
            VerifyError::Rejected(AuthenticationError::TooManyAttempts(retry_after)) => {
                LimitExceeded { retry_after }.into()
            }
            VerifyError::Store(error) => error.into(),
        }
    }
}

impl From<SignUpError> for MatrixError {
    fn from(error: SignUpError) -> Self {
        match error {
            SignUpError::NameTaken => Self::Username(NameError::Taken),
            SignUpError::Busy(error) => error.into(),
            SignUpError::Store(error) => error.into(),
        }
    }
}

impl From<IssueError> for MatrixError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::AppDisabled { .. } => Self::ClientsDisabled,
            IssueError::AppOrAccountDisabled => Self::Deactivated,
            IssueError::SignInRejected => Self::WrongPassword,
            IssueError::Store(error) => error.into(),
        }
    }
}

from_common!(
    MatrixError from EvaluationError, HashQueueFull, AccountBusy, LimitExceeded, StoreError,
    TooManyUnreadResponses
);
