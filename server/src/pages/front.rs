//! The front page, at the root of the server.

use askama::Template;

use super::Layout;

/// `templates/front.html`.
#[derive(Template)]
#[template(path = "front.html")]
pub struct FrontPage<'a> {
    pub layout: Layout<'a>,
    /// The configured description of the service; may be empty.
    pub description: &'a str,
    pub account: Option<&'a str>,
    pub account_path: &'a str,
    pub sign_in_path: &'a str,
    /// The path of the sign-up page if registration is open.
    pub sign_up_path: Option<&'a str>,
    pub api_path: &'a str,
    /// Link to the configured documentation for app developers.
    pub documentation_url: Option<&'a str>,
}

impl<'a> FrontPage<'a> {
    /// Returns a sentence with the name of the signed-in account.
    fn account_sentence(&self) -> Option<String> {
        let account = self.account?;
        Some(self.layout.language.text_with("front-signed-in", "account", account))
    }

    /// Returns the paragraphs of the description, which are separated by blank lines.
    fn paragraphs(&self) -> impl Iterator<Item = &'a str> {
        self.description.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
    }
}
