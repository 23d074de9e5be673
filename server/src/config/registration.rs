//! The registration of an application service, as Matrix writes it: a YAML file, or a table of
//! the same form in the configuration.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use belfry_core::secret::{Digest, Secret};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use super::ConfigError;

/// Where a registration is.
#[derive(Debug, Clone)]
pub enum RegistrationSource {
    /// In a YAML file.
    File(PathBuf),
    /// In the configuration itself.
    Inline(Registration),
}

/// Who may act for which users. A registration says more, which has no meaning here.
#[derive(Debug, Clone, Deserialize)]
pub struct Registration {
    /// What the application service is called.
    pub id: String,
    /// The token that it presents, of which only the digest is kept.
    #[serde(deserialize_with = "digest")]
    pub as_token: Digest,
    /// The name of the user that it acts as when it names none.
    pub sender_localpart: String,
    /// The users for whom it may act.
    #[serde(default)]
    pub namespaces: Namespaces,
    /// Whether limits hold for it; they do when it does not say.
    #[serde(default)]
    pub rate_limited: Option<bool>,
}

/// The `namespaces` of a registration.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Namespaces {
    /// Users, by their ids.
    #[serde(default)]
    pub users: Option<Vec<Namespace>>,
}

/// One of the namespaces.
#[derive(Debug, Clone, Deserialize)]
pub struct Namespace {
    /// Matches the whole of an id.
    pub regex: String,
    /// Whether nobody else may have such an account.
    #[serde(default)]
    pub exclusive: bool,
}

/// The keys that a registration can have. In a file others are let be, since extensions of Matrix
/// add some; in the configuration one would be a mistake.
const KEYS: [&str; 8] = [
    "id",
    "as_token",
    "sender_localpart",
    "namespaces",
    "rate_limited",
    "url",
    "hs_token",
    "protocols",
];

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    let token = Secret::deserialize(deserializer)?;
    if token.reveal().is_empty() {
        return Err(de::Error::custom("as_token is empty"));
    }
    Ok(token.digest())
}

impl RegistrationSource {
    /// The registration, read from its file if it is in one.
    pub fn read(&self) -> Result<Registration, ConfigError> {
        let path = match self {
            Self::Inline(registration) => return Ok(registration.clone()),
            Self::File(path) => path,
        };
        let failed = |why: String| ConfigError(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        // The parser shows the lines around a mistake, which may hold the token.
        serde_saphyr::from_str(&text).map_err(|error| failed(error.without_snippet().to_string()))
    }
}

impl<'de> Deserialize<'de> for RegistrationSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RegistrationSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of a registration file, or a table")
            }

            fn visit_str<E>(self, path: &str) -> Result<Self::Value, E> {
                Ok(RegistrationSource::File(path.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let table = toml::Table::deserialize(MapAccessDeserializer::new(map))?;
                if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
                    return Err(de::Error::unknown_field(unknown, &KEYS));
                }
                let read = Registration::deserialize(table).map_err(de::Error::custom)?;
                Ok(RegistrationSource::Inline(read))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# As a bridge writes it.
id: \"IRC Bridge\"
url: null
as_token: 30c05ae90a248a4188e620216fa72e349803310ec83e2a77b34fe90be6081f46
hs_token: 312df522183efd404ec1cd22d2ffa4bbc76a8c1ccf541dd692eef281356bb74e
sender_localpart: _irc_bot
rate_limited: false
namespaces:
  users:
    - exclusive: true
      regex: \"@_irc_bridge_.*\"
  aliases:
    - exclusive: false
      regex: \"#_irc_bridge_.*\"
  rooms: []
de.sorunome.msc2409.push_ephemeral: true
";

    fn read(yaml: &str) -> Result<Registration, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("irc.yaml");
        fs::write(&path, yaml).unwrap();
        RegistrationSource::File(path).read()
    }

    #[test]
    fn a_registration_file_is_read_as_it_is() {
        let read = read(FILE).unwrap();
        assert_eq!(read.id, "IRC Bridge");
        assert_eq!(read.sender_localpart, "_irc_bot");
        let token = "30c05ae90a248a4188e620216fa72e349803310ec83e2a77b34fe90be6081f46";
        assert_eq!(read.as_token, Secret::new(token).digest());
        assert_eq!(read.rate_limited, Some(false));
        let users = read.namespaces.users.unwrap();
        assert_eq!((users[0].regex.as_str(), users[0].exclusive), ("@_irc_bridge_.*", true));
    }

    #[test]
    fn a_token_that_looks_like_a_number_is_a_text() {
        for token in ["12345678901234567890", "1e5", "0x10", "no"] {
            let yaml = format!("id: a\nas_token: {token}\nsender_localpart: b\n");
            assert_eq!(read(&yaml).unwrap().as_token, Secret::new(token).digest(), "{token}");
        }
    }

    #[test]
    fn a_mistake_in_a_file_names_it_and_never_shows_the_token() {
        for yaml in ["as_token: hunter2\n", "id: [\nas_token: hunter2", "as_token: hunter2\n  x: y"]
        {
            let problem = read(yaml).unwrap_err().to_string();
            assert!(problem.contains("irc.yaml: "), "{problem}");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        let missing = RegistrationSource::File("nowhere/x.yaml".into()).read().unwrap_err();
        assert!(missing.to_string().starts_with("nowhere/x.yaml: "), "{missing}");
    }

    #[test]
    fn a_table_of_the_configuration_has_the_same_form() {
        #[derive(Debug, Deserialize)]
        struct Sources {
            sources: Vec<RegistrationSource>,
        }
        let read = |text: &str| toml::from_str::<Sources>(text);
        let text = "sources = ['irc.yaml', { id = 'a', as_token = 't', sender_localpart = 'b', \
                    namespaces = { users = [{ regex = '@b_.*' }] } }]";
        let sources = read(text).unwrap().sources;
        let [RegistrationSource::File(path), RegistrationSource::Inline(inline)] = &*sources else {
            panic!("{sources:?}");
        };
        assert_eq!((path.to_str(), inline.id.as_str()), (Some("irc.yaml"), "a"));
        for (wrong, problem) in [
            ("sources = [{ id = 'a', token = 't' }]", "unknown field `token`"),
            ("sources = [{ id = 'a', as_token = 't' }]", "missing field `sender_localpart`"),
            (
                "sources = [{ id = 'a', as_token = '', sender_localpart = 'b' }]",
                "as_token is empty",
            ),
            ("sources = [3]", "the path of a registration file, or a table"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
