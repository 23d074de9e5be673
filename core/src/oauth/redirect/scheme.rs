//! Schemes of redirect URIs: which ones an app may register.

use std::str::FromStr;

use fluent_uri::component::Scheme;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::oauth::uri::is_web;

/// Schemes with which a browser runs code, or opens its own data, files or connections. No app can
/// have them.
const FORBIDDEN: [&str; 16] = [
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

/// Schemes without a dot that apps for Mastodon's API register, with the app names. Further ones
/// are allowed by a setting.
const OF_APPS: [(&str, &str); 23] = [
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

/// A scheme that the operator allows for redirect URIs, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PrivateUseScheme(String);

/// Why a scheme cannot be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// Not a scheme by RFC 3986.
    #[error("{0:?} is not a scheme: write \"myapp\" for myapp://callback")]
    Malformed(String),
    /// A scheme that no app can have.
    #[error("{0:?} cannot be allowed: browsers open it themselves")]
    OfBrowsers(String),
}

impl FromStr for PrivateUseScheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(scheme) = Scheme::new(text) else {
            return Err(SchemeError::Malformed(text.to_owned()));
        };
        if is_forbidden(text) || is_web(scheme) {
            return Err(SchemeError::OfBrowsers(text.to_owned()));
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

/// Returns whether no app can have this scheme.
pub(super) fn is_forbidden(scheme: &str) -> bool {
    FORBIDDEN.iter().any(|forbidden| scheme.eq_ignore_ascii_case(forbidden))
}

/// Returns whether an app may register this scheme for itself: one with a dot, like the reversed
/// domain name that RFC 8252 asks for in section 7.1, one of a known app, or one of `allowed`.
/// Programs of operating systems have schemes without a dot, and nobody knows them all; some of
/// Windows and macOS have one.
pub(super) fn is_private_use(scheme: &str, allowed: &[PrivateUseScheme]) -> bool {
    let is_of_system = ["ms-", "x-apple"].iter().any(|prefix| {
        scheme.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    });
    let is_domain = scheme.contains('.') && scheme.split('.').all(|label| !label.is_empty());
    (is_domain && !is_of_system)
        || OF_APPS.iter().any(|(known, _)| scheme.eq_ignore_ascii_case(known))
        || allowed.iter().any(|allowed| scheme.eq_ignore_ascii_case(&allowed.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemes_of_apps_could_be_allowed_and_need_it() {
        assert!(OF_APPS.is_sorted());
        for (scheme, app) in OF_APPS {
            let parsed: PrivateUseScheme = scheme.parse().unwrap();
            assert_eq!(String::from(parsed), scheme, "{app}");
            assert!(!scheme.contains('.'), "{app}");
        }
    }

    #[test]
    fn a_scheme_of_an_app_can_be_allowed() {
        for (text, scheme) in [("myapp", "myapp"), ("MyApp", "myapp"), ("web+ap", "web+ap")] {
            assert_eq!(text.parse(), Ok(PrivateUseScheme(scheme.to_owned())));
        }
        for text in ["", "myapp:", "myapp://", "my app", "1app", "\u{e9}", " javascript"] {
            let error = SchemeError::Malformed(text.to_owned());
            assert_eq!(text.parse::<PrivateUseScheme>(), Err(error));
        }
        for text in ["javascript", "JavaScript", "data", "file", "blob", "about", "http", "HTTPS"] {
            let error = SchemeError::OfBrowsers(text.to_owned());
            assert_eq!(text.parse::<PrivateUseScheme>(), Err(error));
        }
    }
}
