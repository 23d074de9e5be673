//! The sign-up page.

use askama::Template;
use belfry_core::account::sign_up::{Field, InvalidField};

use super::{Form, Layout};
use crate::auth::authentication::AuthenticationError;

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
