//! Settings that command-line flags and environment variables override.

use std::ffi::OsString;
use std::fmt::Display;
use std::iter::successors;
use std::path::Path;
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::file::nearest;
use super::{Config, ConfigError, Tls};

/// A setting with a flag and an environment variable.
struct Setting {
    flag: &'static str,
    variable: &'static str,
    value_name: &'static str,
    help: &'static str,
    /// Whether every command accepts the flag, before or after its name; otherwise only `serve`.
    global: bool,
    set: fn(&mut Config, &str) -> Result<(), String>,
}

/// Every such setting. `--config` sets nothing itself: it names the file of the others.
const SETTINGS: &[Setting] = &[
    Setting {
        flag: "config",
        variable: "BELFRY_CONFIG",
        value_name: "FILE",
        help: "Configuration file [default: ./belfry.toml, if it exists]",
        global: true,
        set: |_, _| Ok(()),
    },
    Setting {
        flag: "data",
        variable: "BELFRY_DATA",
        value_name: "DIR",
        help: "Data directory [default: ./data]",
        global: true,
        set: |config, text| parse(text).map(|path| config.data = path),
    },
    Setting {
        flag: "database",
        variable: "BELFRY_DATABASE",
        value_name: "URL",
        help: "PostgreSQL URL: postgres://… [default: SQLite in the data directory]",
        global: true,
        set: |config, text| parse(text).map(|url| config.database = Some(url)),
    },
    Setting {
        flag: "listen",
        variable: "BELFRY_LISTEN",
        value_name: "ADDR",
        help: "Address to listen on [default: 127.0.0.1:8080]",
        global: false,
        set: |config, text| parse(text).map(|address| config.listen = address),
    },
    Setting {
        flag: "redis",
        variable: "BELFRY_REDIS",
        value_name: "URL",
        help: "Redis or Valkey for rate limits shared by several nodes: redis://… or rediss://… \
               [default: count in this process]",
        global: false,
        set: |config, text| parse(text).map(|url| config.redis = Some(url)),
    },
    Setting {
        flag: "base-url",
        variable: "BELFRY_BASE_URL",
        value_name: "URL",
        help: "Public URL of this service [default: http://LISTEN]",
        global: false,
        set: |config, text| parse(text).map(|url| config.base_url = Some(url)),
    },
    Setting {
        flag: "limits",
        variable: "BELFRY_LIMITS",
        value_name: "MODE",
        help: "Rate limits: enforce, shadow (count and report, never reject) or off \
               [default: enforce]",
        global: false,
        set: |config, text| parse_word(text).map(|mode| config.limits.mode = mode),
    },
    Setting {
        flag: "metrics-listen",
        variable: "BELFRY_METRICS_LISTEN",
        value_name: "ADDR",
        help: "Separate address for /metrics [default: the main address]",
        global: false,
        set: |config, text| parse(text).map(|address| config.metrics_listen = Some(address)),
    },
    Setting {
        flag: "tls-certificate",
        variable: "BELFRY_TLS_CERTIFICATE",
        value_name: "FILE",
        help: "Certificate chain for HTTPS, a PEM file [default: plain HTTP]",
        global: false,
        set: |config, text| parse(text).map(|path| tls(config).certificate = path),
    },
    Setting {
        flag: "tls-key",
        variable: "BELFRY_TLS_KEY",
        value_name: "FILE",
        help: "Private key of the certificate, a PEM file",
        global: false,
        set: |config, text| parse(text).map(|path| tls(config).key = path),
    },
    Setting {
        flag: "log-level",
        variable: "BELFRY_LOG_LEVEL",
        value_name: "LEVEL",
        help: "Log level: error, warn, info, debug or trace [default: info]",
        global: false,
        set: |config, text| parse_word(text).map(|level| config.log.level = level),
    },
    Setting {
        flag: "log-format",
        variable: "BELFRY_LOG_FORMAT",
        value_name: "FORMAT",
        help: "Log format: human, json, or auto (human on a terminal) [default: auto]",
        global: false,
        set: |config, text| parse_word(text).map(|format| config.log.format = format),
    },
];

impl Setting {
    fn arg(&self) -> Arg {
        let arg = Arg::new(self.flag)
            .long(self.flag)
            .env(self.variable)
            // A URL may contain a password.
            .hide_env_values(true)
            .value_name(self.value_name)
            .help(self.help);
        if self.global { arg.global(true).help_heading("Global options") } else { arg }
    }
}

/// The flags of every command.
pub fn global_flags() -> impl Iterator<Item = Arg> {
    SETTINGS.iter().filter(|setting| setting.global).map(Setting::arg)
}

/// The flags of `belfry serve`.
pub fn serve_flags() -> impl Iterator<Item = Arg> {
    SETTINGS.iter().filter(|setting| !setting.global).map(Setting::arg)
}

/// The values given by flags and environment variables.
#[derive(Default)]
pub struct Overrides(Vec<Override>);

