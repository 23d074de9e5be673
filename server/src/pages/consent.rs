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
    pub layout: Layout<'a>,
    pub form: Form<'a>,
    /// The form that signs out, to continue with another account.
    pub switch_account_form: Form<'a>,
    pub app: &'a AppDetails,
    /// True if the operator registered the app.
    pub is_operator_app: bool,
    pub account: &'a str,
    pub scopes: &'a Scopes,
    /// The redirect URI of the request, which may be the out-of-band URI.
    pub redirect_uri: &'a RedirectUri,
}

impl ConsentPage<'_> {
    /// Returns the sentence that says what happens next.
    fn next_step(&self) -> String {
        if self.redirect_uri.is_oob() {
            return self.layout.text_for_app("consent-then-code", &self.app.name);
        }
        match self.redirect_uri.remote_host() {
            Some(host) => {
                self.layout.language.text_with("consent-then-host", "host", host.as_str())
            }
            None => self.layout.text("consent-then-device").into_owned(),
        }
    }
}
