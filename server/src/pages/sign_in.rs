//! The sign-in and the sign-up page.

use askama::Template;
use belfry_core::account::sign_up::{Field, InvalidField};

use super::{Form, Layout, Notice};
use crate::auth::authentication::AuthenticationError;

/// `templates/sign_in.html`. Posts `username` and `password`.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage<'a> {
    pub layout: Layout<'a>,
    pub form: Form<'a>,
    /// The name of the app that requests access, if there is one.
    pub app: Option<&'a str>,
    /// The name in the field: the one entered in the failed attempt, or that of the signed-in user.
    pub name: &'a str,
    /// The reason why the page is shown again.
    pub failure: Option<AuthenticationError>,
    /// The reason why the user has to sign in again.
    pub notice: Option<Notice>,
    pub password_reset_url: Option<&'a str>,
    /// The path of the sign-up page if registration is open.
    pub sign_up_path: Option<&'a str>,
}

impl SignInPage<'_> {
    /// Returns whether the page suggests the username: the user entered an e-mail address, which
    /// does not work if it is unverified, like every address from a sign-up.
    fn suggests_username(&self) -> bool {
        let is_address = self.name.split_once('@').is_some_and(|(local, _)| !local.is_empty());
        is_address && self.failure == Some(AuthenticationError::WrongPassword)
    }
}

impl AuthenticationError {
    pub(super) fn text(self, layout: &Layout<'_>) -> String {
        match self.retry_after() {
            None if self == Self::Disabled => layout.text("sign-in-disabled").into_owned(),
            None => layout.text("sign-in-wrong").into_owned(),
            Some(retry_after) => layout.text_with_minutes("sign-in-too-many", retry_after),
        }
    }
}

/// `templates/sign_up.html`. Posts `username`, `email`, `password`, `password_again` and
/// `agreement`.
#[derive(Template)]
#[template(path = "sign_up.html")]
pub struct SignUpPage<'a> {
    pub layout: Layout<'a>,
    pub form: Form<'a>,
    /// The name of the app that requests access, if there is one.
    pub app: Option<&'a str>,
    pub username: &'a str,
    pub email: &'a str,
    /// Link to the service's rules. Without one, there is nothing to accept.
    pub rules_url: Option<&'a str>,
    pub has_agreed: bool,
    pub errors: &'a [InvalidField],
    pub passwords_differ: bool,
    /// Reason why no account was created, unless a field is invalid.
    pub failure: Option<AuthenticationError>,
    pub sign_in_path: &'a str,
}

impl SignUpPage<'_> {
    /// Returns the error of a field, which may be the repeated password.
    fn field_error(&self, name: &str) -> Option<String> {
        if name == "password_again" {
            let text = self.layout.text("password-different");
            return self.passwords_differ.then(|| text.into_owned());
        }
        let field = Field::from_name(name)?;
        let error = self.errors.iter().find(|error| error.field == field)?;
        Some(self.layout.field_error(*error))
    }

    /// Returns whether a field has the focus: the first with an error, or else the user name.
    fn has_focus(&self, name: &str) -> bool {
        let fields = ["username", "email", "password", "password_again", "agreement"];
        let first_invalid_field =
            fields.into_iter().find(|field| self.field_error(field).is_some());
        first_invalid_field.unwrap_or("username") == name
    }
}
