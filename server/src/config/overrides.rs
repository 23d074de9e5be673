//! Command-line flags and environment variables that override settings.

use std::iter::successors;
use std::mem::take;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, ValueHint};
use serde::Deserialize;
use toml::{Table, Value};

use super::file::with_suggestion;
use super::{Config, ConfigError};

/// A setting with a flag and an environment variable, such as `--base-url` and `BELFRY_BASE_URL`.
struct Setting {
    flag: &'static str,
    value_name: &'static str,
    help: &'static str,
}

/// Settings that every command accepts, before or after its name. `--config` is not a setting: it
/// names the configuration file.
static GLOBAL_SETTINGS: [Setting; 4] = [
    setting("config", "FILE", "Configuration file [default: ./belfry.toml]"),
    setting("data", "DIR", "Data directory [default: ./data]"),
    setting("database", "URL", "PostgreSQL URL [default: SQLite in DIR]"),
    setting("database-file", "FILE", "File that contains the PostgreSQL URL"),
];

/// Settings that `belfry serve`, `health`, `doctor` and `config check` accept.
static SERVE_SETTINGS: [Setting; 10] = [
    setting("listen", "ADDR", "Address to listen on [default: 127.0.0.1:8080]"),
    setting(
        "redis",
        "URL",
        "Redis for rate limits shared by several nodes [default: count in this process]",
    ),
    setting("redis-file", "FILE", "File that contains the Redis URL"),
    setting("base-url", "URL", "Public URL of the service [default: http://LISTEN]"),
    setting(
        "limits",
        "MODE",
        "Rate limits: enforce, shadow (report only) or off [default: enforce]",
    ),
    setting("metrics-listen", "ADDR", "Address for /metrics [default: LISTEN]"),
    setting("tls-certificate", "FILE", "Certificate for HTTPS, in PEM"),
    setting("tls-key", "FILE", "Private key of the certificate, in PEM"),
    setting("log-level", "LEVEL", "Log level: error, warn, info, debug or trace [default: info]"),
    setting(
        "log-access",
        "REQUESTS",
        "Access log: off, errors (status 400 and above) or all requests [default: off]",
    ),
];

const fn setting(flag: &'static str, value_name: &'static str, help: &'static str) -> Setting {
    Setting { flag, value_name, help }
}

impl Setting {
    fn variable(&self) -> String {
        format!("BELFRY_{}", self.flag.to_uppercase().replace('-', "_"))
    }

    /// Returns the dotted key in the configuration file.
    fn key(&self) -> String {
        match self.flag {
            "limits" => "limits.mode".to_owned(),
            "tls-certificate" | "tls-key" | "log-level" | "log-access" => {
                self.flag.replace('-', ".")
            }
            flag => flag.replace('-', "_"),
        }
    }

    fn arg(&self) -> Arg {
        // The value of a variable is hidden, because a URL may contain a password.
        let arg = Arg::new(self.flag).long(self.flag).env(self.variable()).hide_env_values(true);
        let hint = match self.value_name {
            "FILE" => ValueHint::FilePath,
            "DIR" => ValueHint::DirPath,
            "URL" => ValueHint::Url,
            _ => ValueHint::Other,
        };
        arg.value_name(self.value_name).value_hint(hint).help(self.help)
    }
}

/// Returns the flags that every command accepts.
pub fn global_flags() -> impl Iterator<Item = Arg> {
    GLOBAL_SETTINGS.iter().map(|setting| setting.arg().global(true).help_heading("Global options"))
}

/// Returns the flags that `belfry serve`, `health`, `doctor` and `config check` accept.
pub fn serve_flags() -> impl Iterator<Item = Arg> {
    SERVE_SETTINGS.iter().map(Setting::arg)
}

fn settings() -> impl Iterator<Item = &'static Setting> {
    GLOBAL_SETTINGS.iter().chain(&SERVE_SETTINGS)
}

/// The values given by flags and environment variables.
#[derive(Default)]
pub struct Overrides(Vec<Override>);

struct Override {
    setting: &'static Setting,
    value: String,
    /// A flag or a variable; flags take precedence.
    source: ValueSource,
    /// The name of the flag or variable, for error messages.
    origin: String,
}

