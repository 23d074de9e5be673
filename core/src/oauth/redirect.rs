//! Redirect URIs: which ones an app may register, and when a requested one matches.

use std::net::Ipv4Addr;
use std::num::NonZeroU16;

use fluent_uri::UriRef;
use fluent_uri::component::Scheme;
use serde::Deserialize;
use strum::IntoStaticStr;
use thiserror::Error;

use super::web_address::{has_plain_host, is_web_scheme, web_host};
use crate::wire_enum::wire_enum;

/// The redirect URI of an app whose users copy the code from a page (out of band).
pub const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";

/// Schemes that browsers or operating systems open themselves: they run code, show local data,
/// connect to other servers, or start programs of the system. Every other scheme may belong to an
/// app.
const SYSTEM_SCHEMES: &str = "about acap addressbook afp android-app app-prefs applefeedback \
    applenews applescript bingmaps blob brave callto calshow cid cifs contacts content data dav \
    davs dict edge facetime facetime-audio feed file filesystem finger fish ftp ftps geo gopher \
    hcp help imap imessage insiderhub intent ipp ipps its jar javascript jnlp jnlps ldap ldaps \
    livescript macappstore macappstores magnet mailto maps market message mhtml mid mk mms mmsto \
    mobilenotes mocha mswindowsmusic mswindowsvideo news nfs nntp opera outlookmail \
    photos-redirect pop powershell prefs rdp res resource rlogin rsync search search-ms sftp shell \
    shortcuts sip sips smb sms smsto snews ssh tel telephone telnet tn3270 vbscript view-source \
    vivaldi vnc voicemail wais webcal webcals windowsdefender ws wss wtai wyciwyg x-man-page";

const SYSTEM_SCHEME_PREFIXES: [&str; 7] =
    ["chrome", "com.apple.", "itms", "microsoft-", "moz-", "ms-", "x-apple"];

/// Loopback origins that need no name lookup (RFC 8252, section 7.3).
const LOOPBACK_ADDRESSES: &[&str] = &["http://127.0.0.1", "http://[::1]"];

/// The loopback addresses and the name that the Matrix specification permits as well.
const LOOPBACK_HOSTS: &[&str] = &["http://127.0.0.1", "http://[::1]", "http://localhost"];

wire_enum! {
    /// The kind of a public client, which determines the redirect URIs that it may register.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ApplicationType {
        #[default]
        Web = "web",
        Native = "native",
    }
}

/// A valid redirect URI in its original spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUri(String);

/// The reason a string cannot be registered as a redirect URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RedirectUriError {
    /// Browsers or operating systems open the scheme themselves, like `javascript` or `tel`.
    #[error("is forbidden by the server.")]
    Forbidden,
    /// The string is not a URI according to RFC 3986, or is a web address whose host browsers
    /// parse differently.
    #[error("must be a valid URI.")]
    Invalid,
    #[error("must be an absolute URI.")]
    Relative,
    /// The URI has neither an authority nor an absolute path, like `myapp:callback`, or has the
    /// scheme `localhost`, because the real scheme is missing. Doorkeeper, on which Mastodon is
    /// based, has one message for both.
    #[error("must specify a scheme.")]
    Opaque,
    /// The URI contains a `#`, even with nothing after it.
    #[error("cannot contain a fragment.")]
    Fragment,
    /// The URI contains a user name or a password before the host.
    #[error("cannot contain a user name or password.")]
    UserInfo,
    /// The URI contains a `*`. URIs are compared literally, so a wildcard would not work.
    #[error("cannot contain a wildcard.")]
    Wildcard,
    /// The scheme is `http`, and the host is not the user's device (RFC 8252, section 7.3).
    #[error("must be an HTTPS/SSL URI (http is only allowed for localhost).")]
    Insecure,
}

/// The reason a public client cannot register a redirect URI. The base is the host that all its
/// web addresses must share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BaseRedirectUriError {
    #[error(transparent)]
    Uri(#[from] RedirectUriError),
    /// The host is on the user's device, but clients may not register it.
    #[error("may use http only with the host localhost, 127.0.0.1 or [::1], in lower case.")]
    LocalHost,
    #[error(
        "must begin with http://localhost, http://127.0.0.1 or http://[::1], because the client \
         has no client_uri. Register an https client_uri with the same host."
    )]
    NoBase,
    #[error("must have the host of client_uri (or of the metadata document) or a subdomain of it.")]
    OtherHost,
    #[error("has a private-use scheme, which requires the application_type native.")]
    PrivateSchemeOfWebClient,
    #[error(
        "must have a scheme that begins with the reversed host of client_uri (or of the metadata \
         document), such as com.example.app for https://app.example.com."
    )]
    OtherScheme,
    #[error("must have at most one slash after its scheme, as in com.example.app:/callback.")]
    Authority,
}

