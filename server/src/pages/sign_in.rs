//! The sign-in page.

use std::time::Duration;

use askama::Template;

use super::{Form, Layout, Notice};

/// `templates/sign_in.html`. Posts `username` and `password`.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The target of the form.
    pub form: Form<'a>,
    /// The name of the app that requests access, if there is one.
    pub app: Option<&'a str>,
    /// The name that was entered in the failed attempt.
    pub name: &'a str,
    /// Why the page is shown again.
    pub failed: Option<SignInError>,
    /// Why the user has to sign in again.
    pub notice: Option<Notice>,
    /// Pages of the operator for users who cannot sign in.
    pub links: SignInLinks<'a>,
}

impl SignInPage<'_> {
    /// Whether an e-mail address was entered that may be that of a sign-up, which cannot be used
    /// because nobody has verified it.
    fn suggests_name(&self) -> bool {
        let is_address = self.name.split_once('@').is_some_and(|(local, _)| !local.is_empty());
        is_address && self.failed == Some(SignInError::WrongPassword)
    }
}

/// Pages of the operator for users who cannot sign in.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignInLinks<'a> {
    /// Where a user gets a new password.
    pub password_reset: Option<&'a str>,
    /// Where a user gets an account.
    pub sign_up: Option<&'a str>,
}

/// Why a sign-in failed; the page is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInError {
    /// Unknown account or wrong password; which of them is not revealed.
    WrongPassword,
    /// The password is right, but the account is disabled.
    Disabled,
    /// Too many passwords are being hashed.
    Busy,
    /// Too many attempts; the next one is allowed after this time.
    TooMany(Duration),
}

impl SignInError {
    /// How long the user has to wait before the next attempt.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Self::WrongPassword | Self::Disabled => None,
            Self::Busy => Some(Duration::from_secs(5)),
            Self::TooMany(wait) => Some(wait),
        }
    }

    pub(super) fn text(self, layout: &Layout<'_>) -> String {
        match self.retry_after() {
            None if self == Self::Disabled => layout.text("sign-in-disabled").into_owned(),
            None => layout.text("sign-in-wrong").into_owned(),
            Some(wait) => {
                let minutes = usize::try_from(wait.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
                layout.language.text_with("sign-in-too-many", "minutes", minutes.max(1))
            }
        }
    }
}
