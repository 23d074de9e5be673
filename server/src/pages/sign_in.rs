//! The page that asks who is there.

use askama::Template;

use super::{Form, Layout};

/// `templates/sign_in.html`: name and password, please.
///
/// Posts `username` and `password`.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// Where the form goes.
    pub form: Form<'a>,
    /// The name of the app that is asking, when one is.
    pub app: Option<&'a str>,
    /// The name that was typed before.
    pub name: &'a str,
    /// Why the reader sees the page again.
    pub alert: Option<SignInAlert>,
}

/// Why someone was not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInAlert {
    /// There is no such account, or its password is another. Which of both is not told.
    Wrong,
    /// Too many attempts; the next one may be made after this many minutes.
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
    /// Whether the fields themselves are to be marked.
    fn is_wrong(&self) -> bool {
        self.alert == Some(SignInAlert::Wrong)
    }
}
