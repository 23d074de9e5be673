//! Validates settings that cannot be checked while parsing.

use std::time::Duration;

use super::{Config, ConfigError};

/// First segments of other routes, which `name_segments` cannot use. A test of the router checks
/// that the list is complete; segments that begin with a dot are reserved as well.
pub(crate) const RESERVED_SEGMENTS: [&str; 10] = [
    "api",
    "id",
    "oauth",
    "gateway",
    "healthz",
    "readyz",
    "metrics",
    "nodeinfo",
    "openapi.json",
    "static",
];

/// Maximum `http.shutdown_delay`: longer than any load balancer takes to detect that a node is not
/// ready.
const MAX_SHUTDOWN_DELAY: Duration = Duration::from_mins(10);

impl Config {
    /// Rejects a configuration that cannot be served, with the first problem that each check found.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let results = [
            self.check_name_segments(),
            self.check_redis_certificate(),
            self.check_data(),
            self.check_tls(),
            self.check_shutdown_delay(),
            self.check_server_name(),
            self.check_push(),
        ];
        let problems = results.into_iter().filter_map(Result::err).flat_map(|error| error.problems);
        ConfigError::from_problems(problems.collect())
    }

    fn check_data(&self) -> Result<(), ConfigError> {
        if self.database.is_none() && self.data.is_file() {
            let data = self.data.display();
            return self.reject("data", &format!("data: {data} is a file: name a directory"));
        }
        Ok(())
    }

    fn check_tls(&self) -> Result<(), ConfigError> {
        let Some(tls) = &self.tls else { return Ok(()) };
        for (key, path) in [("tls.certificate", &tls.certificate), ("tls.key", &tls.key)] {
            if path.as_os_str().is_empty() {
                let problem = format!("{key} is missing: TLS needs a certificate and its key");
                return self.reject("tls", &problem);
            }
        }
        Ok(())
    }

    fn check_shutdown_delay(&self) -> Result<(), ConfigError> {
        if self.http.shutdown_delay > MAX_SHUTDOWN_DELAY {
            let problem = "http.shutdown_delay must be at most 10 minutes: service managers kill a \
                           server that takes long to stop";
            return self.reject("http.shutdown_delay", problem);
        }
        Ok(())
    }

    fn check_server_name(&self) -> Result<(), ConfigError> {
        match &self.server_name {
            Some(name)
                if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/') =>
            {
                let problem =
                    format!("server_name: {name:?} is not a host name such as ring.example");
                self.reject("server_name", &problem)
            }
            _ => Ok(()),
        }
    }

    fn check_push(&self) -> Result<(), ConfigError> {
        if self.push.contact.is_some() && self.sealing_key_path().is_none() {
            let problem = "push.contact needs secret_key_file with PostgreSQL, the same file on every \
                           node: a copy of belfry.key if the data was in SQLite before, otherwise \
                           create it with `belfry key new FILE`";
            return self.reject("push.contact", problem);
        }
        Ok(())
    }

    fn reject(&self, key: &str, problem: &str) -> Result<(), ConfigError> {
        Err(ConfigError::new(format!("{problem}{}", self.format_place(key))))
    }

    /// Rejects a `--data` flag that has no effect because the file names PostgreSQL: a flag
    /// overrides the file, so the operator expects SQLite in that directory.
    pub(super) fn check_data_flag(&self) -> Result<(), ConfigError> {
        let key =
            ["database", "database_file"].into_iter().find(|key| self.lines.contains_key(*key));
        let is_flag = self.origins.get("data").is_some_and(|origin| origin == "--data");
        let Some(key) = key.filter(|_| is_flag) else { return Ok(()) };
        let data = self.data.display();
        let file = &self.origins[key];
        Err(ConfigError::new(format!(
            "--data {data} has no effect, because {key} in {file} names PostgreSQL; omit --data, or \
             use a different file (--config /dev/null for none) for SQLite in {data}"
        )))
    }

    fn check_redis_certificate(&self) -> Result<(), ConfigError> {
        let key = "limits.redis_root_certificate";
        let has_tls = self.redis.as_ref().is_some_and(|url| url.scheme() == "rediss");
        if self.limits.redis_root_certificate.is_some() && !has_tls {
            let problem = format!("{key} has no effect without TLS; use redis = \"rediss://…\"");
            return self.reject(key, &problem);
        }
        Ok(())
    }

    fn check_name_segments(&self) -> Result<(), ConfigError> {
        let reject = |problem: String| {
            let place = self.format_place("name_segments");
            Err(ConfigError::new(format!("name_segments{problem}{place}")))
        };
        if self.name_segments.is_empty() {
            return reject(" is empty: no push rules would be served".to_owned());
        }
        for (index, segment) in self.name_segments.iter().enumerate() {
            if self.name_segments[..index].contains(segment) {
                return reject(format!(": {segment:?} is listed twice"));
            }
            let is_segment_char =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if segment.is_empty()
                || segment.starts_with('.')
                || !segment.chars().all(is_segment_char)
                || RESERVED_SEGMENTS.contains(&segment.as_str())
            {
                return reject(format!(
                    ": {segment:?} cannot be used; use letters, digits, `_`, `-` and `.` (not at \
                     the start), but none of {}",
                    RESERVED_SEGMENTS.join(", ")
                ));
            }
        }
        Ok(())
    }

    /// Formats the place of a setting: ` (belfry.toml, line 14)` or ` (--listen)`. Empty for a
    /// default.
    pub(super) fn format_place(&self, key: &str) -> String {
        match (self.origins.get(key), self.lines.get(key)) {
            (Some(file), Some(line)) => format!(" ({file}, line {line})"),
            (Some(origin), None) => format!(" ({origin})"),
            (None, _) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_segments_are_plain_unreserved_and_distinct() {
        let check_segments = |segments: &[&str]| {
            let name_segments = segments.iter().map(|&segment| segment.to_owned()).collect();
            Config { name_segments, ..Config::default() }.check().map_err(|error| error.to_string())
        };
        assert_eq!(check_segments(&["_matrix", "bells.v2"]), Ok(()));
        for (segments, problem) in [
            (&[] as &[_], "is empty"),
            (&["a", "b", "a"], "\"a\" is listed twice"),
            (&["a/b"], "\"a/b\" cannot be used"),
            (&[".well-known"], "cannot be used"),
            (&["oauth"], "cannot be used"),
            (&[""], "cannot be used"),
        ] {
            let error = check_segments(segments).unwrap_err();
            assert!(error.contains(problem), "{segments:?}: {error}");
        }
    }

    /// The errors are found after parsing, when the file's text is no longer available.
    #[test]
    fn an_error_names_the_file_and_the_line_or_the_flag() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.toml");
        let check_file = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let result = crate::config::file::read(&path).and_then(|(config, _)| config.check());
            result.unwrap_err().to_string()
        };
        let name = path.display();
        for (text, problem, line) in [
            ("\ndatabase = 'mysql://db/b'", "database: the URL must be postgres://", 2),
            ("database = 'postgres://db/b?sslmode=x'", "database: sslmode must be", 1),
            ("\nredis = 'cache:6379'", "redis: the URL must be redis://HOST:PORT", 2),
            ("\n\nredis = 'http://cache'", "redis: the URL must be redis://", 3),
            ("redis = 'redis://cache/x'", "redis: Invalid database number", 1),
            ("redis = 'redis://cache#a'", "redis: a fragment", 1),
            ("[http]\nshutdown_delay = '11m'", "http.shutdown_delay must be at most 10 minutes", 2),
            ("redis = 'redis://a:1,b:2/3'", "redis: a cluster has no databases", 1),
            ("redis = 'redis://a:1,b:x'", "redis: Redis URL did not parse", 1),
            ("server_name = 'a b'", "server_name: \"a b\" is not a host name", 1),
            ("name_segments = []", "name_segments is empty", 1),
            ("[tls]\nkey = ''\ncertificate = ''", "tls.certificate is missing", 1),
            ("[tls]\ncertificate = 'a.pem'", "tls.key is missing", 1),
            ("[tls]\nkey = 'a.pem'", "tls.certificate is missing", 1),
        ] {
            let error = check_file(text);
            let has_place = error.ends_with(&format!(" ({name}, line {line})"));
            assert!(error.starts_with(problem) && has_place, "{text}: {error}");
        }
        for url in ["cache:6379", "http://cache"] {
            std::fs::write(dir.path().join("url"), url).unwrap();
            std::fs::write(&path, format!("redis_file = {:?}", dir.path().join("url"))).unwrap();
            let (mut config, _) = crate::config::file::read(&path).unwrap();
            let error = config.read_secret_files(None).unwrap_err().to_string();
            assert!(
                error.starts_with("redis_file: ") && error.contains(": the URL must be"),
                "{error}"
            );
            assert!(!error.contains("cache"), "{error}");
        }
        let error = check_file("server_name = ''\nname_segments = []\nredis = 'http://cache'");
        let places = [3, 2, 1].map(|line| format!(" ({name}, line {line})"));
        let mut remaining = &*error;
        for (problem, place) in
            ["redis: the URL must", "; name_segments is empty", "; server_name: "]
                .iter()
                .zip(places)
        {
            let parts = remaining.strip_prefix(problem).and_then(|text| text.split_once(&place));
            remaining = parts.unwrap_or_else(|| panic!("{problem}{place}: {error}")).1;
        }
        assert_eq!(remaining, "", "{error}");
        let data = format!("data = {path:?}");
        let error = check_file(&data);
        assert!(error.contains("is a file: name a directory ("), "{error}");
        let mut config: Config = toml::from_str("data = 'x'").unwrap();
        config.data = path;
        config.origins.insert("data".to_owned(), "--data".to_owned());
        let error = config.check().unwrap_err().to_string();
        assert!(error.ends_with(" (--data)"), "{error}");
    }

    #[test]
    fn a_link_must_be_a_web_or_mailto_url() {
        let parse_settings = |url: &str| {
            let settings = format!("instance.password_reset_url = '{url}'");
            toml::from_str::<Config>(&settings).map_err(|error| error.message().to_owned())
        };
        for url in ["https://ring.example/join", "http://ring.example", "mailto:help@ring.example"]
        {
            assert!(parse_settings(url).is_ok(), "{url}");
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
            assert_eq!(parse_settings(url).unwrap_err(), error);
        }
    }
}
