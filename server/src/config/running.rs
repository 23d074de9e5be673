//! The settings that a server uses, to compare them with those that are loaded later: at SIGHUP by
//! the server itself, and by `belfry doctor`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use belfry_core::secret::Sha256Digest;
use belfry_store::SecretUrl;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::effective::OPEN_SECTIONS;
use super::{Config, RegistrationSource, UrlSource};

/// The settings and sections that a server applies at SIGHUP. All others need a restart.
const RELOADED: [&str; 6] = [
    "limits.abuse",
    "limits.ipv6_48_multiple",
    "limits.mode",
    "limits.rows",
    "trusted_proxies",
    "trusted_proxy_header",
];

/// The settings and sections whose values operators may read. Of all others they get a digest.
const READABLE: [&str; 8] = [
    "app_registration",
    "base_url",
    "limits",
    "listen",
    "registration",
    "server_name",
    "trusted_proxies",
    "trusted_proxy_header",
];

fn is_in(sections: &[&str], key: &str) -> bool {
    sections.iter().any(|section| {
        key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Whether a server applies a change of this setting at SIGHUP.
pub fn is_reloaded(key: &str) -> bool {
    is_in(&RELOADED, key)
}

/// The value of every setting that is set or has a default, by its dotted key.
#[derive(Debug, Clone, Default)]
pub struct SettingValues(BTreeMap<String, SettingValue>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct SettingValue {
    /// In TOML, without secrets.
    shown: String,
    /// What a file that it names contains, without secrets.
    content: String,
    /// The secrets in it, and in files that it names.
    secret: Option<Sha256Digest>,
}

/// A setting with two values.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Its dotted key.
    pub key: String,
    /// The old value in TOML, without secrets; `None` if it was not set.
    pub before: Option<String>,
    /// The new value. It is the same if only a secret or the content of a file is new.
    pub after: Option<String>,
}

impl SettingValues {
    /// The effective values of a configuration.
    pub fn of(config: &Config) -> Self {
        let mut shown = config.with_derived_values();
        // The number of cores, which a service manager may limit for the server alone.
        shown.passwords.parallel = config.passwords.parallel;
        // The directory of credentials is another one in every process.
        let sources = [&config.sources.database, &config.sources.redis];
        for (file, source) in
            [&mut shown.database_file, &mut shown.redis_file].into_iter().zip(sources)
        {
            if source.as_ref().is_some_and(UrlSource::is_credential) {
                *file = file.as_deref().and_then(Path::file_name).map(PathBuf::from);
            }
        }
        // A path that is not UTF-8 cannot be written as TOML. Then nothing is compared.
        let table = Table::try_from(&shown).unwrap_or_default();
        let mut values = Self::default();
        values.add(&table, "");
        for (url, in_file, key) in [
            (&config.database, shown.database_file.is_some(), "database"),
            (&config.redis, shown.redis_file.is_some(), "redis"),
        ] {
            let key = if in_file { format!("{key}_file") } else { key.to_owned() };
            if let Some(value) = values.0.get_mut(&key) {
                value.secret = url.as_ref().map(|url| Sha256Digest::of(SecretUrl::reveal(url)));
            }
        }
        if let Some(value) = values.0.get_mut("application_services") {
            (value.content, value.secret) = read_services(&config.application_services);
        }
        values
    }

    fn add(&mut self, table: &Table, section: &str) {
        for (key, value) in table {
            let path = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
            match value {
                Value::Table(inner) if !OPEN_SECTIONS.contains(&section) => self.add(inner, &path),
                value => {
                    let shown = value.to_string();
                    let value = SettingValue { shown, content: String::new(), secret: None };
                    self.0.insert(path, value);
                }
            }
        }
    }

    /// The settings whose values differ from earlier ones.
    pub fn changes_since(&self, earlier: &Self) -> Vec<ChangedSetting> {
        let keys: BTreeSet<&String> = self.0.keys().chain(earlier.0.keys()).collect();
        let changed = keys.into_iter().filter(|key| self.0.get(*key) != earlier.0.get(*key));
        let shown = |values: &Self, key| values.0.get(key).map(|value| value.shown.clone());
        changed
            .map(|key| ChangedSetting {
                key: key.clone(),
                before: shown(earlier, key),
                after: shown(self, key),
            })
            .collect()
    }

    /// These values, with those of another configuration for the settings that SIGHUP applies.
    pub fn with_reloaded(&self, loaded: &Self) -> Self {
        let pick = |values: &Self, reloaded| {
            let values = values.0.clone().into_iter();
            values.filter(move |(key, _)| is_reloaded(key) == reloaded)
        };
        Self(pick(self, false).chain(pick(loaded, true)).collect())
    }
}

/// The content of the registrations, without and with their tokens.
fn read_services(sources: &[RegistrationSource]) -> (String, Option<Sha256Digest>) {
    let (mut content, mut tokens) = (String::new(), String::new());
    for source in sources {
        match source.read() {
            Ok(service) => {
                let _infallible = write!(content, "{service:?}");
                tokens.push_str(&service.token.to_text());
            }
            Err(error) => content.push_str(&error.to_string()),
        }
    }
    (content, (!tokens.is_empty()).then(|| Sha256Digest::of(&tokens)))
}

/// The settings of a running server, for operators.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningSettings {
    /// Its configuration file.
    pub file: Option<PathBuf>,
    /// The flags and variables that give settings, by their dotted keys.
    pub overrides: BTreeMap<String, String>,
    /// The values of settings that operators may read, in TOML.
    pub values: BTreeMap<String, String>,
    /// A digest of the value of every setting, without secrets.
    digests: BTreeMap<String, String>,
}

impl RunningSettings {
    /// The settings of a server that was started with this configuration and now uses these values.
    pub fn new(config: &Config, values: &SettingValues) -> Self {
        let readable = values.0.iter().filter(|(key, _)| is_in(&READABLE, key));
        let digest = |value: &SettingValue| {
            let text = format!("{}\n{}", value.shown, value.content);
            Sha256Digest::of(&text).to_text().chars().take(16).collect()
        };
        Self {
            file: config.file.clone(),
            overrides: config.overrides(),
            values: readable.map(|(key, value)| (key.clone(), value.shown.clone())).collect(),
            digests: values.0.iter().map(|(key, value)| (key.clone(), digest(value))).collect(),
        }
    }

    /// The settings of which the server uses another value than this one, with the key of each.
    pub fn differences<'a>(&'a self, expected: &'a Self) -> Vec<&'a str> {
        let keys: BTreeSet<&String> = self.digests.keys().chain(expected.digests.keys()).collect();
        let is_different = |key: &&String| self.digests.get(*key) != expected.digests.get(*key);
        keys.into_iter().filter(is_different).map(String::as_str).collect()
    }
}

impl Config {
    /// The flags and variables that give settings, by their dotted keys.
    fn overrides(&self) -> BTreeMap<String, String> {
        let is_in_file = |key: &String| self.lines.contains_key(key);
        let given = self.origins.iter().filter(|(key, _)| !is_in_file(key));
        given.map(|(key, origin)| (key.clone(), origin.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> SettingValues {
        let mut config: Config = toml::from_str(text).unwrap();
        config.read_secret_files(None).unwrap();
        SettingValues::of(&config)
    }

    fn change(key: &str, before: Option<&str>, after: Option<&str>) -> ChangedSetting {
        let text = |value: Option<&str>| value.map(str::to_owned);
        ChangedSetting { key: key.to_owned(), before: text(before), after: text(after) }
    }

    #[test]
    fn changed_settings_are_found_by_key() {
        let before = values("");
        assert_eq!(values("").changes_since(&before), []);
        let after = values(
            "base_url = 'https://ring.example'\ntrusted_proxies = ['10.0.0.1']\n\
             http.max_connections = 7\nlimits.rows.media = false",
        );
        let changes = after.changes_since(&before);
        let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
        let expected = [
            "base_url",
            "http.max_connections",
            "limits.rows.media",
            "server_name",
            "trusted_proxies",
        ];
        assert_eq!(keys, expected);
        assert_eq!(changes[1], change("http.max_connections", Some("10000"), Some("7")));
        assert_eq!(changes[4], change("trusted_proxies", Some("[]"), Some("[\"10.0.0.1\"]")));
        assert_eq!(changes[2].after.as_deref(), Some("false"));
        let reloaded: Vec<bool> = keys.iter().map(|key| is_reloaded(key)).collect();
        assert_eq!(reloaded, [false, false, true, false, true]);

        let running = before.with_reloaded(&after);
        let rest = after.changes_since(&running);
        let rest: Vec<&str> = rest.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(rest, ["base_url", "http.max_connections", "server_name"]);
    }

    #[test]
    fn a_changed_secret_is_found_and_not_shown() {
        let service = |token: &str, sender: &str| {
            format!(
                "redis = 'redis://:{token}@cache'\napplication_services = [{{ id = 'a', as_token \
                 = '{token}', sender_localpart = '{sender}' }}]"
            )
        };
        let before = values(&service("hunter2", "bot"));
        let changes = values(&service("hunter3", "bot")).changes_since(&before);
        let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["application_services", "redis"]);
        assert!(!format!("{changes:?}").contains("hunter"), "{changes:?}");
        assert_eq!(changes[1].before, changes[1].after);

        let running = |values: &SettingValues| RunningSettings::new(&Config::default(), values);
        let shown = serde_json::to_string(&running(&before)).unwrap();
        assert!(!shown.contains("hunter") && !shown.contains("redis://"), "{shown}");
        let other = running(&values(&service("hunter3", "bot")));
        assert_eq!(running(&before).differences(&other), [""; 0], "secrets have no digest");
        let other = running(&values(&service("hunter2", "other")));
        assert_eq!(running(&before).differences(&other), ["application_services"]);
    }

    #[test]
    fn the_directory_of_credentials_is_not_part_of_a_value() {
        let read = || {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("belfry.redis"), "redis://cache").unwrap();
            let mut config = Config::default();
            config.read_secret_files(Some(folder.path())).unwrap();
            SettingValues::of(&config)
        };
        assert_eq!(read().changes_since(&read()), []);
        assert_eq!(read().0["redis_file"].shown, "\"belfry.redis\"");
    }

    #[test]
    fn the_content_of_a_registration_file_is_part_of_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("irc.yaml");
        let read = |token: &str| {
            let text = format!("id: irc\nas_token: {token}\nsender_localpart: bot\n");
            std::fs::write(&path, text).unwrap();
            values(&format!("application_services = [{path:?}]"))
        };
        let before = read("one");
        assert_eq!(read("one").changes_since(&before), []);
        let changes = read("two").changes_since(&before);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].key, "application_services");
    }
}
