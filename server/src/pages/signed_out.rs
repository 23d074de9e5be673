//! The page after signing out.

use askama::Template;

use super::Layout;

/// `templates/signed_out.html`.
#[derive(Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage<'a> {
    /// Language and server name.
    pub layout: Layout<'a>,
    /// The path of the sign-in page.
    pub sign_in: &'a str,
}
