//! Settings from flags and from `BELFRY_*` variables, laid over those of the file.

use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::file::nearest;
use super::{Config, ConfigError, Tls};

/// The settings that a flag or a variable can give, by the name of the flag: `--base-url` is also
/// `BELFRY_BASE_URL`. `config` is not among them: it says where the file is.
const SETTINGS: &[(&str, Set)] = &[
    ("listen", |config, text| parse(text).map(|value| config.listen = value)),
    ("data", |config, text| parse(text).map(|value| config.data = value)),
    ("database", |config, text| parse(text).map(|value| config.database = Some(value))),
    ("redis", |config, text| parse(text).map(|value| config.redis = Some(value))),
    ("base-url", |config, text| parse(text).map(|value| config.base_url = Some(value))),
    ("limits", |config, text| choose(text).map(|value| config.limits.mode = value)),
    ("metrics-listen", |config, text| parse(text).map(|value| config.metrics_listen = Some(value))),
    ("tls-certificate", |config, text| parse(text).map(|path| tls(config).certificate = path)),
    ("tls-key", |config, text| parse(text).map(|path| tls(config).key = path)),
    ("log-level", |config, text| choose(text).map(|value| config.log.level = value)),
    ("log-format", |config, text| choose(text).map(|value| config.log.format = value)),
];

type Set = fn(&mut Config, &str) -> Result<(), String>;

/// Settings that come from one place beside the file.
#[derive(Debug, Default)]
pub struct Overrides {
    /// The path of the file, and who named it.
    pub(super) config: Option<(String, String)>,
    /// The name of a setting, its value, and how the place calls it.
    given: Vec<(&'static str, String, String)>,
}

impl Overrides {
    /// Flags, by their names without the dashes.
    #[must_use]
    pub fn from_flags<const N: usize>(flags: [(&'static str, Option<String>); N]) -> Self {
        let mut overrides = Self::default();
        for (name, value) in flags {
            if let Some(value) = value {
                overrides.add(name, value, format!("--{name}"));
            }
        }
        overrides
    }

    /// The `BELFRY_*` variables among these; an empty one counts as unset. The second value warns
    /// of variables that look like a misspelt setting. Others are left alone: a container
    /// platform sets some of its own.
    #[must_use]
    pub fn from_env(variables: impl IntoIterator<Item = (String, String)>) -> (Self, Vec<String>) {
        let names = || SETTINGS.iter().map(|(name, _)| *name).chain(["config"]);
        let (mut overrides, mut warnings) = (Self::default(), Vec::new());
        for (variable, value) in variables {
            let Some(rest) = variable.strip_prefix("BELFRY_") else { continue };
            let name = rest.to_lowercase().replace('_', "-");
            if let Some(name) = names().find(|known| *known == name) {
                if !value.is_empty() {
                    overrides.add(name, value, variable);
                }
            } else if let Some(meant) = nearest(&name, &names().collect::<Vec<_>>())
                && strsim::damerau_levenshtein(&name, meant) <= 2
            {
                let meant = meant.to_uppercase().replace('-', "_");
                warnings.push(format!("{variable} is no setting; did you mean BELFRY_{meant}?"));
            }
        }
        (overrides, warnings)
    }

    fn add(&mut self, name: &'static str, value: String, called: String) {
        if name == "config" {
            self.config = Some((value, called));
        } else {
            self.given.push((name, value, called));
        }
    }

    /// These settings, and `weaker` ones where these say nothing.
    #[must_use]
    pub fn or(mut self, weaker: Self) -> Self {
        self.config = self.config.or(weaker.config);
        for (name, value, called) in weaker.given {
            if self.given.iter().all(|(given, ..)| *given != name) {
                self.given.push((name, value, called));
            }
        }
        self
    }

    pub(super) fn lay_over(&self, config: &mut Config) -> Result<(), ConfigError> {
        for (name, value, called) in &self.given {
            let (_, set) = SETTINGS
                .iter()
                .find(|(setting, _)| setting == name)
                .ok_or_else(|| ConfigError(format!("{called} is no setting")))?;
            set(config, value).map_err(|problem| ConfigError(format!("{called}: {problem}")))?;
        }
        Ok(())
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// One of the words that the file knows for this setting.
fn choose<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    let word: StrDeserializer<'de, Error> = text.into_deserializer();
    T::deserialize(word).map_err(|error| error.to_string())
}

fn tls(config: &mut Config) -> &mut Tls {
    config.tls.get_or_insert_with(Tls::default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LimitMode;

    fn env(variables: &[(&str, &str)]) -> (Overrides, Vec<String>) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Overrides::from_env(variables.iter().map(owned))
    }

    #[test]
    fn flags_beat_the_environment_which_beats_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.toml");
        std::fs::write(&file, "listen = '1.1.1.1:1'\ndata = 'file'\n[limits]\nmode = 'off'")
            .unwrap();
        let (env, _) = env(&[
            ("BELFRY_CONFIG", file.to_str().unwrap()),
            ("BELFRY_LISTEN", "2.2.2.2:2"),
            ("BELFRY_LIMITS", "shadow"),
            ("BELFRY_DATA", ""),
        ]);
        let flags = Overrides::from_flags([("listen", Some("3.3.3.3:3".to_owned()))]);

        let config = Config::load(&flags, &env).unwrap();

        assert_eq!(config.listen.to_string(), "3.3.3.3:3");
        assert_eq!(config.limits.mode, LimitMode::Shadow);
        assert_eq!(config.data.to_str(), Some("file"));
    }

    #[test]
    fn a_bad_value_names_the_flag_or_variable_it_came_from() {
        for (name, value, problem) in [
            ("listen", "80", "--listen: invalid socket address syntax"),
            (
                "limits",
                "no",
                "--limits: unknown variant `no`, expected one of `enforce`, `shadow`, `off`",
            ),
            ("base-url", "x", "--base-url: \"x\" is no URL: relative URL without a base"),
        ] {
            let flags = Overrides::from_flags([(name, Some(value.to_owned()))]);
            let error = Config::load(&flags, &Overrides::default()).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
        let (env, _) = env(&[("BELFRY_LISTEN", "80")]);
        let error = Config::load(&Overrides::default(), &env).unwrap_err();
        assert_eq!(error.to_string(), "BELFRY_LISTEN: invalid socket address syntax");
    }

    #[test]
    fn a_misspelt_variable_is_warned_of_and_a_strange_one_is_not() {
        let (_, warnings) = env(&[
            ("BELFRY_DATABSE", "x"),
            ("BELFRY_SERVICE_HOST", "10.0.0.1"),
            ("BELFRY_PORT", "tcp://10.0.0.1:80"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(warnings, ["BELFRY_DATABSE is no setting; did you mean BELFRY_DATABASE?"]);
    }
}
