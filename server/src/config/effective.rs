//! The example configuration, the list of settings in it, and the effective settings as TOML for
//! `belfry config check`.

use std::fmt::Write;

use belfry_store::SecretUrl;
use toml::{Table, Value};

use super::{Config, ConfigError};

/// Every setting with its default, as comments, for `belfry config example`.
///
/// A line `#key = value` is a default, a line `# key = value` an example of a key without a
/// default.
pub const EXAMPLE: &str = include_str!("example.toml");

const COMMENT_COLUMN: usize = 47;

/// Sections whose keys the operator chooses.
pub(super) const OPEN_SECTIONS: [&str; 2] = ["limits.rows", "limits.abuse"];

/// A setting of [`EXAMPLE`], or a section whose keys the operator chooses.
pub(super) struct KnownSetting {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    /// The line in the example; empty for a section.
    example: &'static str,
}

impl KnownSetting {
    /// Returns whether this is a section whose keys the operator chooses.
    pub(super) fn is_open_section(&self) -> bool {
        self.example.is_empty()
    }

    /// Returns the dotted key.
    pub(super) fn path(&self) -> String {
        join_key(self.section, self.key)
    }

    /// Returns the setting's key in `section`; at the top level (an empty `section`), the first
    /// segment of its dotted key. Returns `None` if the setting is in another section.
    pub(super) fn key_in(&self, section: &str) -> Option<&'static str> {
        match section {
            section if section == self.section => Some(self.key),
            "" => self.section.split('.').next(),
            _ => None,
        }
    }
}

/// Returns all settings, in the order of [`EXAMPLE`].
pub(super) fn known_settings() -> Vec<KnownSetting> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in EXAMPLE.lines() {
        let uncommented = line.strip_prefix('#').unwrap_or(line);
        let text = uncommented.strip_prefix(' ').unwrap_or(uncommented);
        if let Some((name, _)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            section = name;
            if let Some((section, key)) = name.rsplit_once('.') {
                settings.push(KnownSetting { section, key, example: "" });
            }
        } else if let Some(key) = parse_key(text).filter(|_| !OPEN_SECTIONS.contains(&section)) {
            settings.push(KnownSetting { section, key, example: text });
        }
    }
    settings
}

/// Returns the key in a line of [`EXAMPLE`], given without its `#`; `None` for prose.
fn parse_key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(" = ")?;
    let is_key = |byte: u8| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte);
    key.bytes().all(is_key).then_some(key)
}

/// Returns the line of a setting in [`EXAMPLE`], with its comment.
pub(super) fn example_line(path: &str) -> Option<String> {
    let setting = known_settings().into_iter().find(|setting| setting.path() == path)?;
    Some(setting.example.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Config {
    /// Returns the effective settings in the order of [`EXAMPLE`], with the origin of each as a
    /// comment. Parsing them yields the same settings, except that passwords and tokens are `***`.
    ///
    /// # Errors
    /// If a value cannot be written as TOML, such as a path that is not UTF-8.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let to_error =
            |error: toml::ser::Error| ConfigError::new(format!("cannot show a setting: {error}"));
        let values = Table::try_from(self.with_derived_values()).map_err(to_error)?;
        let mut output = String::new();
        let mut section = String::new();
        for setting in known_settings() {
            let is_open_section = setting.is_open_section();
            let setting_section =
                if is_open_section { setting.path() } else { setting.section.to_owned() };
            let table = if setting_section.is_empty() {
                Some(&values)
            } else {
                find_value(&values, &setting_section).and_then(Value::as_table)
            };
            if setting_section != section {
                let _infallible = match table {
                    Some(_) => writeln!(output, "\n[{setting_section}]"),
                    None => writeln!(output, "\n# [{setting_section}] is not set"),
                };
                section = setting_section;
            }
            match table {
                Some(table) if is_open_section => {
                    let lines = table
                        .iter()
                        .map(|(key, value)| self.format_line(&section, key, Some(value)));
                    output.extend(lines);
                }
                Some(table) => {
                    output += &self.format_line(&section, setting.key, table.get(setting.key));
                }
                None => {}
            }
        }
        Ok(output)
    }

    fn format_line(&self, section: &str, key: &str, value: Option<&Value>) -> String {
        let Some(value) = value else { return format!("# {key} is not set\n") };
        let path = join_key(section, key);
        let line = format!("{key} = {value}");
        format!("{line:<width$} # {}\n", self.describe_origin(&path), width = COMMENT_COLUMN)
    }

    /// Describes the origin of a setting's value.
    fn describe_origin(&self, path: &str) -> String {
        let Some(origin) = self.origins.get(path) else {
            let description = match path {
                "base_url" => "default, from listen",
                "server_name" => "default, from base_url",
                _ => "default",
            };
            return description.to_owned();
        };
        let describe_url = |url: &SecretUrl| format!("{origin}, contains {}", url.redacted());
        let detailed_origin = match path {
            "database_file" => self.database.as_ref().map(describe_url),
            "redis_file" => self.redis.as_ref().map(describe_url),
            _ => None,
        };
        detailed_origin.unwrap_or_else(|| origin.clone())
    }

    /// Returns a copy in which unset settings have their derived values. URLs that were read from
    /// files are removed, because the operator set only the paths.
    pub(super) fn with_derived_values(&self) -> Self {
        let mut config = self.clone();
        let base_url = self.base_url();
        config.server_name = Some(self.server_name_for(&base_url).to_owned());
        // The port is not known before it is bound.
        config.base_url = (self.base_url.is_some() || self.listen.port != 0).then_some(base_url);
        if self.database_file.is_some() {
            config.database = None;
        }
        if self.redis_file.is_some() {
            config.redis = None;
        }
        config
    }
}

pub(super) fn join_key(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// Returns the value at a dotted key.
pub(super) fn find_value<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((section, key)) => find_value(table.get(section)?.as_table()?, key),
        None => table.get(path),
    }
}

#[cfg(test)]
mod tests;
