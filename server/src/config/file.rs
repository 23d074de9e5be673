//! Reads `belfry.toml`. Errors name the line and, if possible, the key and the setting that was
//! probably meant.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use belfry_runtime::file_access::describe_file_error;
use belfry_store::SecretUrl;
use rustix::process::geteuid;
use serde::Deserialize;
use toml::de::{DeTable, DeValue, Deserializer};
use toml::{Spanned, Table};

use super::effective::{KnownSetting, OPEN_SECTIONS, example_line, known_settings};
use super::{ApplicationService, Config, ConfigError, RegistrationSource};

/// Reads the named file. Returns its settings, and the same settings as a TOML table.
pub(super) fn read(path: &Path) -> Result<(Config, Table), ConfigError> {
    read_settings(path, File::open(path))
}

/// Reads `./belfry.toml` if it exists. It must belong to the caller or to root, and must not be
/// world-writable; group write is allowed. Thus a command in a shared directory such as `/tmp` does
/// not use the settings of another user.
pub(super) fn read_default() -> Result<(Config, Table), ConfigError> {
    let path = Path::new("belfry.toml");
    let open_result = File::open(path);
    if open_result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(Default::default());
    }
    let metadata = open_result.as_ref().ok().and_then(|file| file.metadata().ok());
    let link = fs::symlink_metadata(path).ok();
    let is_trusted = |file: &Metadata| [0, geteuid().as_raw()].contains(&file.uid());
    let problem = if metadata.iter().chain(&link).any(|file| !is_trusted(file)) {
        "belongs to a different user"
    } else if metadata.is_some_and(|file| file.mode() & 0o002 != 0) {
        "is world-writable"
    } else {
        return read_settings(path, open_result);
    };
    Err(ConfigError::new(format!(
        "./belfry.toml {problem} and is not read; check it and use --config belfry.toml, or run \
         belfry in a different directory"
    )))
}

/// Reads and parses a file. Rejects `database` together with `database_file`, and `redis` with
/// `redis_file`.
fn read_settings(
    path: &Path,
    open_result: io::Result<File>,
) -> Result<(Config, Table), ConfigError> {
    let name = path.display().to_string();
    let text = open_result.and_then(io::read_to_string).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "; `belfry config example` prints a file with every setting",
            _ => "",
        };
        ConfigError::new(format!(
            "cannot read {name}: {}{advice}",
            describe_file_error(path, &error)
        ))
    })?;
    let (mut config, mut problems) = parse(&text, &name)?;
    for key in ["database", "redis"] {
        if [key, &format!("{key}_file")].iter().all(|key| config.lines.contains_key(*key)) {
            problems.push(format!("{key} and {key}_file are both given; remove one ({name})"));
        }
    }
    ConfigError::from_problems(problems)?;
    let mut urls = config.database.iter().chain(&config.redis);
    let is_inline = |source: &_| matches!(source, RegistrationSource::Inline { .. });
    let has_secrets =
        urls.any(SecretUrl::has_password) || config.application_services.iter().any(is_inline);
    config.file_with_secrets = has_secrets.then(|| path.to_owned());
    Ok((config, text.parse().unwrap_or_default()))
}

/// Settings that other checks depend on: without a valid value, they would report a second problem.
const PREREQUISITES: [&str; 3] = ["secret_key_file", "tls.certificate", "tls.key"];

/// A problem in a file: its position, the key of the setting, and the message.
struct Problem {
    position: usize,
    key: String,
    message: String,
}

