//! Validates settings that cannot be checked while parsing.

use super::{Config, ConfigError, Security, UrlSource};
use crate::store::SecretUrl;

/// First segments of other routes, which `name_segments` cannot use. A test of the router checks
/// that the list is complete; segments that begin with a dot are reserved as well.
pub(crate) const RESERVED_SEGMENTS: [&str; 9] = [
    "api",
    "oauth",
    "gateway",
    "healthz",
    "readyz",
    "metrics",
    "nodeinfo",
    "openapi.json",
    "static",
];

impl Config {
    /// Rejects a configuration that cannot be served.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let reject = |text: String| Err(ConfigError(text));
        if self.name_segments.is_empty() {
            return reject("name_segments is empty: no push rules would be served".to_owned());
        }
        for (number, segment) in self.name_segments.iter().enumerate() {
            if self.name_segments[..number].contains(segment) {
                return reject(format!("name_segments: {segment:?} is listed twice"));
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if segment.is_empty()
                || segment.starts_with('.')
                || !segment.chars().all(plain)
                || RESERVED_SEGMENTS.contains(&segment.as_str())
            {
                return reject(format!(
                    "name_segments: {segment:?} cannot be used; use letters, digits, `_`, `-` \
                     and `.` (not at the start), but none of {}",
                    RESERVED_SEGMENTS.join(", ")
                ));
            }
        }
        if let Some(tls) = &self.tls
            && [&tls.certificate, &tls.key].iter().any(|path| path.as_os_str().is_empty())
        {
            return reject("tls: both a certificate and a key are required".to_owned());
        }
        let postgres = "use postgres://…, or omit it for SQLite in the data directory";
        let sources = &self.sources;
        for (key, url, source, schemes, advice) in [
            ("database", &self.database, &sources.database, ["postgres", "postgresql"], postgres),
            (
                "redis",
                &self.redis,
                &sources.redis,
                ["redis", "rediss"],
                "use redis://…, or rediss://… for TLS",
            ),
        ] {
            let Some(scheme) = url.as_ref().map(SecretUrl::scheme) else { continue };
            if schemes.contains(&scheme) {
                continue;
            }
            return reject(match source {
                // Of a file nothing is shown, because it may be another secret.
                Some(UrlSource { setting, file: Some(path) }) => {
                    format!("{setting}: unsupported scheme in {}; {advice}", path.display())
                }
                _ => format!("{key}: unsupported scheme {scheme:?}; {advice}"),
            });
        }
        if let Some(Err(error)) = self.database.as_ref().map(SecretUrl::to_postgres) {
            return reject(format!("database: {error}"));
        }
        if self.redis.as_ref().is_some_and(|url| url.reveal().contains('#')) {
            // The driver would accept `#insecure`, which disables certificate verification.
            return reject("redis: a fragment (#…) is not supported".to_owned());
        }
        let has_redis_tls = self.redis.as_ref().is_some_and(|url| url.scheme() == "rediss");
        if self.limits.redis_root_certificate.is_some() && !has_redis_tls {
            let advice = "use redis = \"rediss://…\"";
            return reject(format!(
                "limits.redis_root_certificate has no effect without TLS; {advice}"
            ));
        }
        if let Some(name) = &self.server_name
            && (name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/'))
        {
            return reject(format!("server_name: {name:?} is not a host name"));
        }
        let Security { contact, expires, policy, encryption } = &self.security;
        if !contact.is_empty() && expires.is_none() {
            return reject("security.expires is required with security.contact".to_owned());
        }
        if let Some(url) =
            contact.iter().chain(policy).chain(encryption).find(|url| url.scheme() == "http")
        {
            return reject(format!("security: {:?} must be https", url.as_str()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_segments_are_plain_unreserved_and_distinct() {
        let check = |segments: &[&str]| {
            let name_segments = segments.iter().map(|&segment| segment.to_owned()).collect();
            Config { name_segments, ..Config::default() }.check().map_err(|error| error.0)
        };
        assert_eq!(check(&["_matrix", "bells.v2"]), Ok(()));
        for (segments, problem) in [
            (&[] as &[_], "is empty"),
            (&["a", "b", "a"], "\"a\" is listed twice"),
            (&["a/b"], "\"a/b\" cannot be used"),
            (&[".well-known"], "cannot be used"),
            (&["oauth"], "cannot be used"),
            (&[""], "cannot be used"),
        ] {
            let error = check(segments).unwrap_err();
            assert!(error.contains(problem), "{segments:?}: {error}");
        }
    }

    #[test]
    fn links_on_the_sign_in_page_lead_to_a_website_or_an_address() {
        let parse = |url: &str| {
            let settings = format!("instance.sign_up_url = '{url}'");
            toml::from_str::<Config>(&settings).map_err(|error| error.message().to_owned())
        };
        for url in ["https://ring.example/join", "http://ring.example", "mailto:help@ring.example"]
        {
            assert!(parse(url).is_ok(), "{url}");
        }
        for (url, error) in [
            (
                "javascript:alert(1)",
                "\"javascript:alert(1)\" cannot be a link: write \"https://…\" or \"mailto:…\"",
            ),
            (
                "ring.example/join",
                "\"ring.example/join\" cannot be a link: write \"https://ring.example/join\" or \
                 \"mailto:…\"",
            ),
        ] {
            assert_eq!(parse(url).unwrap_err(), error);
        }
    }

    #[test]
    fn a_security_contact_has_an_expiry_and_secure_links() {
        let check = |settings: &str| {
            let config: Config = toml::from_str(&format!("[security]\n{settings}")).unwrap();
            config.check().map_err(|error| error.0)
        };
        let expires = "expires = '2027-01-01T00:00:00Z'";
        for contact in ["mailto:security@ring.example", "https://ring.example/report"] {
            assert_eq!(check(&format!("contact = ['{contact}']\n{expires}")), Ok(()));
        }
        assert_eq!(check(expires), Ok(()));
        for (settings, problem) in [
            ("contact = ['mailto:a@b.example']".to_owned(), "security.expires is required"),
            (format!("contact = ['http://a.example']\n{expires}"), "must be https"),
            ("policy = 'http://a.example'".to_owned(), "must be https"),
        ] {
            let error = check(&settings).unwrap_err();
            assert!(error.contains(problem), "{settings}: {error}");
        }
    }
}
