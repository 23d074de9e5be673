//! The sign-in page.

use askama::Template;

use super::{Form, Layout};

/// `templates/sign_in.html`. Posts `username` and `password`.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage<'a> {
    /// Language and server name.
    pub layout: Layout<'a>,
    /// The target of the form.
    pub form: Form<'a>,
    /// The name of the app that requests access, if there is one.
    pub app: Option<&'a str>,
    /// The name entered before.
    pub name: &'a str,
    /// Why the page is shown again.
    pub alert: Option<SignInAlert>,
}

/// Why a sign-in failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInAlert {
    /// Unknown account or wrong password; which of them is not revealed.
    Wrong,
    /// Too many attempts; the next one is possible after some minutes.
    TooMany {
        /// At least one.
        minutes: usize,
    },
}

impl SignInAlert {
    fn text(self, layout: &Layout<'_>) -> String {
        match self {
            Self::Wrong => layout.text("sign-in-wrong").into_owned(),
            Self::TooMany { minutes } => {
                layout.language.text_with("sign-in-too-many", "minutes", minutes.max(1))
            }
        }
    }
}

impl SignInPage<'_> {
    /// Whether the fields are marked as invalid.
    fn is_wrong(&self) -> bool {
        self.alert == Some(SignInAlert::Wrong)
    }
}