/// Parses a file. Returns the settings, without those that are invalid, and all problems.
fn parse(text: &str, file: &str) -> Result<(Config, Vec<String>), ConfigError> {
    let format_problem =
        |message: &str, position| format!("{message} ({file}, line {})", line_at(text, position));
    let mut document = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.lines().nth(line_at(text, start) - 1).unwrap_or_default();
        let is_valid = line.parse::<Table>().is_ok();
        let advice = if is_valid { "" } else { "; write key = \"value\", with quotes around text" };
        ConfigError::new(format_problem(&format!("{}{advice}", error.message().trim_end()), start))
    })?;
    let keys = collect_dotted_keys(document.get_ref());
    let mut problems = Vec::new();
    check_keys(document.get_ref(), "", &mut problems);
    for Problem { key, .. } in &problems {
        remove(document.get_mut(), key);
    }
    let mut config: Config = loop {
        let error = match Config::deserialize(Deserializer::from(document.clone())) {
            Ok(config) => break config,
            Err(error) => error,
        };
        let problem = describe_invalid_value(document.get_ref(), &error);
        let is_removed = remove(document.get_mut(), &problem.key);
        problems.push(problem);
        if !is_removed {
            break Config::default();
        }
    };
    for (key, position) in keys {
        config.origins.insert(key.clone(), file.to_owned());
        config.lines.insert(key, line_at(text, position));
    }
    problems.sort_by_key(|problem| problem.position);
    let mut messages: Vec<String> =
        problems.iter().map(|problem| format_problem(&problem.message, problem.position)).collect();
    if !problems.is_empty()
        && !problems.iter().any(|problem| PREREQUISITES.contains(&&*problem.key))
        && let Err(error) = config.check()
    {
        messages.extend(error.problems);
    }
    Ok((config, messages))
}

/// Removes a setting, so that the others can be checked. Returns whether it existed.
fn remove(table: &mut DeTable<'_>, key: &str) -> bool {
    if table.remove(key).is_some() {
        return true;
    }
    let Some((section, key)) = key.split_once('.') else { return false };
    match table.get_mut(section).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => remove(inner, key),
        _ => false,
    }
}

fn describe_invalid_value(table: &DeTable<'_>, error: &toml::de::Error) -> Problem {
    let position = error.span().map_or(0, |span| span.start);
    let message = error.message().trim_end();
    if let Some((key, position)) = find_limit(table, message) {
        let section = key.rsplit_once('.').map_or("", |(section, _)| section);
        return Problem { position, message: format!("{section}.{message}"), key };
    }
    let Some((key, value)) = find_value_at(table, position) else {
        return Problem { position, key: String::new(), message: message.to_owned() };
    };
    let position = find_invalid_registration_field(value, position).unwrap_or(position);
    let example = example_line(&key).unwrap_or_default();
    let example_table = DeTable::parse(&example).ok();
    let example_value = example_table.as_ref().and_then(|table| table.get_ref().values().next());
    let message = match example_value.map(Spanned::get_ref) {
        Some(expected) if !value.same_type(expected) => {
            let expected = expected.type_str();
            let actual = value.type_str();
            format!("{key}: expected {expected}, found {actual}; example: {example}")
        }
        _ if message.starts_with("must ") => format!("{key} {message}"),
        _ => match parse_missing_field(message) {
            Some(field) => format!("{key}.{field} is missing"),
            None => format!("{key}: {}", with_suggestion(message)),
        },
    };
    Problem { position, key, message }
}

/// Adds the most similar value to an error about an unknown variant.
pub(super) fn with_suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.starts_with("unknown variant `"));
    let similar =
        unknown.and_then(|unknown| find_most_similar(unknown, &quoted.collect::<Vec<_>>()));
    match similar {
        Some(similar) => format!("{message}; did you mean `{similar}`?"),
        None => message.to_owned(),
    }
}

/// Reports the keys that are unknown, are in the wrong section, or name a section but have a value
/// other than a table.
fn check_keys(table: &DeTable<'_>, section: &str, problems: &mut Vec<Problem>) {
    let section_keys = known_keys(section);
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let position = key.span().start;
        let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
        let message = if let Some(known) =
            section_keys.as_ref().filter(|known| !known.contains(&name))
        {
            Some(describe_unknown_key(name, known))
        } else {
            match (known_keys(&path), value.get_ref()) {
                (Some(keys), _) if keys.is_empty() => None,
                (_, DeValue::Table(inner)) => {
                    check_keys(inner, &path, problems);
                    None
                }
                (_, value) if section_keys.is_none() => {
                    describe_section(name).filter(|_| !value.is_bool())
                }
                _ => Some(format!("{path} is a section: write [{path}] and its settings below it")),
            }
        };
        problems.extend(message.map(|message| Problem { position, key: path, message }));
    }
}

