//! Small types of single settings: what parses is usable.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::Deserialize;
use url::Url;

/// Whether a call over a limit is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitMode {
    /// Count, report, refuse.
    #[default]
    Enforce,
    /// Count and report, never refuse.
    Shadow,
    /// Do not even count.
    Off,
}

/// Whether strangers can make accounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationPolicy {
    /// Anybody can.
    #[default]
    Open,
    /// Only who runs the server makes accounts.
    Closed,
}

/// The least important log lines that are still written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of every logger")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// Whom log lines are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// People, when stderr is a terminal; otherwise programs.
    #[default]
    Auto,
    /// People.
    Human,
    /// Programs.
    Json,
}

/// The address under which clients reach the service, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// The address of a socket.
    pub(super) fn of(bound: SocketAddr, secure: bool) -> Self {
        let scheme = if secure { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{bound}"));
        Self(url.expect("a socket address is a valid authority"))
    }

    /// The host, without its port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Whether clients come over HTTPS, to this process or to a proxy before it.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{text:?} is no URL: {error}"))?;
        let bare = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if bare {
            Ok(Self(url))
        } else {
            Err(format!("{text:?} must be http://HOST or https://HOST, with no path behind it"))
        }
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_scheme_and_host() {
        for (text, shown) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://Ring.Example/", "https://ring.example"),
            ("https://ring.example:443", "https://ring.example"),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to_string(), shown);
        }
        for wrong in ["", "ring.example", "ftp://a", "https://a/b", "https://a?b", "https://u@a"] {
            assert!(wrong.parse::<BaseUrl>().is_err(), "{wrong}");
        }
    }
}
