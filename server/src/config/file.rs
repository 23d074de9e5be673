//! Reads `belfry.toml`, with errors that name the key, the line and the probable intention.

mod quotes;

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use belfry_store::SecretUrl;
use rustix::process::geteuid;
use toml::de::{DeTable, DeValue};

use super::effective::all_keys;
use super::{Config, ConfigError, RegistrationSource, UrlSource};

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
    let text = opened.and_then(io::read_to_string).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "; `belfry config example` prints a file with every setting",
            _ => "",
        };
        ConfigError(format!("cannot read {name}: {error}{advice}"))
    })?;
    let mut config = parse(&text, &name)?;
    let mut urls = config.database.iter().chain(&config.redis);
    let is_inline = |source: &_| matches!(source, RegistrationSource::Inline { .. });
    let has_secrets =
        urls.any(SecretUrl::has_password) || config.application_services.iter().any(is_inline);
    config.file = Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    config.file_with_secrets = has_secrets.then(|| path.to_owned());
    if let Ok(table) = DeTable::parse(&text) {
        let keys = dotted_keys(table.get_ref());
        config.origins = keys.iter().map(|(key, _)| (key.clone(), name.clone())).collect();
        let lines = keys.into_iter().map(|(key, position)| (key, line_at(&text, position)));
        config.lines = lines.collect();
    }
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
        let table = DeTable::parse(text);
        let limit =
            table.as_ref().ok().and_then(|table| limit_of(table.get_ref(), error.message()));
        let start = error.span().map_or(0, |span| span.start);
        let start = limit.as_ref().map_or(start, |(_, position)| *position);
        let line = line_at(text, start);
        if table.is_err()
            && let Some(advice) = text.lines().nth(line - 1).and_then(quotes::advice)
        {
            return ConfigError(format!("{advice} ({file}, line {line})"));
        }
        if let Some((key, _)) = limit {
            let message = error.message().split_once(": ").map_or("", |(_, message)| message);
            return ConfigError(format!("{key}: {message} ({file}, line {line})"));
        }
        let key = table.ok().and_then(|table| key_at(table.get_ref(), start));
        let span = error.span().unwrap_or_default();
        let message = match error.message() {
            "wanted string or table" => match words_at(text, span) {
                Some(words) => format!("must be {words}, in quotes"),
                None => "must be a word in quotes; see `belfry config example`".to_owned(),
            },
            "duplicate key" => {
                let key = text.get(span).unwrap_or_default();
                format!("the key `{key}` is there twice: remove one of them")
            }
            message => rewrite(message, key.as_deref().unwrap_or_default()),
        };
        let message = match key {
            Some(key) if message.starts_with("must ") => format!("{key} {message}"),
            Some(key) => format!("{key}: {message}"),
            None => message,
        };
        ConfigError(format!("{message} ({file}, line {line})"))
    })
}

/// The words that the setting at this place accepts. serde lists them when it finds another one.
fn words_at(text: &str, place: Range<usize>) -> Option<String> {
    let with_other = format!("{}'?'{}", text.get(..place.start)?, text.get(place.end..)?);
    let error = toml::from_str::<Config>(&with_other).err()?;
    unknown_word(error.message()).map(|(_, words)| words)
}

/// The word that a setting does not accept, and those that it does: `"a", "b" or "c"`.
fn unknown_word(message: &str) -> Option<(&str, String)> {
    let mut words = message.strip_prefix("unknown variant `")?.split('`').step_by(2);
    let unknown = words.next()?;
    let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
    let (last, others) = words.split_last()?;
    let others = others.join(", ");
    Some((unknown, if others.is_empty() { last.clone() } else { format!("{others} or {last}") }))
}

/// The number of the line at a position, from 1.
fn line_at(text: &str, position: usize) -> usize {
    1 + text.bytes().take(position).filter(|byte| *byte == b'\n').count()
}

