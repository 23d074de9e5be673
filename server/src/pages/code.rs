//! The page that shows an authorization code, for apps without a redirect URI.

use askama::Template;
use belfry_core::secret::Secret;

use super::Layout;

/// `templates/code.html`.
#[derive(Template)]
#[template(path = "code.html")]
pub struct CodePage<'a> {
    /// Language and server name.
    pub layout: Layout<'a>,
    /// The name of the app.
    pub app: &'a str,
    /// The authorization code.
    pub code: &'a Secret,
    /// The path of the account page, where the app can be removed.
    pub account: &'a str,
}
