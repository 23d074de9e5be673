//! Errors of the pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::error::OAuthError;
use belfry_store::{RuleWriteError, StoreError};

use super::oauth::{oauth_response, oauth_status};
use super::{CommonError, ErrorFormat, LimitExceeded, from_common};
use crate::account_memory::{AccountBusy, TooManyUnreadResponses};
use crate::auth::authentication::AuthenticationError;
use crate::evaluation::pool::EvaluationError;
use crate::pages::{AccountSection, ErrorCause, Notice, SecurityFormError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// An OAuth error that cannot be sent to a redirect URI.
    #[error(transparent)]
    OAuth(#[from] OAuthError),
    /// The authorization request belongs to another browser, is completed, or has expired.
    #[error("The authorization request is completed or has expired")]
    Expired,
    /// The form may come from another site: its CSRF token or origin is wrong.
    #[error("The form does not come from a page of this server")]
    ForgedForm,
    #[error("Registration is closed on this server")]
    RegistrationClosed,
    /// No account is signed in. The browser is redirected to the sign-in page, and from there back
    /// to this account page, which shows the notice.
    #[error("Sign in first")]
    SignInRequired(AccountSection, Option<Notice>),
    #[error(transparent)]
    Common(#[from] CommonError),
}

impl PageError {
    /// Returns the HTTP status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::OAuth(error) => oauth_status(error),
            Self::Expired => StatusCode::BAD_REQUEST,
            Self::ForgedForm | Self::RegistrationClosed => StatusCode::FORBIDDEN,
            Self::SignInRequired(..) => StatusCode::UNAUTHORIZED,
            Self::Common(error) => error.to_response(ErrorFormat::Page).status(),
        }
    }

    pub(crate) fn cause(&self) -> ErrorCause {
        match self {
            Self::OAuth(error) => ErrorCause::OAuth(error.clone()),
            Self::Expired | Self::SignInRequired(..) => ErrorCause::Expired,
            Self::ForgedForm => ErrorCause::ForgedForm,
            Self::RegistrationClosed => ErrorCause::RegistrationClosed,
            Self::Common(CommonError::LimitExceeded(error)) => {
                ErrorCause::RateLimited(error.retry_after)
            }
            Self::Common(CommonError::NotFound) => ErrorCause::NotFound,
            Self::Common(CommonError::AccountBusy(_) | CommonError::Unavailable(_)) => {
                ErrorCause::Busy
            }
            Self::Common(CommonError::Internal) => ErrorCause::Internal,
            Self::Common(_) => ErrorCause::Malformed,
        }
    }

    /// Returns the response to a client that accepts JSON but not HTML.
    pub(crate) fn into_json(self) -> Response {
        let status = self.status();
        let text = self.to_string();
        match self {
            Self::OAuth(error) => oauth_response(&error, &text),
            Self::Common(error) => error.into_response(),
            _ => ErrorFormat::Page.error_response(status, "M_UNKNOWN", "invalid_request", &text),
        }
    }
}

/// The reason why a form had no effect.
pub(crate) enum SubmitError<R> {
    /// The page shows the form again, with the reason.
    Rejected(R),
    Failed(PageError),
}

impl<R, E: Into<PageError>> From<E> for SubmitError<R> {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl<R> SubmitError<R> {
    /// Returns the reason to show, or the error of a form that failed.
    pub(crate) fn into_reason(self) -> Result<R, PageError> {
        match self {
            Self::Rejected(reason) => Ok(reason),
            Self::Failed(error) => Err(error),
        }
    }
}

/// Returns the page status after a failed authentication.
pub(crate) fn sign_in_status(error: AuthenticationError) -> StatusCode {
    match error {
        AuthenticationError::WrongPassword => StatusCode::UNAUTHORIZED,
        AuthenticationError::Disabled => StatusCode::FORBIDDEN,
        AuthenticationError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        AuthenticationError::TooManyAttempts(_) => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// Returns the status of the security page: that of the first error of a form, if there is one.
pub(crate) fn security_status(errors: &[SecurityFormError]) -> StatusCode {
    use SecurityFormError::{
        CurrentPassword, Deletion, DifferentPasswords, Email, EmailPassword, LastAdmin, NewPassword,
    };
    match errors.first() {
        None => StatusCode::OK,
        Some(CurrentPassword(error) | EmailPassword(error) | Deletion(error)) => {
            sign_in_status(*error)
        }
        Some(NewPassword(_) | DifferentPasswords | Email(_)) => StatusCode::UNPROCESSABLE_ENTITY,
        Some(LastAdmin) => StatusCode::FORBIDDEN,
    }
}

/// Handlers convert the other errors here, and show `Rejected` on the page that has the form.
impl From<RuleWriteError> for PageError {
    fn from(error: RuleWriteError) -> Self {
        Self::Common(match error {
            RuleWriteError::Rejected(error) => CommonError::Malformed(error.to_string()),
            RuleWriteError::TooManyConflicts => {
                CommonError::Unavailable("The rules were changed concurrently too often; try again")
            }
            // The account has been deleted, so the next page will require a sign-in.
            RuleWriteError::NoAccount => CommonError::NotFound,
            RuleWriteError::Store(error) => error.into(),
        })
    }
}

from_common!(
    PageError from StoreError, LimitExceeded, TooManyUnreadResponses, EvaluationError, AccountBusy
);
