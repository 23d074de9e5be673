//! The location of a database, and URLs that may contain a password.

mod postgres_url;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use url::{Position, Url, form_urlencoded};

pub(crate) use self::postgres_url::{
    HostConfig, PostgresUrl, TlsParameters, Verification, error_chain,
};

#[derive(Debug, Clone)]
pub enum Database {
    Sqlite(PathBuf),
    Postgres(SecretUrl),
}

impl Database {
    /// Returns the path, or the URL without its password.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(url) => url.without_password(),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "SQLite in {}", path.display()),
            Self::Postgres(url) => write!(f, "PostgreSQL at {}", url.without_password()),
        }
    }
}

/// The URL of a database or Redis server. Its password is never printed.
///
/// It may name several hosts, separated by commas: `postgres://me@a:5432,b:5432/belfry`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SecretUrl {
    /// The URL with the first host, because the URL syntax allows only one.
    url: Url,
    /// The additional hosts, each after a comma.
    additional_hosts: String,
    full_text: String,
}

impl SecretUrl {
    fn new(url: Url, additional_hosts: &str) -> Self {
        let full_text = with_hosts(&url, additional_hosts);
        Self { url, additional_hosts: additional_hosts.to_owned(), full_text }
    }

    /// Returns the URL with its password, for the driver.
    pub fn reveal(&self) -> &str {
        &self.full_text
    }

    /// Returns a URL for each host, with the password: `redis://:PASSWORD@a:1` and
    /// `redis://:PASSWORD@b:2` for `redis://:PASSWORD@a:1,b:2`.
    pub fn reveal_each(&self) -> Vec<String> {
        split_by_host(&self.url, &self.additional_hosts).map(|(_, url)| url).collect()
    }

    /// Returns the scheme: `postgres`, `redis` …
    pub fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// Returns the hosts, without their ports.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        let further = self.additional_hosts.split(',').skip(1).map(without_port);
        self.url.host_str().into_iter().chain(further)
    }

    pub fn parse_redis(text: &str) -> Result<Self, String> {
        Self::parse(text, "redis://HOST", "redis://:pass%2Fword@HOST")
    }

    /// Parses a URL. The error contains one of the examples, the second if a password seems not to
    /// be encoded. It does not repeat the text, which may contain a password.
    fn parse(text: &str, example: &str, encoded_example: &str) -> Result<Self, String> {
        let (first, additional_hosts) = split_off_additional_hosts(text)
            .map_or((Cow::Borrowed(text), ""), |(first, others)| (first.into(), others));
        match Url::parse(&first) {
            Ok(url) if !has_truncated_password(&url) => Ok(Self::new(url, additional_hosts)),
            // Such as `HOST`, or an IP address with a port.
            Err(url::ParseError::RelativeUrlWithoutBase) if !has_at_sign_after_delimiter(text) => {
                Err(format!("not a URL with a scheme: write {example}"))
            }
            Err(error) if !has_at_sign_after_delimiter(text) => {
                Err(format!("not a valid URL ({error}): write {example}"))
            }
            Ok(_) | Err(_) => Err(format!(
                "the password has a character that ends it in a URL: write %2F for /, %23 for #, \
                 %3F for ?, %40 for @ and %25 for %, as in {encoded_example}"
            )),
        }
    }

    /// Checks the parameters of a PostgreSQL connection.
    ///
    /// # Errors
    /// Returns a description of the first invalid parameter.
    pub fn check_postgres(&self) -> Result<(), String> {
        self.to_postgres().map(drop)
    }

    /// Returns the parameters of a PostgreSQL connection.
    pub(crate) fn to_postgres(&self) -> Result<PostgresUrl, String> {
        PostgresUrl::parse(&self.url, &self.additional_hosts)
    }

    /// Returns the file with this client's private key, if there is one.
    pub fn client_key(&self) -> Option<PathBuf> {
        Some(self.to_postgres().ok()?.tls?.client?.key)
    }

    /// Returns whether the URL contains a password.
    pub fn has_password(&self) -> bool {
        self.url.password().is_some() || self.url.query_pairs().any(|(key, _)| key == "password")
    }

    /// Returns whether connections are unencrypted and `is_local` is false for one of the hosts.
    pub fn is_clear_text(&self, is_local: fn(&str) -> bool) -> bool {
        match self.scheme() {
            "redis" => self.hosts().any(|host| !is_local(host)),
            "postgres" | "postgresql" => {
                self.to_postgres().is_ok_and(|url| url.is_clear_text(is_local))
            }
            _ => false,
        }
    }

    /// Returns the URL with its parameters and `***` in place of the password.
    pub fn redacted(&self) -> String {
        let parameters = self.url.query().into_iter().flat_map(|query| query.split('&'));
        let redacted = parameters.map(|parameter| {
            let name = form_urlencoded::parse(parameter.as_bytes()).next().map(|(name, _)| name);
            if name.is_some_and(|name| name == "password") { "password=***" } else { parameter }
        });
        let query = redacted.collect::<Vec<_>>().join("&");
        let url = self.without_password();
        if query.is_empty() { url } else { format!("{url}?{query}") }
    }

    /// Returns the URL for messages and logs, with `***` in place of the password and without
    /// parameters.
    pub fn without_password(&self) -> String {
        let mut url = self.url.clone();
        if url.password().is_some() {
            let _only_fails_without_a_host = url.set_password(Some("***"));
        }
        // The query can contain a password too.
        url.set_query(None);
        with_hosts(&url, &self.additional_hosts)
    }
}

