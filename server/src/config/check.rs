//! What no single setting can tell: which of them do not go together, or are hardly meant.

use super::{BaseUrl, Config, ConfigError};
use crate::http::paths::RESERVED_SEGMENTS;

impl Config {
    /// Refuses what cannot be served.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |text: String| Err(ConfigError(text));
        if self.name_segments.is_empty() {
            return refuse("name_segments is empty: no push rules would be served".to_owned());
        }
        for (number, segment) in self.name_segments.iter().enumerate() {
            if self.name_segments[..number].contains(segment) {
                return refuse(format!("name_segments: {segment:?} is there twice"));
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if segment.is_empty()
                || segment.starts_with('.')
                || !segment.chars().all(plain)
                || RESERVED_SEGMENTS.contains(&segment.as_str())
            {
                return refuse(format!(
                    "name_segments: {segment:?} cannot be used; take letters, digits, `_`, `-`, \
                     and not one of {}",
                    RESERVED_SEGMENTS.join(", ")
                ));
            }
        }
        if let Some(tls) = &self.tls
            && [&tls.certificate, &tls.key].iter().any(|path| path.as_os_str().is_empty())
        {
            return refuse("tls: a certificate and a key are needed, both".to_owned());
        }
        if let Some(url) = &self.database
            && !matches!(url.scheme(), "postgres" | "postgresql")
        {
            return refuse(format!(
                "database: {:?} is not served; write postgres://…, or leave it out for SQLite in \
                 the data folder",
                url.scheme()
            ));
        }
        if let Some(url) = &self.redis
            && !matches!(url.scheme(), "redis" | "rediss")
        {
            return refuse(format!(
                "redis: {:?} is not served; write redis://…, or rediss://… with TLS",
                url.scheme()
            ));
        }
        if self.redis.as_ref().is_some_and(|url| url.reveal().contains('#')) {
            // The driver would take `#insecure` for the wish not to know whom it speaks to.
            return refuse("redis: nothing after # is understood".to_owned());
        }
        if let Some(name) = &self.server_name
            && (name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/'))
        {
            return refuse(format!("server_name: {name:?} is not a host name"));
        }
        Ok(())
    }

    /// What is allowed, but hardly meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<&'static str> {
        let secure = self.base_url.as_ref().is_some_and(BaseUrl::is_secure);
        let mut doubts = Vec::new();
        if secure && self.tls.is_none() && self.trusted_proxies.is_empty() {
            doubts.push(
                "base_url is https but this process serves plain HTTP, so a proxy must stand \
                 before it; without its address in trusted_proxies all clients share one limit",
            );
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_the_push_rules_are_plain_free_and_each_there_once() {
        let checked = |segments: &[&str]| {
            let name_segments = segments.iter().map(|&segment| segment.to_owned()).collect();
            Config { name_segments, ..Config::default() }.check().map_err(|error| error.0)
        };
        assert_eq!(checked(&["_matrix", "bells.v2"]), Ok(()));
        for (segments, problem) in [
            (&[] as &[_], "is empty"),
            (&["a", "b", "a"], "\"a\" is there twice"),
            (&["a/b"], "\"a/b\" cannot be used"),
            (&[".well-known"], "cannot be used"),
            (&["oauth"], "cannot be used"),
            (&[""], "cannot be used"),
        ] {
            let refusal = checked(segments).unwrap_err();
            assert!(refusal.contains(problem), "{segments:?}: {refusal}");
        }
    }
}
