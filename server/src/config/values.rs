//! Types and deserializers for individual settings.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use belfry_store::SecretUrl;
use redis::IntoConnectionInfo;
use serde::{Deserialize, Deserializer, Serialize, de};
use url::Url;

/// Treatment of requests over a rate limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitMode {
    /// Requests over a limit are rejected.
    #[default]
    Enforce,
    /// Requests over a limit are reported, but not rejected.
    Shadow,
    /// Requests are not counted.
    Off,
}

/// Permission to create accounts, or to register apps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationPolicy {
    #[default]
    Open,
    /// Accounts are created by the operator (`belfry account add`) or by application services; apps
    /// only by the operator (`belfry app add`).
    Closed,
}

/// Minimum level of log messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// Selects the requests written to the access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessLog {
    /// No requests.
    #[default]
    Off,
    /// Requests whose response has a status of 400 or above.
    Errors,
    All,
}

/// The public URL of the service: a scheme, a host and an optional port. It is displayed without a
/// trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(Arc<Url>);

impl BaseUrl {
    /// Returns the URL, with a trailing slash.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Returns the host, without the port.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns whether clients use HTTPS, to this process or to a proxy in front of it.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns whether responses should have `Strict-Transport-Security`: with HTTPS and a host
    /// name other than `localhost`. Browsers ignore the header for IP addresses (RFC 6797, section
    /// 8.1.1). For `localhost` it would apply to all programs on the machine.
    pub fn allows_hsts(&self) -> bool {
        let is_public_name = |name: &str| name != "localhost" && !name.ends_with(".localhost");
        self.is_https() && self.0.domain().is_some_and(is_public_name)
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
        let is_base_url = |url: &Url| {
            let origin = url.origin().ascii_serialization();
            matches!(url.scheme(), "http" | "https") && url.as_str() == format!("{origin}/")
        };
        Url::parse(text).ok().filter(is_base_url).map(|url| Self(Arc::new(url))).ok_or_else(|| {
            format!(
                "{text:?} is not a base URL: write a scheme, a host and an optional port, such as \
                 \"https://ring.example\""
            )
        })
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> Self {
        url.to_string()
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Parses a PostgreSQL URL. The error does not repeat it, because it may contain a password.
pub(super) fn parse_database_url(text: &str) -> Result<SecretUrl, String> {
    let url: SecretUrl = text.parse()?;
    if !["postgres", "postgresql"].contains(&url.scheme()) {
        return Err(
            "the URL must be postgres://USER:PASSWORD@HOST/DATABASE; omit it for SQLite in \
                    the data directory"
                .to_owned(),
        );
    }
    url.check_postgres()?;
    Ok(url)
}

/// Parses a Redis URL. The error does not repeat it, because it may contain a password.
pub(super) fn parse_redis_url(text: &str) -> Result<SecretUrl, String> {
    let url = SecretUrl::parse_redis(text)?;
    if !["redis", "rediss"].contains(&url.scheme()) {
        return Err("the URL must be redis://HOST:PORT, or rediss://HOST:PORT for TLS".to_owned());
    }
    if url.reveal().contains('#') {
        // The driver would accept `#insecure`, which disables certificate verification.
        return Err("a fragment (#…) is not supported".to_owned());
    }
    let nodes = url.reveal_each();
    for node in &nodes {
        let info = node.as_str().into_connection_info().map_err(|error| {
            format!(
                "{error}: write redis://HOST, redis://:PASSWORD@HOST/NUMBER, or \
                 redis://HOST1,HOST2 for a cluster"
            )
        })?;
        if nodes.len() > 1 && info.redis_settings().db() != 0 {
            let problem = "a cluster has no databases: write redis://HOST1,HOST2 without a number";
            return Err(problem.to_owned());
        }
    }
    Ok(url)
}

pub(super) fn deserialize_database_url<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SecretUrl>, D::Error> {
    parse_database_url(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

pub(super) fn deserialize_redis_url<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SecretUrl>, D::Error> {
    parse_redis_url(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

pub(super) fn deserialize_link<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match Url::parse(&text) {
        Ok(url) if ["https", "http", "mailto"].contains(&url.scheme()) => Ok(Some(url)),
        _ => {
            let target = if text.contains(':') { "…" } else { &text };
            Err(de::Error::custom(format!(
                "{text:?} cannot be a link: write \"https://{target}\" or \"mailto:…\""
            )))
        }
    }
}

/// (De)serializes through `Display` and `FromStr`. TOML values other than strings, such as
/// date-times, are parsed from their text.
pub(super) mod as_string {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
    use toml::Value;

    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            value => value.to_string(),
        };
        text.parse().map(Some).map_err(|error| de::Error::custom(format!("{text:?}: {error}")))
    }

    #[expect(clippy::ref_option, reason = "serde calls it with this type")]
    pub(crate) fn serialize<S: Serializer, T: ToString>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(T::to_string).serialize(serializer)
    }
}

pub(super) fn deserialize_positive<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(de::Error::custom("must be at least 1")),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_a_scheme_and_a_host() {
        for (text, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://Ring.Example/", "https://ring.example"),
            ("https://ring.example:443", "https://ring.example"),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn an_invalid_base_url_is_rejected() {
        for text in [
            "",
            "bells.example",
            "localhost:8080",
            "ftp://a",
            "https://a/b",
            "https://a?b",
            "https://u@a:8",
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.starts_with(&format!("{text:?} is not a base URL: write")), "{error}");
        }
    }
}