/// The dotted keys of all values and tables, with their positions.
fn dotted_keys(table: &DeTable<'_>) -> Vec<(String, usize)> {
    let mut keys = Vec::new();
    for (key, value) in table {
        keys.push((key.get_ref().to_string(), key.span().start));
        if let DeValue::Table(inner) = value.get_ref() {
            let inner = dotted_keys(inner).into_iter();
            keys.extend(inner.map(|(rest, start)| (format!("{}.{rest}", key.get_ref()), start)));
        }
    }
    keys
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

/// The dotted key of the limit with whose name a message begins, and its position.
fn limit_of(table: &DeTable<'_>, message: &str) -> Option<(String, usize)> {
    let (name, _) = message.split_once(": ")?;
    let names = [format!("limits.rows.{name}"), format!("limits.abuse.{name}")];
    dotted_keys(table).into_iter().find(|(key, _)| names.contains(key))
}

/// Where a setting belongs that was written in another section.
fn place(key: &str) -> Option<String> {
    let keys = all_keys();
    if keys.iter().any(|known| known == key) {
        return Some(format!("`{key}` belongs at the top of the file, before the first section"));
    }
    let is_same = |known: &&String| known.rsplit_once('.').is_some_and(|(_, name)| name == key);
    let (section, _) = keys.iter().find(is_same)?.rsplit_once('.')?;
    Some(format!("`{key}` belongs below [{section}]"))
}

/// Rewrites serde's messages about unknown fields, with a suggestion, and about values of another
/// type, with what to write.
fn rewrite(message: &str, key: &str) -> String {
    if let Some(advice) = advice_about_type(message, key) {
        return advice;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.strip_prefix("unknown field `"), quoted.next()) {
        (Some(_), Some(unknown)) => {
            let known: Vec<&str> = quoted.collect();
            match (place(unknown), nearest(unknown, &known)) {
                (Some(place), _) => place,
                (None, Some(meant)) => {
                    format!("unknown key `{unknown}`; did you mean `{meant}`?")
                }
                (None, None) => {
                    format!("unknown key `{unknown}`; known keys: {}", known.join(", "))
                }
            }
        }
        _ if message.contains("expected a nonzero") => "must be at least 1".to_owned(),
        _ => message.trim_end().to_owned(),
    }
}

/// What to write in place of a value of another type.
fn advice_about_type(message: &str, key: &str) -> Option<String> {
    if message.starts_with("invalid value: integer `-") {
        return Some("must not be negative".to_owned());
    }
    if let Some(missing) = message.strip_prefix("missing field `") {
        let missing = missing.trim_end_matches('`');
        return Some(format!("{missing} is missing: write {missing} = …"));
    }
    if message.starts_with("relative URL without a base") {
        return Some("must be a URL, such as \"https://…\" or \"mailto:NAME@HOST\"".to_owned());
    }
    if let Some((unknown, words)) = unknown_word(message) {
        return Some(format!("{unknown:?} is not accepted: write {words}"));
    }
    let (found, expected) = message.strip_prefix("invalid type: ")?.split_once(", expected ")?;
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    if ["limits.rows", "limits.abuse"].contains(&section)
        && let Some(place) = place(name)
    {
        return Some(place);
    }
    let text = found.strip_prefix("string ");
    let value = found.split('`').nth(1);
    Some(match expected.trim_end() {
        "a sequence" => {
            let item = text.map(str::to_owned).or(value.map(|value| format!("\"{value}\"")))?;
            format!("must be a list: write {name} = [{item}]")
        }
        "a string" => format!("must be in quotes: write {name} = \"{}\"", value?),
        "a boolean" => format!("must be true or false, without quotes: write {name} = true"),
        "usize" | "u64" | "u32" | "u16" | "a nonzero usize" => match text {
            Some(text) if text.trim_matches('"').parse::<u64>().is_ok() => {
                format!(
                    "must be a number without quotes: write {name} = {}",
                    text.trim_matches('"')
                )
            }
            _ => "must be a whole number".to_owned(),
        },
        section if section.starts_with("struct ") => {
            format!("must be a section: write [{key}], and its settings below")
        }
        _ => return None,
    })
}

/// The known name that is most similar to an unknown one, if any is similar at all.
fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