impl Overrides {
    /// Reads the flags and variables that clap found. A flag takes precedence over a variable, and
    /// a flag after the command's name over one before it. An empty variable counts as unset.
    pub fn from_matches(matches: &ArgMatches) -> Self {
        let command_levels = || {
            successors(Some(matches), |level| level.subcommand().map(|(_, subcommand)| subcommand))
        };
        let overrides = settings().filter_map(|setting| {
            let candidates = command_levels().filter_map(|level| {
                let value = level.try_get_one::<String>(setting.flag).ok()??;
                let source = level.value_source(setting.flag)?;
                (source == ValueSource::CommandLine || !value.is_empty()).then_some((source, value))
            });
            let (source, value) = candidates.max_by_key(|(source, _)| *source)?;
            let origin = match source {
                ValueSource::CommandLine => format!("--{}", setting.flag),
                _ => setting.variable(),
            };
            Some(Override { setting, value: value.clone(), source, origin })
        });
        let mut overrides: Vec<Override> = overrides.collect();
        // Flags come last, because `apply` lets later values override earlier ones.
        overrides.sort_by_key(|value| value.source);
        Self(overrides)
    }

    /// Returns the configuration file, if one is named.
    pub(super) fn file(&self) -> Option<&Path> {
        Some(Path::new(&self.find("config", None)?.value))
    }

    /// Returns the value given by a flag or its variable, optionally only if it has this source.
    fn find(&self, flag: &str, source: Option<ValueSource>) -> Option<&Override> {
        let has_source = |value: &Override| source.is_none_or(|source| value.source == source);
        self.0.iter().find(|value| value.setting.flag == flag && has_source(value))
    }

    /// Overrides the settings of a file. `table` contains the same settings as TOML.
    pub(super) fn apply(&self, config: &mut Config, mut table: Table) -> Result<(), ConfigError> {
        for Override { setting, value, source, origin } in &self.0 {
            if setting.flag == "config" {
                continue;
            }
            // Two flags, or two variables, for a URL and its file contradict each other. Otherwise
            // the later one replaces both.
            if let Some(file) = self.find(&format!("{}-file", setting.flag), Some(*source)) {
                let file = &file.origin;
                return Err(ConfigError::new(format!(
                    "{origin} and {file} are both given; remove one"
                )));
            }
            let key = setting.key();
            let alternative =
                key.strip_suffix("_file").map_or(format!("{key}_file"), str::to_owned);
            table.remove(&alternative);
            for replaced_key in [&key, &alternative] {
                config.origins.remove(replaced_key);
                config.lines.remove(replaced_key);
            }
            insert_value(&mut table, &key, value);
            config.origins.insert(key, origin.clone());
            // The settings before this one are valid, so this one causes any error.
            let new_config = Config::deserialize(table.clone()).map_err(|error| {
                ConfigError::new(format!(
                    "{origin}: {}",
                    with_suggestion(error.message().trim_end())
                ))
            })?;
            *config = Config {
                origins: take(&mut config.origins),
                lines: take(&mut config.lines),
                file_with_secrets: config.file_with_secrets.take(),
                ..new_config
            };
        }
        Ok(())
    }
}

