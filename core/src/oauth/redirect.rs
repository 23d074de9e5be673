//! Where an answer may be sent: what a redirect URI must be, and when one matches another.

use std::fmt;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::uri::{Uri, UriError};

/// The URI that asks for the code to be shown to the user instead.
pub const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";

/// Schemes that run code, read what is local, or lead to no app at all.
const FORBIDDEN: &[&str] = &[
    "about",
    "blob",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "mailto",
    "resource",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// A redirect URI that an app may register, kept character by character as it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri(String);

/// Why a text cannot be registered as a redirect URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RedirectUriError {
    /// A scheme that runs code, reads what is local or leads to no app.
    #[error("is forbidden by the server.")]
    Forbidden,
    /// A character that is not ASCII or not allowed in a URI, or a web address without a host.
    #[error("must be a valid URI.")]
    Invalid,
    /// No scheme.
    #[error("must be an absolute URI.")]
    Relative,
    /// A scheme that nothing but a name follows, like `myapp:callback` or `localhost:3000`.
    #[error("must specify a scheme.")]
    Opaque,
    /// A `#`, even with nothing after it.
    #[error("cannot contain a fragment.")]
    Fragment,
    /// A user name or a password before the host.
    #[error("cannot contain a user name or password.")]
    UserInfo,
    /// A `*`: URIs are compared as they stand.
    #[error("cannot contain a wildcard.")]
    Wildcard,
}

impl RedirectUri {
    /// Takes a URI that may be registered.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self, RedirectUriError> {
        let text = text.into();
        check(&text).map(|()| Self(text))
    }

    /// The URI as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the code is to be shown instead of sent.
    #[must_use]
    pub fn is_oob(&self) -> bool {
        self.0 == OOB
    }

    /// The URI that was sent, if this registered one stands for it: equal in every character, but
    /// for the port of a loopback address, which an app on a desk cannot know beforehand
    /// (RFC 8252, section 7.3). The name `localhost` is no such address.
    #[must_use]
    pub fn match_requested(&self, sent: &str) -> Option<Self> {
        let same_loopback = || loopback(&self.0).is_some_and(|own| loopback(sent) == Some(own));
        (self.0 == sent || same_loopback()).then(|| Self(sent.to_owned()))
    }
}

/// A loopback address and what follows its port.
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let host = ["http://127.0.0.1", "http://[::1]"].into_iter().find(|h| uri.starts_with(h))?;
    let rest = &uri[host.len()..];
    let (port, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let only_a_port = match port.strip_prefix(':') {
        Some(port) => {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<NonZeroU16>().is_ok()
        }
        None => port.is_empty(),
    };
    only_a_port.then_some((host, rest))
}

fn check(text: &str) -> Result<(), RedirectUriError> {
    use RedirectUriError::{Forbidden, Fragment, Invalid, Opaque, Relative, UserInfo, Wildcard};
    if text == OOB {
        return Ok(());
    }
    if has_forbidden_scheme(text) {
        return Err(Forbidden);
    }
    let uri = Uri::parse(text).map_err(|error| match error {
        UriError::Malformed => Invalid,
        UriError::Relative => Relative,
    })?;
    if uri.fragment.is_some() {
        return Err(Fragment);
    }
    // Who writes `localhost:/callback` forgot the scheme.
    let is_opaque = uri.authority.is_none() && !uri.path.starts_with('/');
    if is_opaque || uri.scheme.eq_ignore_ascii_case("localhost") {
        return Err(Opaque);
    }
    if uri.has_userinfo() {
        return Err(UserInfo);
    }
    if text.contains('*') {
        return Err(Wildcard);
    }
    let bracketed = uri.authority.is_some_and(|authority| authority.contains(['[', ']']));
    if (uri.is_web() || bracketed) && !uri.has_plain_host() {
        return Err(Invalid);
    }
    Ok(())
}

/// Whether a browser would find a forbidden scheme, which it does after dropping what is blank
/// or a control character.
fn has_forbidden_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let seen: String = scheme.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    FORBIDDEN.iter().any(|forbidden| seen.eq_ignore_ascii_case(forbidden))
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.0
    }
}

impl TryFrom<String> for RedirectUri {
    type Error = RedirectUriError;

    fn try_from(text: String) -> Result<Self, RedirectUriError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests;