/// Returns the keys of a section; an empty list for a setting, and `None` if the operator chooses
/// the keys.
fn known_keys(section: &str) -> Option<Vec<&'static str>> {
    let parent = section.rsplit_once('.').map_or("", |(parent, _)| parent);
    if OPEN_SECTIONS.contains(&section) {
        return None;
    }
    if OPEN_SECTIONS.contains(&parent) {
        return Some(vec!["per", "match", "requests", "window"]);
    }
    let settings = known_settings();
    let mut keys: Vec<_> = settings.iter().filter_map(|setting| setting.key_in(section)).collect();
    keys.dedup();
    Some(keys)
}

fn describe_unknown_key(key: &str, known: &[&str]) -> String {
    if let Some(section) = describe_section(key) {
        return section;
    }
    // The name of a flag, or a section and its key in one word: log_level for level in [log].
    let snake_case_key = key.replace('-', "_");
    let is_same_name = |setting: &&KnownSetting| setting.path().replace('.', "_") == snake_case_key;
    if let Some(KnownSetting { section, key: setting_key, .. }) =
        known_settings().iter().find(is_same_name).filter(|setting| !setting.section.is_empty())
    {
        return format!("unknown key `{key}`; write `{setting_key}` below [{section}]");
    }
    match find_most_similar(key, known) {
        Some(similar) => format!("unknown key `{key}`; did you mean `{similar}`?"),
        None => format!("unknown key `{key}`; known keys: {}", known.join(", ")),
    }
}

/// Returns the field that a table lacks, according to a serde error.
fn parse_missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// Describes the section to which a misplaced setting belongs; `None` if no setting has this key.
fn describe_section(key: &str) -> Option<String> {
    let settings = known_settings();
    let candidates = settings.iter().filter(|setting| setting.key == key);
    let section = candidates.min_by_key(|setting| !setting.section.is_empty())?.section;
    Some(match section {
        "" => format!("`{key}` belongs at the top of the file, before the first section"),
        section => format!("`{key}` belongs below [{section}]"),
    })
}

/// Returns the line number of a position, counted from 1.
fn line_at(text: &str, position: usize) -> usize {
    1 + text.bytes().take(position).filter(|byte| *byte == b'\n').count()
}

/// Returns the dotted keys of all values and tables, with their positions.
fn collect_dotted_keys(table: &DeTable<'_>) -> Vec<(String, usize)> {
    let mut keys = Vec::new();
    for (key, value) in table {
        keys.push((key.get_ref().to_string(), key.span().start));
        if let DeValue::Table(inner) = value.get_ref() {
            let inner_keys = collect_dotted_keys(inner).into_iter();
            keys.extend(
                inner_keys.map(|(path, start)| (format!("{}.{path}", key.get_ref()), start)),
            );
        }
    }
    keys
}

/// Returns the value at this position, with its dotted key.
fn find_value_at<'a>(table: &'a DeTable<'_>, position: usize) -> Option<(String, &'a DeValue<'a>)> {
    table.iter().find_map(|(key, value)| {
        let inner_table = value.get_ref().as_table();
        let inner_value = inner_table
            .and_then(|table| find_value_at(table, position))
            .map(|(path, value)| (format!("{}.{path}", key.get_ref()), value));
        let is_here = value.span().contains(&position);
        inner_value.or_else(|| is_here.then(|| (key.get_ref().to_string(), value.get_ref())))
    })
}

/// Returns the position of the invalid field in an inline registration. The error itself has the
/// position of the whole registration.
fn find_invalid_registration_field(value: &DeValue<'_>, position: usize) -> Option<usize> {
    let mut registrations = value.as_array()?.iter();
    let registration = registrations.find(|entry| entry.span().contains(&position))?;
    let fields = Spanned::new(registration.span(), registration.get_ref().as_table()?.clone());
    let error = ApplicationService::deserialize(Deserializer::from(fields)).err()?;
    Some(error.span()?.start)
}

/// Finds the limit whose name is at the start of a message. Returns its dotted key and position.
fn find_limit(table: &DeTable<'_>, message: &str) -> Option<(String, usize)> {
    let (name, _) = message.split_once(": ")?;
    let names = [format!("limits.rows.{name}"), format!("limits.abuse.{name}")];
    collect_dotted_keys(table).into_iter().find(|(key, _)| names.contains(key))
}

/// Returns the known name that is most similar to an unknown one, if any is similar at all.
fn find_most_similar<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .filter(|(similarity, _)| *similarity > 0.85)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
