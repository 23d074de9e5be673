//! The error page, with the cause and advice for the user.

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use belfry_core::oauth::error::OAuthError;
use strum::IntoStaticStr;

use super::Layout;

/// `templates/error.html`.
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage<'a> {
    pub layout: Layout<'a>,
    pub cause: ErrorCause,
}

#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ErrorCause {
    /// An invalid request from an app, or a denial that cannot be sent to the app.
    OAuth(OAuthError),
    /// An unknown or expired authorization request.
    Expired,
    /// A form with a wrong CSRF token or origin.
    ForgedForm,
    Malformed,
    /// An exceeded rate limit, with the time until the next request is allowed.
    RateLimited(Duration),
    Internal,
    /// An unreachable database, or an overloaded server.
    Busy,
    NotFound,
    /// A sign-up while registration is closed.
    RegistrationClosed,
}

/// Returns the message key of the sentence about an app's error.
pub(super) fn app_error_key(error: &OAuthError) -> &'static str {
    match error {
        OAuthError::InvalidClient | OAuthError::UnknownClient => "app-error-unknown",
        OAuthError::InvalidRedirectUri => "app-error-redirect-uri",
        OAuthError::MalformedScope
        | OAuthError::UnknownScope(_)
        | OAuthError::UnregisteredScope(_)
        | OAuthError::UnregisteredDefaultScope(_)
        | OAuthError::AdminScopeDenied(_) => "app-error-scope",
        _ => "app-error-request",
    }
}

/// Returns the code and the description of an app's error, as in the API.
pub(super) fn app_error_details(error: &OAuthError) -> String {
    format!("{}: {error}", error.code())
}

impl ErrorPage<'_> {
    /// Returns the prefix of the page's message keys.
    fn key_prefix(&self) -> &'static str {
        match &self.cause {
            ErrorCause::OAuth(OAuthError::AccessDenied) => "denied",
            ErrorCause::OAuth(_) | ErrorCause::Malformed => "invalid-request",
            cause => cause.into(),
        }
    }

    fn title(&self) -> Cow<'static, str> {
        self.layout.text(&format!("{}-title", self.key_prefix()))
    }

    fn sentence(&self) -> Cow<'static, str> {
        match (self.app_error(), &self.cause) {
            (Some(error), _) => self.layout.text(app_error_key(error)),
            (None, ErrorCause::Malformed) => self.layout.text("malformed-sentence"),
            (None, _) => self.layout.text(&format!("{}-sentence", self.key_prefix())),
        }
    }

    fn advice(&self) -> Cow<'static, str> {
        if let ErrorCause::RateLimited(retry_after) = self.cause {
            return self.layout.text_with_minutes("rate-limited-advice", retry_after).into();
        }
        self.layout.text(&format!("{}-advice", self.key_prefix()))
    }

    /// Returns the OAuth error code and its description in the API, for the app's developers.
    fn details(&self) -> Option<String> {
        let malformed_code =
            (self.cause == ErrorCause::Malformed).then(|| "invalid_request".to_owned());
        self.app_error().map(app_error_details).or(malformed_code)
    }

    /// Returns the error that the app caused. A denial by the user is not one.
    fn app_error(&self) -> Option<&OAuthError> {
        match &self.cause {
            ErrorCause::OAuth(error) if *error != OAuthError::AccessDenied => Some(error),
            _ => None,
        }
    }
}
