//! Types and parsers of single settings.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use axum::http::HeaderName;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use url::Url;

/// What happens to requests over a rate limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitMode {
    /// They are counted, reported and rejected.
    #[default]
    Enforce,
    /// They are counted and reported, but not rejected.
    Shadow,
    /// Requests are not counted.
    Off,
}

/// Who can create accounts, or register apps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationPolicy {
    /// Anybody, through the API.
    #[default]
    Open,
    /// Only the operator, by `belfry account add` or `belfry app add`.
    Closed,
}

/// The minimum level of log messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "these are the usual names")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `Human` if stderr is a terminal, otherwise `Json`.
    #[default]
    Auto,
    /// Text for people.
    Human,
    /// JSON for programs.
    Json,
}

/// The public URL of the service, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// The URL of a socket address.
    pub(super) fn from_address(bound: SocketAddr, secure: bool) -> Self {
        let scheme = if secure { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{bound}"));
        Self(url.expect("a socket address is a valid authority"))
    }

    /// The host, without the port.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Whether clients use HTTPS, to this process or to a proxy in front of it.
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
        let url = Url::parse(text).map_err(|error| format!("{text:?} is not a URL: {error}"))?;
        let is_origin = url.as_str() == format!("{}/", url.origin().ascii_serialization());
        if is_origin && matches!(url.scheme(), "http" | "https") {
            Ok(Self(url))
        } else {
            Err(format!("{text:?} must be http://HOST or https://HOST, without a path"))
        }
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A point in time with an offset from UTC, as a string or a TOML date-time.
pub(super) fn timestamp<'de, D>(deserializer: D) -> Result<Option<Timestamp>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = match toml::Value::deserialize(deserializer)? {
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::String(text) => text,
        _ => String::new(),
    };
    let expected = "must be a time such as \"2027-01-31T00:00:00Z\"";
    text.parse().map(Some).map_err(|_| de::Error::custom(expected))
}

/// The name of a header.
pub(super) fn header_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<HeaderName>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let invalid = |_| de::Error::custom(format!("{text:?} is not the name of a header"));
    text.parse().map(Some).map_err(invalid)
}

/// A number above zero.
pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(de::Error::custom("must be at least 1")),
        number => Ok(number),
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