/// Sets the value of a key, which may be in a section.
fn insert_value(table: &mut Table, key: &str, value: &str) {
    let Some((section, key)) = key.split_once('.') else {
        table.insert(key.to_owned(), Value::from(value));
        return;
    };
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key.to_owned(), Value::from(value));
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;
    use crate::config::{RateLimitMode, effective};

    fn parse_overrides(arguments: &[&str]) -> Overrides {
        let serve = Command::new("serve").args(serve_flags());
        let command = Command::new("belfry").args(global_flags()).args(serve_flags());
        let arguments = ["belfry"].iter().chain(arguments);
        Overrides::from_matches(&command.subcommand(serve).get_matches_from(arguments))
    }

    #[test]
    fn flags_take_precedence_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("b.toml");
        std::fs::write(&file, "listen = '1.1.1.1:1'\ndata = 'file'\n[limits]\nmode = 'off'")
            .unwrap();
        let flags = ["--config", file.to_str().unwrap(), "--limits", "shadow"];

        let config = Config::load(&parse_overrides(&flags)).unwrap();

        assert_eq!(config.listen.to_string(), "1.1.1.1:1");
        assert_eq!(config.limits.mode, RateLimitMode::Shadow);
        assert_eq!(config.data.to_str(), Some("file"));
        let origin = |key: &str| config.origins.get(key).map(String::as_str);
        assert_eq!((origin("listen"), origin("limits.mode")), (file.to_str(), Some("--limits")));
        assert_eq!(origin("registration"), None);
    }

    #[test]
    fn a_flag_after_the_command_takes_precedence_over_one_before_it() {
        let flags_before = ["--listen", "1.1.1.1:1", "--redis", "redis://a", "serve"];
        let flags = [&flags_before[..], &["--listen", "2.2.2.2:2", "--data", "b"]].concat();
        let config = Config::load(&parse_overrides(&flags)).unwrap();
        assert_eq!(config.listen.to_string(), "2.2.2.2:2");
        assert_eq!(config.redis.unwrap().reveal(), "redis://a");
        assert_eq!(config.data.to_str(), Some("b"));
    }

    #[test]
    fn a_url_or_its_file_overrides_both_in_the_configuration_file() {
        let dir = tempfile::tempdir().unwrap();
        let write_file = |name: &str, content: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.into_os_string().into_string().unwrap()
        };
        let url = write_file("url", "postgres://me:hunter2@file/belfry\n");
        let toml = write_file("a.toml", "database = 'postgres://toml/belfry'");
        let toml_file = write_file("b.toml", &format!("database_file = {url:?}"));
        for (flags, host) in [
            (vec!["--config", &toml], "toml"),
            (vec!["--config", &toml, "--database-file", &url], "file"),
            (vec!["--config", &toml_file], "file"),
            (vec!["--config", &toml_file, "--database", "postgres://flag/belfry"], "flag"),
        ] {
            let config = Config::load(&parse_overrides(&flags)).unwrap();
            let database = config.database.unwrap().without_password();
            assert!(database.ends_with(&format!("{host}/belfry")), "{flags:?}: {database}");
        }
        let both_given =
            write_file("c.toml", &format!("redis = 'redis://a'\nredis_file = {url:?}"));
        for (flags, problem) in [
            (
                vec!["--database", "postgres://a/b", "serve", "--database-file", &url],
                "--database and --database-file are both given; remove one",
            ),
            (
                vec!["--redis", "redis://a", "--redis-file", &url],
                "--redis and --redis-file are both given; remove one",
            ),
            (vec!["--config", &both_given], "redis and redis_file are both given; remove one ("),
            (vec!["--redis-file", &url], "redis_file: "),
        ] {
            let error = Config::load(&parse_overrides(&flags)).unwrap_err().to_string();
            assert!(error.starts_with(problem) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_data_flag_is_rejected_if_the_file_names_postgres() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.toml");
        let file = path.to_str().unwrap();
        for settings in ["database = 'postgres://a/b'", "database_file = 'missing'"] {
            std::fs::write(file, settings).unwrap();
            let error = Config::load(&parse_overrides(&["--config", file, "--data", "new"]))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("--data new has no effect, because "), "{error}");
            assert!(error.contains(file) && error.contains("--config /dev/null"), "{error}");
        }
        std::fs::write(file, "database = 'postgres://a/b'\ndata = 'x'").unwrap();
        let load_config = |flags: &[&str]| Config::load(&parse_overrides(flags)).unwrap();
        load_config(&["--config", file]);
        // A flag also names the database, so the file does not matter.
        load_config(&["--config", file, "--data", "new", "--database", "postgres://c/d"]);
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_flag() {
        for (flag, value, problem) in [
            (
                "--listen",
                "80",
                "--listen: \"80\" is not HOST:PORT: write \"127.0.0.1:8080\" for this machine only, \
                 or \"0.0.0.0:8080\" or \"[::]:8080\" for all networks",
            ),
            (
                "--limits",
                "no",
                "--limits: unknown variant `no`, expected one of `enforce`, `shadow`, `off`",
            ),
            (
                "--base-url",
                "x",
                "--base-url: \"x\" is not a base URL: write a scheme, a host and an optional port, \
                 such as \"https://ring.example\"",
            ),
        ] {
            let error = Config::load(&parse_overrides(&[flag, value])).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
    }

    #[test]
    fn every_flag_has_a_key_in_the_configuration_file() {
        let known_keys: Vec<_> =
            effective::known_settings().iter().map(effective::KnownSetting::path).collect();
        for setting in settings().filter(|setting| setting.flag != "config") {
            assert!(known_keys.contains(&setting.key()), "{}", setting.key());
        }
    }
}