impl RedirectUri {
    /// Validates a URI. Each app may have a scheme of its own, without a dot too.
    pub fn new(text: impl Into<String>) -> Result<Self, RedirectUriError> {
        let text = text.into();
        if text == OOB {
            return Ok(Self(text));
        }
        Self::parse(text, OpaqueUris::Rejected)
    }

    /// Parses a stored URI, which [`RedirectUri::new`] or [`RedirectUri::new_on_base`] validated.
    pub fn from_stored(text: impl Into<String>) -> Result<Self, RedirectUriError> {
        Self::parse(text.into(), OpaqueUris::Accepted)
    }

    /// Validates a URI of a public client (Matrix specification v1.15, "Redirect URI validation").
    /// The base is the host of the client's website or metadata document. A client without one is
    /// unverified, and its responses may not leave the user's device.
    ///
    /// Web clients may register loopback addresses too, because MCP clients on the user's device
    /// often omit the application type, and `web` is its default.
    pub fn new_on_base(
        text: &str,
        application_type: ApplicationType,
        base_host: Option<&str>,
    ) -> Result<Self, BaseRedirectUriError> {
        use BaseRedirectUriError::{
            Authority, LocalHost, NoBase, OtherHost, OtherScheme, PrivateSchemeOfWebClient,
        };
        let uri = Self::parse(text.to_owned(), OpaqueUris::Accepted)?;
        if split_loopback(text, LOOPBACK_HOSTS).is_some() {
            return Ok(uri);
        }
        let (scheme, after_scheme) = text.split_once(':').ok_or(RedirectUriError::Relative)?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "http" {
            return Err(LocalHost);
        }
        let base_host = base_host.ok_or(NoBase)?;
        if scheme == "https" {
            let is_on_base = web_host(text).is_some_and(|host| is_same_or_below(base_host, &host));
            return if is_on_base { Ok(uri) } else { Err(OtherHost) };
        }
        if application_type != ApplicationType::Native {
            return Err(PrivateSchemeOfWebClient);
        }
        let reversed_scheme = reverse_labels(&scheme);
        if !base_host.contains('.') || !is_same_or_below(base_host, &reversed_scheme) {
            return Err(OtherScheme);
        }
        if after_scheme.starts_with("//") { Err(Authority) } else { Ok(uri) }
    }

    /// Validates a URI by the rules that all issuers share.
    fn parse(text: String, opaque_uris: OpaqueUris) -> Result<Self, RedirectUriError> {
        use RedirectUriError::{
            Forbidden, Fragment, Insecure, Invalid, Opaque, Relative, UserInfo, Wildcard,
        };
        if has_forbidden_scheme(&text) {
            return Err(Forbidden);
        }
        let uri = UriRef::parse(&*text).map_err(|_| {
            // `127.0.0.1:3000` has no scheme and is reported as relative. It does not parse as
            // such, because a first segment with a colon needs `./` before it (RFC 3986, section
            // 4.2).
            let has_scheme = text.split(':').next().is_some_and(|text| Scheme::new(text).is_some());
            let is_relative = !has_scheme && UriRef::parse(format!("./{text}")).is_ok();
            if is_relative { Relative } else { Invalid }
        })?;
        let Some(scheme) = uri.scheme() else { return Err(Relative) };
        if uri.has_fragment() {
            return Err(Fragment);
        }
        let authority = uri.authority();
        // In `localhost:/callback` the scheme is missing, and `localhost` is parsed as one.
        let is_opaque = authority.is_none() && uri.path().is_rootless();
        let is_rejected = is_opaque && opaque_uris == OpaqueUris::Rejected;
        if is_rejected || scheme.as_str().eq_ignore_ascii_case("localhost") {
            return Err(Opaque);
        }
        if authority.is_some_and(|authority| authority.has_userinfo()) {
            return Err(UserInfo);
        }
        if text.contains('*') {
            return Err(Wildcard);
        }
        let is_ip_literal = authority.is_some_and(|authority| authority.host().starts_with('['));
        if (is_web_scheme(scheme) || is_ip_literal) && !authority.is_some_and(has_plain_host) {
            return Err(Invalid);
        }
        let is_http = scheme.as_str().eq_ignore_ascii_case("http");
        let redirect_uri = Self(text);
        if is_http && redirect_uri.remote_host().is_some() {
            Err(Insecure)
        } else {
            Ok(redirect_uri)
        }
    }

