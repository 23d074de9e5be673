//! The page that posts an answer to the app: the response mode `form_post`.

use askama::Template;

use super::Layout;

/// `templates/form_post.html`: a form that sends itself, or waits for its button where there is
/// no JavaScript.
#[derive(Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// The name of the app.
    pub app: &'a str,
    /// The app's redirect URI.
    pub action: &'a str,
    /// The fields of the answer, not yet escaped.
    pub fields: &'a [(&'static str, String)],
}
