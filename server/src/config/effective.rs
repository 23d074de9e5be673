//! The effective settings as TOML, for `belfry config check`.

use std::fmt::Write;
use std::thread::available_parallelism;

use toml::{Table, Value};

use super::{Config, ConfigError, UrlSource};

/// Every setting with its default, as comments, for `belfry config example`.
///
/// A line `#key = value` is a default, a line `# key = value` an example of a key without a default.
pub const EXAMPLE: &str = include_str!("example.toml");

/// The column of comments.
const COMMENT_COLUMN: usize = 47;

/// Sections whose keys the operator chooses.
pub(super) const OPEN_SECTIONS: [&str; 2] = ["limits.rows", "limits.abuse"];

/// A line of [`EXAMPLE`] that is not prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Section(&'a str),
    /// A key, and its line without the `#`.
    Key(&'a str, &'a str),
}

/// A setting of [`EXAMPLE`], or a section whose keys the operator chooses.
pub(super) struct KnownSetting {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    /// Its line in the example; empty for a section.
    example: &'static str,
}

impl KnownSetting {
    /// The dotted key.
    pub(super) fn path(&self) -> String {
        join(self.section, self.key)
    }

    /// The next part of its dotted key below this section.
    pub(super) fn key_in(&self, section: &str) -> Option<&'static str> {
        match section {
            section if section == self.section => Some(self.key),
            "" => self.section.split('.').next(),
            _ => None,
        }
    }
}

fn lines(example: &str) -> impl Iterator<Item = Line<'_>> {
    example.lines().filter_map(|line| {
        let text = line.strip_prefix('#').unwrap_or(line);
        let text = text.strip_prefix(' ').unwrap_or(text);
        if let Some((section, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return Some(Line::Section(section));
        }
        let (key, _) = text.split_once(" = ")?;
        let is_key =
            key.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte));
        is_key.then_some(Line::Key(key, text))
    })
}

/// All settings, in the order of [`EXAMPLE`].
pub(super) fn settings() -> Vec<KnownSetting> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in lines(EXAMPLE) {
        match line {
            Line::Section(name) => {
                section = name;
                if let Some((section, key)) = name.rsplit_once('.') {
                    settings.push(KnownSetting { section, key, example: "" });
                }
            }
            Line::Key(..) if OPEN_SECTIONS.contains(&section) => {}
            Line::Key(key, example) => settings.push(KnownSetting { section, key, example }),
        }
    }
    settings
}

/// The line of a setting in [`EXAMPLE`], with its comment.
pub(super) fn example_of(path: &str) -> Option<String> {
    let setting = settings().into_iter().find(|setting| setting.path() == path)?;
    Some(setting.example.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Config {
    /// The effective settings in the order of [`EXAMPLE`], with the origin of each as a comment.
    /// They are parsed as the same settings again, except that passwords and tokens are `***`.
    ///
    /// # Errors
    /// When a value cannot be written as TOML, such as a path that is not UTF-8.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let failed =
            |error: toml::ser::Error| ConfigError(format!("cannot show a setting: {error}"));
        let settings = Table::try_from(self.with_derived_values()).map_err(failed)?;
        let mut text = String::new();
        let mut section = "";
        for line in lines(EXAMPLE) {
            match line {
                Line::Section(name) => {
                    section = name;
                    let Some(table) = find(&settings, name).and_then(Value::as_table) else {
                        let _infallible = writeln!(text, "\n# [{name}] is not set");
                        continue;
                    };
                    let _infallible = writeln!(text, "\n[{name}]");
                    if OPEN_SECTIONS.contains(&name) {
                        for (key, value) in table {
                            text.push_str(&self.setting(name, key, Some(value)));
                        }
                    }
                }
                Line::Key(..) if OPEN_SECTIONS.contains(&section) => {}
                Line::Key(..) if !section.is_empty() && find(&settings, section).is_none() => {}
                Line::Key(key, _) => {
                    text.push_str(&self.setting(
                        section,
                        key,
                        find(&settings, &join(section, key)),
                    ));
                }
            }
        }
        Ok(text)
    }

    /// The line of a setting.
    fn setting(&self, section: &str, key: &str, value: Option<&Value>) -> String {
        let Some(value) = value else { return format!("# {key} is not set\n") };
        let path = join(section, key);
        let line = format!("{key} = {value}");
        format!("{line:<width$} # {}\n", self.origin(&path), width = COMMENT_COLUMN)
    }

    /// Where the value of a setting comes from.
    fn origin(&self, path: &str) -> String {
        let sources = &self.sources;
        let (source, url) = match path {
            "database" | "database_file" => (&sources.database, &self.database),
            "redis" | "redis_file" => (&sources.redis, &self.redis),
            _ => (&None, &None),
        };
        match (source, url) {
            (Some(UrlSource { setting, file: Some(_) }), Some(url)) => {
                return format!("{setting}, contains {}", url.redacted());
            }
            (Some(UrlSource { setting, .. }), _) => return setting.clone(),
            _ => {}
        }
        match (path, self.origins.get(path)) {
            ("instance.accent", Some(origin)) => match self.instance.accent {
                Some(accent) => format!("{origin}; on dark pages {}", accent.dark()),
                None => origin.clone(),
            },
            (_, Some(origin)) => origin.clone(),
            ("base_url", None) => "default, from listen".to_owned(),
            ("server_name", None) => "default, from base_url".to_owned(),
            ("passwords.parallel", None) => "default, the number of cores".to_owned(),
            _ => "default".to_owned(),
        }
    }

    /// The settings with values in place of those that are derived when they are unset. A URL that
    /// is in a file is shown as the name of that file.
    pub(super) fn with_derived_values(&self) -> Self {
        let mut shown = self.clone();
        let base_url = self.base_url();
        shown.server_name = Some(self.server_name_for(&base_url).to_owned());
        // The port is not known before it is bound.
        shown.base_url = (self.base_url.is_some() || self.listen.port != 0).then_some(base_url);
        shown.passwords.parallel = self.passwords.parallel.or(available_parallelism().ok());
        for (url, file, source) in [
            (&mut shown.database, &mut shown.database_file, &self.sources.database),
            (&mut shown.redis, &mut shown.redis_file, &self.sources.redis),
        ] {
            *file = source.as_ref().and_then(|source| source.file.clone());
            if file.is_some() {
                *url = None;
            }
        }
        shown
    }
}

fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// The value at a dotted key.
pub(super) fn find<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((section, rest)) => find(table.get(section)?.as_table()?, rest),
        None => table.get(path),
    }
}

#[cfg(test)]
mod tests;