/// Returns a URL with additional hosts after the first.
fn with_hosts(url: &Url, additional_hosts: &str) -> String {
    format!("{}{additional_hosts}{}", &url[..Position::AfterPort], &url[Position::AfterPort..])
}

/// Returns each host with its port, and the URL with this host alone.
fn split_by_host<'a>(
    url: &'a Url,
    additional_hosts: &'a str,
) -> impl Iterator<Item = (&'a str, String)> {
    let first = &url[Position::BeforeHost..Position::AfterPort];
    let hosts = [first].into_iter().chain(additional_hosts.split(',').skip(1));
    let before = &url[..Position::BeforeHost];
    let after = &url[Position::AfterPort..];
    hosts.map(move |host| (host, format!("{before}{host}{after}")))
}

/// Splits a URL with several hosts into one with the first host, and the others, each after a
/// comma.
fn split_off_additional_hosts(text: &str) -> Option<(String, &str)> {
    let start = text.find("://")? + 3;
    let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |end| start + end);
    let hosts_start = text[start..end].rfind('@').map_or(start, |at_sign| start + at_sign + 1);
    let comma = hosts_start + text[hosts_start..end].find(',')?;
    Some((format!("{}{}", &text[..comma], &text[end..]), &text[comma..end]))
}

/// Returns a host without the port that may follow it. An IPv6 address has brackets.
fn without_port(host: &str) -> &str {
    match host.split_once(']') {
        Some((address, _)) => &host[..=address.len()],
        None => host.split_once(':').map_or(host, |(host, _)| host),
    }
}

/// Returns whether an `@` follows the first `/`, `?` or `#` of an invalid URL, which suggests that
/// the password contains that character.
fn has_at_sign_after_delimiter(text: &str) -> bool {
    let after_scheme = text.split_once("://").map_or(text, |(_, after)| after);
    after_scheme.split_once(['/', '?', '#']).is_some_and(|(_, path)| path.contains('@'))
}

/// Returns whether a password seems to be truncated at an unencoded character: the rest of it and
/// the real host became part of the path, the query or the fragment.
fn has_truncated_password(url: &Url) -> bool {
    let has_at_sign = |part: &str| part.contains('@');
    let mut parameters = url.query().into_iter().flat_map(|query| query.split('&'));
    has_at_sign(url.path())
        || url.fragment().is_some_and(has_at_sign)
        || parameters.any(|parameter| !parameter.contains('=') && has_at_sign(parameter))
}

/// Parses a URL with any scheme. The example in the error is a PostgreSQL URL.
impl FromStr for SecretUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let encoded_example = "postgres://USER:pass%2Fword@HOST/DATABASE";
        Self::parse(text, "postgres://USER:PASSWORD@HOST/DATABASE", encoded_example)
    }
}

/// Serializes the URL without the password.
impl Serialize for SecretUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}