struct Override {
    setting: &'static Setting,
    value: String,
    /// The flag or variable, for error messages.
    origin: String,
}

impl Overrides {
    /// Reads the flags and variables that clap found. A flag takes precedence over a variable, and
    /// a flag after the command's name over one before it. An empty variable counts as unset.
    #[must_use]
    pub fn from_matches(matches: &ArgMatches) -> Self {
        let levels = || successors(Some(matches), |level| level.subcommand().map(|(_, sub)| sub));
        let overrides = SETTINGS.iter().filter_map(|setting| {
            let given = levels().filter_map(|level| {
                let value = level.try_get_one::<String>(setting.flag).ok()??;
                let source = level.value_source(setting.flag)?;
                (source == ValueSource::CommandLine || !value.is_empty()).then_some((source, value))
            });
            let (source, value) = given.max_by_key(|(source, _)| *source)?;
            let origin = match source {
                ValueSource::CommandLine => format!("--{}", setting.flag),
                _ => setting.variable.to_owned(),
            };
            Some(Override { setting, value: value.clone(), origin })
        });
        Self(overrides.collect())
    }

    /// The configuration file, if one is named.
    pub(super) fn file(&self) -> Option<&Path> {
        let config = self.0.iter().find(|given| given.setting.flag == "config")?;
        Some(Path::new(&config.value))
    }

    pub(super) fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        for Override { setting, value, origin } in &self.0 {
            (setting.set)(config, value)
                .map_err(|error| ConfigError(format!("{origin}: {error}")))?;
        }
        Ok(())
    }
}

/// Warnings about environment variables that look like a misspelt setting. Other variables with
/// our prefix are ignored, because container platforms set some (`BELFRY_PORT`).
pub fn misspelt_variables(names: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.variable).collect();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with("BELFRY_") && !known.contains(&&**name));
    let warnings = unknown.filter_map(|name| {
        let meant = nearest(&name, &known)?;
        let close = strsim::damerau_levenshtein(&name, meant) <= 2;
        close.then(|| format!("unknown variable {name}; did you mean {meant}?"))
    });
    warnings.collect()
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Parses one of the words that the configuration file accepts for this setting.
fn parse_word<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    let word: StrDeserializer<'de, Error> = text.into_deserializer();
    T::deserialize(word).map_err(|error| error.to_string())
}

fn tls(config: &mut Config) -> &mut Tls {
    config.tls.get_or_insert_with(Tls::default)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;
    use crate::config::LimitMode;

    fn overrides(arguments: &[&str]) -> Overrides {
        let serve = Command::new("serve").args(serve_flags());
        let command = Command::new("belfry").args(global_flags()).args(serve_flags());
        let arguments = ["belfry"].iter().chain(arguments);
        Overrides::from_matches(&command.subcommand(serve).get_matches_from(arguments))
    }

    #[test]
    fn flags_take_precedence_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.toml");
        std::fs::write(&file, "listen = '1.1.1.1:1'\ndata = 'file'\n[limits]\nmode = 'off'")
            .unwrap();
        let flags = ["--config", file.to_str().unwrap(), "--limits", "shadow"];

        let config = Config::load(&overrides(&flags)).unwrap();

        assert_eq!(config.listen.to_string(), "1.1.1.1:1");
        assert_eq!(config.limits.mode, LimitMode::Shadow);
        assert_eq!(config.data.to_str(), Some("file"));
    }

    #[test]
    fn a_flag_after_the_command_takes_precedence_over_one_before_it() {
        let flags = ["--listen", "1.1.1.1:1", "--redis", "redis://a", "serve"];
        let flags = [&flags[..], &["--listen", "2.2.2.2:2", "--data", "b"]].concat();
        let config = Config::load(&overrides(&flags)).unwrap();
        assert_eq!(config.listen.to_string(), "2.2.2.2:2");
        assert_eq!(config.redis.unwrap().reveal(), "redis://a");
        assert_eq!(config.data.to_str(), Some("b"));
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_flag() {
        for (flag, value, problem) in [
            ("--listen", "80", "--listen: invalid socket address syntax"),
            (
                "--limits",
                "no",
                "--limits: unknown variant `no`, expected one of `enforce`, `shadow`, `off`",
            ),
            ("--base-url", "x", "--base-url: \"x\" is not a URL: relative URL without a base"),
        ] {
            let error = Config::load(&overrides(&[flag, value])).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
    }

    #[test]
    fn a_misspelt_variable_causes_a_warning_and_an_unrelated_one_does_not() {
        let names = ["BELFRY_DATABSE", "BELFRY_SERVICE_HOST", "BELFRY_PORT", "BELFRY_DATA", "PATH"];
        let warnings = misspelt_variables(names.map(OsString::from));
        assert_eq!(warnings, ["unknown variable BELFRY_DATABSE; did you mean BELFRY_DATABASE?"]);
    }
}
