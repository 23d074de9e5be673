//! Reads `belfry.toml`, with errors that name the key, the line and the probable intention.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigError, RegistrationSource, UrlSource};
use crate::store::SecretUrl;

/// Reads the file that the operator names.
pub(super) fn read(path: &Path) -> Result<Config, ConfigError> {
    read_open(path, File::open(path))
}

/// Reads `./belfry.toml` if it exists. It must belong to the caller or to root, so that a command
/// in a shared directory such as `/tmp` does not use the settings of another user.
pub(super) fn read_default() -> Result<Config, ConfigError> {
    let path = Path::new("belfry.toml");
    let opened = File::open(path);
    if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(Config::default());
    }
    let metadata = opened.as_ref().ok().and_then(|file| file.metadata().ok());
    let link = fs::symlink_metadata(path).ok();
    let is_trusted = |file: &Metadata| [0, geteuid().as_raw()].contains(&file.uid());
    let problem = if metadata.iter().chain(&link).any(|file| !is_trusted(file)) {
        "belongs to another user"
    } else if metadata.is_some_and(|file| file.mode() & 0o002 != 0) {
        "can be written by every user"
    } else {
        return read_open(path, opened);
    };
    Err(ConfigError(format!(
        "./belfry.toml {problem} and is not read; check it and use --config belfry.toml, or run \
         belfry in another directory"
    )))
}

fn read_open(path: &Path, opened: io::Result<File>) -> Result<Config, ConfigError> {
    let name = path.display().to_string();
    let text = opened
        .and_then(io::read_to_string)
        .map_err(|error| ConfigError(format!("cannot read {name}: {error}")))?;
    let mut config = parse(&text, &name)?;
    let mut urls = config.database.iter().chain(&config.redis);
    let is_inline = |source: &_| matches!(source, RegistrationSource::Inline(_));
    let has_secrets =
        urls.any(SecretUrl::has_password) || config.application_services.iter().any(is_inline);
    config.file_with_secrets = has_secrets.then(|| path.to_owned());
    for (key, url, file, source) in [
        ("database", &config.database, &config.database_file, &mut config.sources.database),
        ("redis", &config.redis, &config.redis_file, &mut config.sources.redis),
    ] {
        *source = match (url, file) {
            (Some(_), Some(_)) => {
                let problem = format!("{key} and {key}_file are both given; remove one ({name})");
                return Err(ConfigError(problem));
            }
            (Some(_), None) => Some(UrlSource::value(format!("{key} in {name}"))),
            (None, Some(path)) => Some(UrlSource::file(format!("{key}_file in {name}"), path)),
            (None, None) => None,
        };
    }
    Ok(config)
}

fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text[..start].matches('\n').count();
        let message = rewrite(error.message());
        let key = DeTable::parse(text).ok().and_then(|table| key_at(table.get_ref(), start));
        let message = match key {
            Some(key) if message.starts_with("must ") => format!("{key} {message}"),
            Some(key) => format!("{key}: {message}"),
            None => message,
        };
        ConfigError(format!("{message} ({file}, line {line})"))
    })
}

/// The dotted key of the value at this position.
fn key_at(table: &DeTable<'_>, position: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| match value.get_ref() {
        DeValue::Table(inner) => {
            key_at(inner, position).map(|rest| format!("{}.{rest}", key.get_ref()))
        }
        _ => value.span().contains(&position).then(|| key.get_ref().to_string()),
    })
}

/// Rewrites serde's messages about unknown fields, with a suggestion, and about zero.
fn rewrite(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.strip_prefix("unknown field `"), quoted.next()) {
        (Some(_), Some(unknown)) => {
            let known: Vec<&str> = quoted.collect();
            match nearest(unknown, &known) {
                Some(meant) => format!("unknown key `{unknown}`; did you mean `{meant}`?"),
                None => format!("unknown key `{unknown}`; known keys: {}", known.join(", ")),
            }
        }
        _ if message.contains("expected a nonzero") => "must be at least 1".to_owned(),
        _ => message.trim_end().to_owned(),
    }
}

/// The known name that is most similar to an unknown one, if any is similar at all.
pub(super) fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn missing_settings_have_their_defaults() {
        let text = "listen = '0.0.0.0:80'\n[http]\nbody_timeout = '1m 30s'\n";
        let config = parse(text, "belfry.toml").unwrap();
        assert_eq!(config.listen.to_string(), "0.0.0.0:80");
        assert_eq!(config.http.body_timeout, Duration::from_secs(90));
        assert_eq!(config.http.max_connections, 10_000);
        assert_eq!(config.name_segments, ["_service", "_matrix"]);
    }

    #[test]
    fn the_documented_file_is_valid_also_with_every_comment_enabled() {
        let docs = include_str!("../../../docs/operating.md");
        let file = docs.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let all: Vec<&str> =
            file.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
        for text in [file.to_owned(), all.join("\n")] {
            let config = parse(&text, "belfry.toml").unwrap();
            assert_eq!(config.base_url.unwrap().to_string(), "https://ring.example");
        }
    }

    #[test]
    fn an_error_names_the_key_the_line_and_a_similar_key() {
        for (text, problem) in [
            ("lisen = 'x'", "unknown key `lisen`; did you mean `listen`? (belfry.toml, line 1)"),
            (
                "\n[http]\nbody_timout = '1s'",
                "unknown key `body_timout`; did you mean `body_timeout`? (belfry.toml, line 3)",
            ),
            (
                "[log]\nzzz = 1",
                "unknown key `zzz`; known keys: level, format (belfry.toml, line 2)",
            ),
            (
                "[limits]\nmode = 'maybe'",
                "limits.mode: unknown variant `maybe`, expected one of `enforce`, `shadow`, `off` \
                 (belfry.toml, line 2)",
            ),
            (
                "[http]\nidle_timeout = '-3s'",
                "http.idle_timeout must be a duration such as \"30s\" or \"5m\", not \"-3s\" \
                 (belfry.toml, line 2)",
            ),
            (
                "[http]\nidle_timeout = '0s'",
                "http.idle_timeout must be a duration such as \"30s\" or \"5m\", not \"0s\" \
                 (belfry.toml, line 2)",
            ),
            (
                "\nstore.connections = 0",
                "store.connections must be at least 1 (belfry.toml, line 2)",
            ),
            (
                "[http]\nmax_connections = 0",
                "http.max_connections must be at least 1 (belfry.toml, line 2)",
            ),
            ("listen = 'here'", "listen: invalid socket address syntax (belfry.toml, line 1)"),
            (
                "listen = ",
                "string values must be quoted, expected literal string (belfry.toml, line 1)",
            ),
        ] {
            assert_eq!(parse(text, "belfry.toml").unwrap_err().to_string(), problem, "{text}");
        }
    }
}
