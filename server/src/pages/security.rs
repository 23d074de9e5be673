//! The security page: password, e-mail address, sessions, data and deletion of the account.

use std::time::Duration;

use askama::Template;
use belfry_core::account::FieldError;
use belfry_core::account::sign_up::{Field, InvalidField};
use belfry_core::secret::LookupKey;
use belfry_store::AccountSession;
use jiff::Timestamp;

use super::last_use::describe_last_use;
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, Form, Layout};
use crate::auth::authentication::AuthenticationError;
use crate::paths::{
    CHANGE_EMAIL, CHANGE_PASSWORD, DELETE_ACCOUNT, DOWNLOAD_DATA, END_OTHER_SESSIONS, with_language,
};

/// Maximum number of sessions on the page.
pub const MAX_SESSIONS: usize = 50;
/// Number of sessions that are visible without unfolding the others.
const VISIBLE_SESSIONS: usize = 4;

/// `templates/security.html`. Its forms post `current_password`, `new_password` and
/// `password_again`; `email` and `current_password`; `session`, the lookup key of the session to
/// end; and `password`, to delete the account.
#[derive(Template)]
#[template(path = "security.html")]
pub struct SecurityPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    /// The name of the signed-in account, for password managers.
    pub account: &'a str,
    /// The e-mail address of the account, or the one that was entered.
    pub email: &'a str,
    /// True if the account has a verified e-mail address, which the user can sign in with.
    pub has_verified_email: bool,
    /// The form that ends a session; the others have the same hidden fields.
    pub form: Form<'a>,
    /// The account's sessions: this browser's, then the others, the most recently used first.
    pub sessions: &'a [AccountSession],
    pub current_session: LookupKey,
    pub now: Timestamp,
    /// Reasons why the page is shown again.
    pub errors: &'a [SecurityFormError],
}

/// The reason why a form had no effect; the page is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurityFormError {
    /// The current password was not accepted when changing the password.
    CurrentPassword(AuthenticationError),
    /// The new password was not allowed.
    NewPassword(FieldError),
    DifferentPasswords,
    /// The new e-mail address was not allowed.
    Email(FieldError),
    /// The password was not accepted when changing the e-mail address.
    EmailPassword(AuthenticationError),
    /// The password was not accepted when deleting the account.
    Deletion(AuthenticationError),
    /// The account to delete was the last enabled admin.
    LastAdmin,
}

impl SecurityFormError {
    /// Returns the time until the next attempt is allowed.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Self::CurrentPassword(error) | Self::EmailPassword(error) | Self::Deletion(error) => {
                error.retry_after()
            }
            Self::NewPassword(_) | Self::DifferentPasswords | Self::Email(_) | Self::LastAdmin => {
                None
            }
        }
    }

    /// Returns the id of the field next to which the error is shown.
    fn field_id(self) -> &'static str {
        match self {
            Self::CurrentPassword(_) => "current-password",
            Self::NewPassword(_) => "new-password",
            Self::DifferentPasswords => "password-again",
            Self::Email(_) => "email-address",
            Self::EmailPassword(_) => "email-password",
            Self::Deletion(_) | Self::LastAdmin => "delete-password",
        }
    }

    fn text(self, layout: &Layout<'_>) -> String {
        match self {
            Self::CurrentPassword(error) | Self::EmailPassword(error) | Self::Deletion(error) => {
                match error {
                    AuthenticationError::WrongPassword => {
                        layout.text("password-wrong").into_owned()
                    }
                    error => error.text(layout),
                }
            }
            Self::NewPassword(error) => {
                layout.field_error(InvalidField { field: Field::Password, error })
            }
            Self::Email(error) => layout.field_error(InvalidField { field: Field::Email, error }),
            Self::DifferentPasswords => layout.text("password-different").into_owned(),
            Self::LastAdmin => layout.text("delete-last-admin").into_owned(),
        }
    }
}

impl SecurityPage<'_> {
    fn field_error(&self, field: &str) -> Option<String> {
        let error = self.errors.iter().find(|error| error.field_id() == field)?;
        Some(error.text(&self.layout))
    }

    /// Returns whether a field has the focus: the one with the first error.
    fn has_focus(&self, field: &str) -> bool {
        self.errors.first().is_some_and(|error| error.field_id() == field)
    }

    /// Returns the message key of the hint about the e-mail address.
    fn email_hint_key(&self) -> &'static str {
        if self.has_verified_email { "email-verified" } else { "sign-up-email-hint" }
    }

    fn form_action(&self, path: &str) -> String {
        with_language(path, self.nav.lang)
    }

    /// Returns the sessions that are always visible, and those that can be unfolded.
    fn session_lists(&self) -> impl Iterator<Item = &[AccountSession]> {
        let shown = self.sessions.get(..MAX_SESSIONS).unwrap_or(self.sessions);
        let (visible, more) = shown.split_at(shown.len().min(VISIBLE_SESSIONS));
        [visible, more].into_iter().filter(|sessions| !sessions.is_empty())
    }

    /// Returns a sentence about the sessions that are not shown.
    fn more_sessions_note(&self) -> Option<String> {
        let has_more = self.sessions.len() > MAX_SESSIONS;
        has_more.then(|| self.layout.language.text_with("only-last-used", "count", MAX_SESSIONS))
    }

    fn has_other_sessions(&self) -> bool {
        self.sessions.iter().any(|session| session.lookup_key != self.current_session)
    }

    fn browser_name(&self, session: &AccountSession) -> String {
        let user_agent = session.browser;
        match (user_agent.browser, user_agent.system) {
            (Some(browser), Some(system)) => {
                let names = [("browser", browser.into()), ("system", system.into())];
                self.layout.language.text_with_all("sessions-browser", names)
            }
            (Some(name), None) | (None, Some(name)) => name.to_owned(),
            (None, None) => self.layout.text("sessions-unknown").into_owned(),
        }
    }

    fn sign_in_time(&self, session: &AccountSession) -> TimedText {
        TimedText::new(&self.layout, "sessions-since", session.created_at, TimeFormat::Full)
    }

    fn last_use(&self, session: &AccountSession) -> String {
        describe_last_use(&self.layout, Some(session.seen_at), self.now)
    }
}
