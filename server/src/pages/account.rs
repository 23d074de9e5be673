//! The page that says who is signed in.

use askama::Template;

use super::{Form, Frame};

/// `templates/account.html`: you are this one.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    /// Language and server.
    pub frame: Frame<'a>,
    /// The name of the account that is signed in.
    pub account: &'a str,
    /// Where the wish for another account goes.
    pub switch: Form<'a>,
}