    /// Returns the URI in its original spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the scheme is `https`, which encrypts the response on its way to the app.
    pub fn is_https(&self) -> bool {
        self.0.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// Returns whether the code is shown to the user instead of sent to the app.
    pub fn is_oob(&self) -> bool {
        self.0 == OOB
    }

    /// Returns the requested URI, if it matches this registered one: equal in every character,
    /// except for the port of a loopback IP address, which a native app learns only when it starts
    /// (RFC 8252, section 7.3). The name `localhost` is not such an address.
    ///
    /// ```
    /// use belfry_core::oauth::redirect::RedirectUri;
    ///
    /// let registered = RedirectUri::new("https://app.example/callback")?;
    /// assert!(registered.match_requested("https://app.example/callback").is_some());
    /// assert!(registered.match_requested("https://app.example/callback/").is_none());
    ///
    /// let native = RedirectUri::new("http://127.0.0.1/callback")?;
    /// assert!(native.match_requested("http://127.0.0.1:51004/callback").is_some());
    /// # Ok::<(), belfry_core::oauth::redirect::RedirectUriError>(())
    /// ```
    pub fn match_requested(&self, requested_uri: &str) -> Option<Self> {
        self.match_except_port(requested_uri, split_loopback(&self.0, LOOPBACK_ADDRESSES))
    }

    /// Returns the requested URI, if it matches this registered one by Matrix's rule: equal in
    /// every character, except for the port of a loopback address or of `localhost` that was
    /// registered without one.
    pub fn match_requested_with_optional_port(&self, requested_uri: &str) -> Option<Self> {
        let registered = split_loopback(&self.0, LOOPBACK_HOSTS);
        self.match_except_port(requested_uri, registered.filter(|uri| uri.port.is_empty()))
    }

    /// Returns the requested URI, if it is equal to this one, or if it differs from `registered`,
    /// the parts of this one, only in the port.
    fn match_except_port(
        &self,
        requested_uri: &str,
        registered: Option<LoopbackUri<'_>>,
    ) -> Option<Self> {
        let is_same_loopback = registered.is_some_and(|registered| {
            split_loopback(requested_uri, &[registered.origin])
                .is_some_and(|requested| requested.path_and_query == registered.path_and_query)
        });
        (self.0 == requested_uri || is_same_loopback).then(|| Self(requested_uri.to_owned()))
    }

    /// Returns the host that the response is sent to, or `None` if it stays on the user's device:
    /// out of band, a private-use scheme, a loopback address or `localhost`.
    pub fn remote_host(&self) -> Option<String> {
        let host = web_host(&self.0)?;
        let is_local = host == "[::1]"
            || host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
        (!is_local).then_some(host)
    }
}

/// Whether URIs with neither an authority nor an absolute path are valid, like `myapp:callback`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpaqueUris {
    Accepted,
    Rejected,
}

/// The parts of a URI on the user's device.
struct LoopbackUri<'a> {
    origin: &'static str,
    /// The port with its colon, or empty.
    port: &'a str,
    path_and_query: &'a str,
}

/// Splits a URI with one of these origins.
fn split_loopback<'a>(uri: &'a str, origins: &[&'static str]) -> Option<LoopbackUri<'a>> {
    let origin = origins.iter().copied().find(|origin| uri.starts_with(origin))?;
    let after_origin = &uri[origin.len()..];
    let path_start = after_origin.find(['/', '?']).unwrap_or(after_origin.len());
    let (port, path_and_query) = after_origin.split_at(path_start);
    let is_port = match port.strip_prefix(':') {
        Some(port) => {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<NonZeroU16>().is_ok()
        }
        None => port.is_empty(),
    };
    is_port.then_some(LoopbackUri { origin, port, path_and_query })
}

/// Returns whether a host is the base or a subdomain of it. A base of one label has no subdomains,
/// because it may be a top-level domain.
fn is_same_or_below(base_host: &str, host: &str) -> bool {
    let is_subdomain = base_host.contains('.')
        && host.strip_suffix(base_host).is_some_and(|subdomain| subdomain.ends_with('.'));
    host == base_host || is_subdomain
}

/// Returns a name with its labels in reverse order.
fn reverse_labels(name: &str) -> String {
    name.rsplit('.').collect::<Vec<_>>().join(".")
}

/// Returns whether the scheme is forbidden. Whitespace and control characters are removed first,
/// because browsers ignore some of them.
fn has_forbidden_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let scheme: String = scheme.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let scheme = scheme.to_ascii_lowercase();
    SYSTEM_SCHEMES.split_ascii_whitespace().any(|forbidden| forbidden == scheme)
        || SYSTEM_SCHEME_PREFIXES.iter().any(|prefix| scheme.starts_with(prefix))
}

#[cfg(test)]
mod tests;