impl TryFrom<String> for SecretUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_password())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_printed_without_its_password() {
        for (text, expected) in [
            ("postgres://me:hunter2@db:5432/belfry", "postgres://me:***@db:5432/belfry"),
            ("postgres://me@db/belfry?password=hunter2", "postgres://me@db/belfry"),
            ("redis://:hunter2@cache", "redis://:***@cache"),
            ("postgres://me:h,2@a:1,b,[::1]:3/belfry", "postgres://me:***@a:1,b,[::1]:3/belfry"),
            ("redis://:hunter2@a:1,b:2", "redis://:***@a:1,b:2"),
        ] {
            let url: SecretUrl = text.parse().unwrap();
            assert_eq!(format!("{url:?}"), expected);
            assert_eq!(url.reveal(), text);
        }
        let url = "postgres://me:hunter2@db/belfry?sslmode=require&password=hunter2&port=1";
        let redacted = "postgres://me:***@db/belfry?sslmode=require&password=***&port=1";
        assert_eq!(url.parse::<SecretUrl>().unwrap().redacted(), redacted);
        assert!(!"hunter2".parse::<SecretUrl>().unwrap_err().contains("hunter2"));
    }

    #[test]
    fn a_url_may_name_several_hosts() {
        let hosts = |url: &str| {
            let url: SecretUrl = url.parse().unwrap();
            url.hosts().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(hosts("postgres://me@a:1,b,[::1]:3,[::2]/x"), ["a", "b", "[::1]", "[::2]"]);
        assert_eq!(hosts("postgres://me@a/x?application_name=1,2"), ["a"]);
        let is_local = |host: &str| matches!(host, "localhost" | "[::1]");
        for (url, is_clear_text) in [
            ("redis://localhost:1,[::1]:2", false),
            ("redis://localhost:1,b:2", true),
            ("postgres://localhost:1,b:2/belfry", true),
            ("postgres://localhost:1,b:2/belfry?sslmode=verify-full", false),
        ] {
            let url: SecretUrl = url.parse().unwrap();
            assert_eq!(url.is_clear_text(is_local), is_clear_text, "{url:?}");
        }
        assert!(
            "postgres://me@a:1,b:x/belfry".parse::<SecretUrl>().unwrap().to_postgres().is_err()
        );
    }

    #[test]
    fn each_host_url_has_the_user_and_the_parameters() {
        for (url, expected) in [
            ("redis://a", vec!["redis://a"]),
            (
                "rediss://me:h,2@a,b/0?x=1,2",
                vec!["rediss://me:h,2@a/0?x=1,2", "rediss://me:h,2@b/0?x=1,2"],
            ),
            ("redis://a:1,[::1]:2,c", vec!["redis://a:1", "redis://[::1]:2", "redis://c"]),
        ] {
            assert_eq!(url.parse::<SecretUrl>().unwrap().reveal_each(), expected);
        }
    }

    #[test]
    fn an_unencoded_password_is_rejected_with_instructions_to_encode_it() {
        for url in [
            "postgres://me:hunter/2@db/belfry",
            "postgres://me:hunter#2@db/belfry",
            "postgres://me:hunter?2@db/belfry",
            "postgres://me:7/hunter2@db/belfry",
            "postgres://me:7#hunter2@db/belfry",
            "postgres://me:7,8/hunter2@db,other/belfry",
            "postgres://me:p@hunter/2@db/belfry",
            "postgres://me:p@hunter#2@db/belfry",
            "postgres://me:p@hunter?2@db/belfry",
            "postgres://me:p@q@hunter/2@db:5432/belfry?sslmode=require",
        ] {
            let error = url.parse::<SecretUrl>().unwrap_err();
            assert!(error.contains("write %2F for /, %23 for #"), "{url}: {error}");
            assert!(
                error.ends_with(", as in postgres://USER:pass%2Fword@HOST/DATABASE"),
                "{error}"
            );
            assert!(!error.contains("hunter"), "{error}");
        }
        let error = SecretUrl::parse_redis("redis://:hunter/2@cache").unwrap_err();
        assert!(error.contains("write %2F for /, %23 for #"), "{error}");
        assert!(error.ends_with(", as in redis://:pass%2Fword@HOST"), "{error}");
        assert!(!error.contains("hunter") && !error.contains("postgres"), "{error}");
        for url in [
            "postgres://me:hunter%2F2@db/belfry",
            "postgres://me:hunter@2@db/belfry",
            "postgres://db:5432/belfry?application_name=a@b",
            "postgres:///belfry?host=/run/postgresql",
        ] {
            assert!(url.parse::<SecretUrl>().is_ok(), "{url}");
        }
    }
}
