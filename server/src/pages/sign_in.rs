//! The sign-in page.

use askama::Template;

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
