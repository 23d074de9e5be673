//! The settings of a running server, compared with the settings that the server loads at SIGHUP and
//! with those of `belfry doctor`.

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::secret::Sha256Digest;
use belfry_store::SecretUrl;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::effective::{OPEN_SECTIONS, find_value, join_key, known_settings};
use super::{Config, RegistrationSource};

/// The settings that a server applies on SIGHUP, with the limits. All others need a restart.
const RELOADED_SETTINGS: [&str; 3] = ["limits.mode", "trusted_proxies", "trusted_proxy_header"];

/// Returns whether a server applies a change to this setting on SIGHUP.
pub fn is_reloaded(key: &str) -> bool {
    RELOADED_SETTINGS.contains(&key) || OPEN_SECTIONS.iter().any(|section| key.starts_with(section))
}

/// All settings that have a value, by dotted key. Each limit is a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningSettings(BTreeMap<String, RunningSetting>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RunningSetting {
    /// The value in TOML, without secrets.
    value: String,
    /// Digest of the engine URL or the registrations with their secrets, which may be in files.
    /// Never serialized, because a weak password could be guessed from it.
    #[serde(skip)]
    secret: Option<Sha256Digest>,
}

impl RunningSettings {
    /// Returns the effective values of a configuration.
    pub fn new(config: &Config) -> Self {
        // Empty, so that nothing is compared, if a path is not UTF-8 and thus cannot be TOML.
        let table = Table::try_from(config.with_derived_values()).unwrap_or_default();
        let digest_url =
            |url: &Option<SecretUrl>| url.as_ref().map(|url| Sha256Digest::compute(url.reveal()));
        let mut settings = BTreeMap::new();
        for setting in known_settings() {
            let path = setting.path();
            let Some(value) = find_value(&table, &path) else { continue };
            if let Some(limits) = value.as_table().filter(|_| setting.is_open_section()) {
                settings.extend(limits.iter().map(|(name, limit)| {
                    let value = limit.to_string();
                    (join_key(&path, name), RunningSetting { value, secret: None })
                }));
                continue;
            }
            let secret = match &*path {
                "database" | "database_file" => digest_url(&config.database),
                "redis" | "redis_file" => digest_url(&config.redis),
                "application_services" => Some(Sha256Digest::compute(&describe_registrations(
                    &config.application_services,
                ))),
                _ => None,
            };
            settings.insert(path, RunningSetting { value: value.to_string(), secret });
        }
        Self(settings)
    }

    /// Returns the value of a setting in TOML, without secrets.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|setting| &*setting.value)
    }

    /// Removes the digests of secrets, which a server does not show.
    pub fn without_secrets(mut self) -> Self {
        self.0.values_mut().for_each(|setting| setting.secret = None);
        self
    }

    /// Returns the keys of the settings that differ from earlier ones.
    pub fn changes_since<'a>(&'a self, earlier: &'a Self) -> Vec<&'a str> {
        let keys: BTreeSet<&String> = self.0.keys().chain(earlier.0.keys()).collect();
        let is_changed = |key: &&String| self.0.get(*key) != earlier.0.get(*key);
        keys.into_iter().filter(is_changed).map(String::as_str).collect()
    }

    /// Returns these settings, with those of `loaded` that SIGHUP applies.
    pub fn with_reloaded(&self, loaded: &Self) -> Self {
        let kept_settings = self.0.iter().filter(|(key, _)| !is_reloaded(key));
        let reloaded_settings = loaded.0.iter().filter(|(key, _)| is_reloaded(key));
        let settings = kept_settings.chain(reloaded_settings);
        Self(settings.map(|(key, setting)| (key.clone(), setting.clone())).collect())
    }
}

/// Describes registrations for a digest: their fields and token digests, or the error if a file
/// cannot be read.
fn describe_registrations(sources: &[RegistrationSource]) -> String {
    let services = sources.iter().map(|source| match source.read() {
        Ok(service) => format!("{service:?}{}", service.token.to_text()),
        Err(error) => error.to_string(),
    });
    services.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_settings(text: &str) -> RunningSettings {
        let mut config: Config = toml::from_str(text).unwrap();
        config.read_secret_files(None).unwrap();
        RunningSettings::new(&config)
    }

    #[test]
    fn changed_settings_are_found_by_key() {
        let old_settings = parse_settings("");
        assert_eq!(parse_settings("").changes_since(&old_settings), [""; 0]);
        let new_settings = parse_settings(
            "base_url = 'https://ring.example'\ntrusted_proxies = ['10.0.0.1']\n\
             http.max_connections = 7\nlimits.rows.media = false",
        );
        let keys = new_settings.changes_since(&old_settings);
        let expected = [
            "base_url",
            "http.max_connections",
            "limits.rows.media",
            "server_name",
            "trusted_proxies",
        ];
        assert_eq!(keys, expected);
        let are_reloaded: Vec<bool> = keys.iter().map(|key| is_reloaded(key)).collect();
        assert_eq!(are_reloaded, [false, false, true, false, true]);

        let running = old_settings.with_reloaded(&new_settings);
        let restart_keys = new_settings.changes_since(&running);
        assert_eq!(restart_keys, ["base_url", "http.max_connections", "server_name"]);
    }

    #[test]
    fn a_changed_secret_is_found_only_with_the_digests_of_secrets() {
        let settings_with = |token: &str, sender: &str| {
            format!(
                "redis = 'redis://:{token}@cache'\napplication_services = [{{ id = 'a', as_token \
                 = '{token}', sender_localpart = '{sender}' }}]"
            )
        };
        let old_settings = parse_settings(&settings_with("hunter2", "bot"));
        let new_settings = parse_settings(&settings_with("hunter3", "bot"));
        assert_eq!(new_settings.changes_since(&old_settings), ["application_services", "redis"]);

        assert!(!serde_json::to_string(&old_settings).unwrap().contains("hunter"));
        let public_settings = old_settings.without_secrets();
        assert_eq!(new_settings.without_secrets().changes_since(&public_settings), [""; 0]);
        let other_settings = parse_settings(&settings_with("hunter2", "other")).without_secrets();
        assert_eq!(other_settings.changes_since(&public_settings), ["application_services"]);
    }

    #[test]
    fn a_changed_registration_file_is_a_changed_setting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("irc.yaml");
        let settings_with_token = |token: &str| {
            let text = format!("id: irc\nas_token: {token}\nsender_localpart: bot\n");
            std::fs::write(&path, text).unwrap();
            parse_settings(&format!("application_services = [{path:?}]"))
        };
        let old_settings = settings_with_token("one");
        assert_eq!(settings_with_token("one").changes_since(&old_settings), [""; 0]);
        assert_eq!(
            settings_with_token("two").changes_since(&old_settings),
            ["application_services"]
        );
    }
}
