//! The schemes of redirect URIs that an app may register.

use std::str::FromStr;

use fluent_uri::component::Scheme;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::oauth::web_address::is_web_scheme;

/// Schemes that make a browser run code, or open its own data, files or connections. No app can
/// register them.
const FORBIDDEN_SCHEMES: [&str; 16] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "ftp",
    "jar",
    "javascript",
    "livescript",
    "mocha",
    "resource",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Schemes without a dot that apps for Mastodon's API register, with the app names. A setting
/// allows more.
const APP_SCHEMES: [(&str, &str); 23] = [
    ("cx-c3-toot", "Toot!"),
    ("fedilab", "Fedilab"),
    ("feditext", "Feditext"),
    ("flare", "Flare"),
    ("freadapp", "Fread"),
    ("icecubesapp", "Ice Cubes"),
    ("mammoth", "Mammoth"),
    ("mastalab", "Mastalab, the former name of Fedilab"),
    ("mastodon", "Mastodon for iOS"),
    ("mastodon-android-auth", "Mastodon for Android"),
    ("megalodon-android-auth", "Megalodon"),
    ("metatext", "Metatext"),
    ("moshidon-android-auth", "Moshidon"),
    ("oauth-vernissage", "Vernissage"),
    ("oauth2redirect", "Tusky and apps that are based on it, PixelDroid"),
    ("pixelfed", "Pixelfed"),
    ("pixelix-android-auth", "Pixelix"),
    ("raccoonforfriendica", "Raccoon for Friendica"),
    ("subwaytooter", "Subway Tooter"),
    ("tokodon", "Tokodon"),
    ("tooot", "tooot"),
    ("tootle", "Tootle"),
    ("tuba", "Tuba"),
];

/// A configured private-use scheme for redirect URIs, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PrivateUseScheme(String);

/// The reason a scheme cannot be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// The string is not a scheme according to RFC 3986.
    #[error("{0:?} is not a scheme: write \"myapp\" for myapp://callback")]
    Malformed(String),
    /// Browsers open the scheme themselves, so it cannot belong to an app.
    #[error("{0:?} cannot be allowed: browsers open it themselves")]
    BrowserScheme(String),
}

impl FromStr for PrivateUseScheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(scheme) = Scheme::new(text) else {
            return Err(SchemeError::Malformed(text.to_owned()));
        };
        if is_forbidden(text) || is_web_scheme(scheme) {
            return Err(SchemeError::BrowserScheme(text.to_owned()));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl TryFrom<String> for PrivateUseScheme {
    type Error = SchemeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PrivateUseScheme> for String {
    fn from(scheme: PrivateUseScheme) -> Self {
        scheme.0
    }
}

/// Returns whether no app can register this scheme.
pub(super) fn is_forbidden(scheme: &str) -> bool {
    FORBIDDEN_SCHEMES.iter().any(|forbidden| scheme.eq_ignore_ascii_case(forbidden))
}

/// Returns whether an app may register this scheme for itself: one with a dot, like the reversed
/// domain name that RFC 8252, section 7.1, requires, one of a known app, or one of
/// `allowed_schemes`. Others are rejected, because most schemes of operating system programs have
/// no dot, and there is no complete list of them. Windows and macOS schemes that have a dot are
/// rejected by their prefix.
pub(super) fn is_private_use(scheme: &str, allowed_schemes: &[PrivateUseScheme]) -> bool {
    let is_system_scheme = ["ms-", "x-apple"].iter().any(|prefix| {
        scheme.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    });
    let is_domain = scheme.contains('.') && scheme.split('.').all(|label| !label.is_empty());
    (is_domain && !is_system_scheme)
        || APP_SCHEMES.iter().any(|(app_scheme, _)| scheme.eq_ignore_ascii_case(app_scheme))
        || allowed_schemes.iter().any(|allowed| scheme.eq_ignore_ascii_case(&allowed.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_app_scheme_is_valid_and_has_no_dot() {
        assert!(APP_SCHEMES.is_sorted());
        for (scheme, app) in APP_SCHEMES {
            let private_use_scheme: PrivateUseScheme = scheme.parse().unwrap();
            assert_eq!(String::from(private_use_scheme), scheme, "{app}");
            assert!(!scheme.contains('.'), "{app}");
        }
    }

    #[test]
    fn a_well_formed_scheme_that_browsers_do_not_open_can_be_allowed() {
        for (text, scheme) in [("myapp", "myapp"), ("MyApp", "myapp"), ("web+ap", "web+ap")] {
            assert_eq!(text.parse(), Ok(PrivateUseScheme(scheme.to_owned())));
        }
        for text in ["", "myapp:", "myapp://", "my app", "1app", "\u{e9}", " javascript"] {
            let error = SchemeError::Malformed(text.to_owned());
            assert_eq!(text.parse::<PrivateUseScheme>(), Err(error));
        }
        for text in ["javascript", "JavaScript", "data", "file", "blob", "about", "http", "HTTPS"] {
            let error = SchemeError::BrowserScheme(text.to_owned());
            assert_eq!(text.parse::<PrivateUseScheme>(), Err(error));
        }
    }
}
