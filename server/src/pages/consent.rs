//! The consent page.

use askama::Template;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::scope::Scopes;

use super::{Form, Layout};

/// `templates/consent.html`. Posts `decision`, which is `allow` or `deny`.
#[derive(Template)]
#[template(path = "consent.html")]
pub struct ConsentPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The form of the decision.
    pub form: Form<'a>,
    /// The form that switches to another account.
    pub switch: Form<'a>,
    /// The app that requests access.
    pub app: &'a AppDetails,
    /// The name of the signed-in account.
    pub account: &'a str,
    /// The requested scopes.
    pub scopes: &'a Scopes,
    /// Where the response is sent.
    pub redirect_uri: &'a RedirectUri,
    /// How the browser came to the page.
    pub arrival: Arrival,
}

/// How the browser came to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// By a form or link of this server, like that of the sign-in page.
    OwnPage,
    /// From another site, or in an unknown way. The site can choose the time, so a click right
    /// after loading may have been meant for a page of that site.
    OtherSite,
}

impl ConsentPage<'_> {
    /// A sentence about the step after the decision.
    fn next_step(&self) -> String {
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
