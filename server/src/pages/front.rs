//! The front page, at the root of the server.

use askama::Template;

use super::Layout;

/// `templates/front.html`.
#[derive(Template)]
#[template(path = "front.html")]
pub struct FrontPage<'a> {
    pub layout: Layout<'a>,
    /// The description of the service by the operator; may be empty.
    pub description: &'a str,
    pub account: Option<&'a str>,
    /// The paths of the account and of the sign-in page.
    pub account_path: &'a str,
    pub sign_in: &'a str,
    /// Page where people get an account, if they can.
    pub sign_up: Option<&'a str>,
    /// The OpenAPI document.
    pub api: &'a str,
    /// The operator's documentation for developers of apps.
    pub documentation: Option<&'a str>,
}

impl<'a> FrontPage<'a> {
    /// Returns a sentence with the name of the signed-in account.
    fn signed_in(&self) -> Option<String> {
        let account = self.account?;
        Some(self.layout.language.text_with("front-signed-in", "account", account))
    }

    /// Returns the paragraphs of the description, which blank lines separate.
    fn paragraphs(&self) -> impl Iterator<Item = &'a str> {
        self.description.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
    }
}
