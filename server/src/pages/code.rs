//! The page that shows a code, for an app that has no address to send it to.

use askama::Template;
use belfry_core::secret::Secret;

use super::Layout;

/// `templates/code.html`: carry this to the app.
#[derive(Template)]
#[template(path = "code.html")]
pub struct CodePage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// The name of the app.
    pub app: &'a str,
    /// The code. This page is the answer that hands it over.
    pub code: &'a Secret,
    /// The path of the page where its access can be taken back.
    pub account: &'a str,
}
