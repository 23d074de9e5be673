//! The error page, with the cause and advice for the user.

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::error::OAuthError;
use strum::IntoStaticStr;

use super::Layout;
use crate::language::Localize;

/// `templates/error.html`.
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage<'a> {
    pub layout: Layout<'a>,
    pub cause: ErrorCause,
}

/// The cause of an error page.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ErrorCause {
    /// An invalid request of the app, or a denial that cannot be sent to the app.
    OAuth(OAuthError),
    /// An unknown or expired authorization request.
    Expired,
    /// A form with a wrong CSRF token or origin.
    ForgedForm,
    /// A malformed request.
    Malformed,
    /// A rate limit was exceeded.
    RateLimited,
    /// An internal error.
    Internal,
    /// The database is unreachable, or the server is overloaded.
    Busy,
    /// An unknown path.
    NotFound,
    /// Nobody can create an account.
    RegistrationClosed,
}

impl ErrorPage<'_> {
    /// The prefix of its message keys.
    fn prefix(&self) -> &'static str {
        match &self.cause {
            ErrorCause::OAuth(OAuthError::AccessDenied) => "denied",
            ErrorCause::OAuth(_) | ErrorCause::Malformed => "invalid-request",
            cause => cause.into(),
        }
    }

    fn title(&self) -> Cow<'static, str> {
        self.layout.text(&format!("{}-title", self.prefix()))
    }

    fn sentence(&self) -> Cow<'static, str> {
        match (self.app_error(), &self.cause) {
            (Some(error), _) => error.localize(self.layout.language).into(),
            (None, ErrorCause::Malformed) => self.layout.text("malformed-sentence"),
            (None, _) => self.layout.text(&format!("{}-sentence", self.prefix())),
        }
    }

    fn advice(&self) -> Cow<'static, str> {
        self.layout.text(&format!("{}-advice", self.prefix()))
    }

    /// The OAuth error code, for the developers of the app.
    fn code(&self) -> Option<&'static str> {
        let malformed = (self.cause == ErrorCause::Malformed).then_some("invalid_request");
        self.app_error().map(OAuthError::code).or(malformed)
    }

    /// The error of the app. A denial by the user is not one.
    fn app_error(&self) -> Option<&OAuthError> {
        match &self.cause {
            ErrorCause::OAuth(error) if *error != OAuthError::AccessDenied => Some(error),
            _ => None,
        }
    }
}
