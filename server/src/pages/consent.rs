//! The page that asks whether an app may be let in.

use askama::Template;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::uri::web_host;

use super::{Form, Layout};

/// `templates/consent.html`: may this app have these scopes?
///
/// Posts `decision`, which is `allow` or `deny`.
#[derive(Template)]
#[template(path = "consent.html")]
pub struct ConsentPage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// Where the decision goes.
    pub form: Form<'a>,
    /// Where the wish for another account goes.
    pub switch: Form<'a>,
    /// The app that is asking.
    pub app: &'a AppDetails,
    /// The name of the account that is signed in.
    pub account: &'a str,
    /// What the app asks for.
    pub scopes: &'a Scopes,
    /// Where the answer goes.
    pub redirect_uri: &'a RedirectUri,
}

impl ConsentPage<'_> {
    /// The host of the app's website.
    fn website(&self) -> Option<String> {
        web_host(self.app.website.as_deref()?)
    }

    /// What happens after the button is pressed.
    fn then(&self) -> String {
        if self.redirect_uri.is_oob() {
            return self.layout.text_for("consent-then-code", &self.app.name);
        }
        match self.redirect_uri.remote_host() {
            Some(host) => {
                self.layout.language.text_with("consent-then-host", "host", host.as_str())
            }
            None => self.layout.text("consent-then-device").into_owned(),
        }
    }
}
