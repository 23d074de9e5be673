//! Validates settings that cannot be checked while parsing, and warns of probable mistakes.

use super::{BaseUrl, Config, ConfigError};
use crate::store::SecretUrl;

/// First segments of other routes, which `name_segments` cannot use. A test of the router checks
/// that the list is complete; segments that begin with a dot are reserved as well.
pub(crate) const RESERVED_SEGMENTS: [&str; 8] =
    ["api", "oauth", "gateway", "healthz", "readyz", "metrics", "nodeinfo", "static"];

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
        for (key, url, schemes, advice) in [
            ("database", &self.database, ["postgres", "postgresql"], postgres),
            ("redis", &self.redis, ["redis", "rediss"], "use redis://…, or rediss://… for TLS"),
        ] {
            if let Some(scheme) = url.as_ref().map(SecretUrl::scheme)
                && !schemes.contains(&scheme)
            {
                return reject(format!("{key}: unsupported scheme {scheme:?}; {advice}"));
            }
        }
        if self.redis.as_ref().is_some_and(|url| url.reveal().contains('#')) {
            // The driver would accept `#insecure`, which disables certificate verification.
            return reject("redis: a fragment (#…) is not supported".to_owned());
        }
        if let Some(name) = &self.server_name
            && (name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/'))
        {
            return reject(format!("server_name: {name:?} is not a host name"));
        }
        Ok(())
    }

    /// A warning about settings that are valid but probably a mistake.
    pub fn warning(&self) -> Option<&'static str> {
        let secure = self.base_url.as_ref().is_some_and(BaseUrl::is_secure);
        let has_unknown_proxy = secure && self.tls.is_none() && self.trusted_proxies.0.is_empty();
        has_unknown_proxy.then_some(
            "base_url is https but this process serves plain HTTP, so clients connect through a \
             proxy; without its address in trusted_proxies they all share one rate limit",
        )
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
}
