//! The page that posts the authorization response to the app (`response_mode=form_post`).

use askama::Template;

use super::Layout;

/// `templates/form_post.html`: a form that submits itself, or has a button without JavaScript.
#[derive(Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage<'a> {
    /// Language and server name.
    pub layout: Layout<'a>,
    /// The name of the app.
    pub app: &'a str,
    /// The app's redirect URI.
    pub action: &'a str,
    /// The parameters of the response, not yet escaped.
    pub fields: &'a [(&'static str, String)],
}
