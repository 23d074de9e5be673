//! The page that asks whether an app may be let in.

use askama::Template;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::scope::Scopes;
use url::{Host, Url};

use super::{Form, Layout, host};

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
        host(self.app.website.as_deref()?)
    }

    /// What happens after the button is pressed.
    fn then(&self) -> String {
        if self.redirect_uri.is_oob() {
            return self.layout.text_for("consent-then-code", &self.app.name);
        }
        match web_host(self.redirect_uri) {
            Some(host) => {
                self.layout.language.text_with("consent-then-host", "host", host.as_str())
            }
            None => self.layout.text("consent-then-device").into_owned(),
        }
    }
}

/// The host that an answer goes to, unless it stays on the reader's device.
fn web_host(uri: &RedirectUri) -> Option<String> {
    let uri = Url::parse(uri.as_str()).ok()?;
    let stays = match uri.host()? {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let is_web = matches!(uri.scheme(), "http" | "https");
    (is_web && !stays).then(|| uri.host_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_web_address_is_named_and_nothing_else() {
        for (uri, host) in [
            ("https://app.example/callback?next=evil.example", Some("app.example")),
            ("https://app.example:8443/", Some("app.example")),
            ("https://APP.example", Some("app.example")),
            ("https://xn--pple-43d.com/cb", Some("xn--pple-43d.com")),
            ("http://192.0.2.7/cb", Some("192.0.2.7")),
            ("https://[2001:db8::7]/cb", Some("[2001:db8::7]")),
            ("https://localhost.evil.example/cb", Some("localhost.evil.example")),
            ("http://127.0.0.1:4000/cb", None),
            ("http://[::1]/cb", None),
            ("http://localhost/cb", None),
            ("tusky://oauth.evil.example/cb", None),
            ("com.example.app:/oauth2redirect", None),
            ("urn:ietf:wg:oauth:2.0:oob", None),
        ] {
            let uri = RedirectUri::new(uri).unwrap();
            assert_eq!(web_host(&uri).as_deref(), host, "{uri}");
        }
    }
}
