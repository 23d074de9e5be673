//! Matrix application service registrations: a YAML file, or a table of the same form in
//! `belfry.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use belfry_core::secret::{Secret, Sha256Digest};
use belfry_runtime::file_access::describe_file_error;
use regex_lite::Regex;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use toml::{Table, Value};

use super::ConfigError;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub enum RegistrationSource {
    File(PathBuf),
    /// A table in `belfry.toml`.
    Inline {
        /// The table, without its secrets.
        table: Table,
        registration: ApplicationService,
    },
}

/// An application service: the fields of its registration that Belfry uses.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationService {
    pub id: String,
    #[serde(rename = "as_token", deserialize_with = "deserialize_token_digest")]
    pub token: Sha256Digest,
    /// The name of the service's own account, for which it acts if a request names no user.
    #[serde(rename = "sender_localpart")]
    pub sender: String,
    /// True if its requests count towards `limits.rows`; by default they do not.
    pub rate_limited: Option<bool>,
    #[serde(default)]
    namespaces: Namespaces,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Namespaces {
    users: Option<Vec<UserNamespace>>,
}

#[derive(Debug, Clone, Deserialize)]
struct UserNamespace {
    /// Matches a whole user id; `None` if it matches all users, so that matching can be skipped.
    #[serde(deserialize_with = "deserialize_whole_regex")]
    regex: Option<Regex>,
    /// True if matching accounts are reserved for the application service.
    #[serde(default)]
    exclusive: bool,
}

impl ApplicationService {
    /// Returns whether the application service may act for the account with this name and user id:
    /// its own, or one in its namespaces.
    pub fn may_act_for(&self, name: &str, user_id: &str) -> bool {
        name == self.sender || self.user_namespaces().any(|namespace| namespace.contains(user_id))
    }

    /// Returns whether an account cannot be registered, because it belongs to the application
    /// service or is in one of its exclusive namespaces.
    pub fn reserves(&self, name: &str, user_id: &str) -> bool {
        let is_reserved =
            |namespace: &UserNamespace| namespace.exclusive && namespace.contains(user_id);
        name == self.sender || self.user_namespaces().any(is_reserved)
    }

    fn user_namespaces(&self) -> impl Iterator<Item = &UserNamespace> {
        self.namespaces.users.iter().flatten()
    }
}

impl UserNamespace {
    fn contains(&self, user_id: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(user_id))
    }
}

/// The keys of a registration. Unknown keys are ignored in a file, because Matrix extensions add
/// some, and rejected in `belfry.toml`.
const REGISTRATION_KEYS: [&str; 8] = [
    "id",
    "as_token",
    "sender_localpart",
    "namespaces",
    "rate_limited",
    "url",
    "hs_token",
    "protocols",
];

fn deserialize_token_digest<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Sha256Digest, D::Error> {
    // Replaces the parser's error, which would quote a token that is a number.
    let token = Secret::deserialize(deserializer)
        .map_err(|_| Error::custom("as_token must be a string"))?;
    if token.reveal().is_empty() {
        return Err(Error::custom("as_token is empty"));
    }
    Ok(Sha256Digest::compute(token.reveal()))
}

fn deserialize_whole_regex<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Regex>, D::Error> {
    let pattern = String::deserialize(deserializer)?;
    if matches!(pattern.as_str(), ".*" | "@.*" | "@.*:.*") {
        return Ok(None);
    }
    let whole_regex = Regex::new(&format!(r"\A(?:{pattern})\z"));
    whole_regex.map(Some).map_err(|error| Error::custom(format!("users.regex: {error}")))
}

impl RegistrationSource {
    /// Returns the registration, which is read from its file unless it is inline.
    pub fn read(&self) -> Result<ApplicationService, ConfigError> {
        let path = match self {
            Self::Inline { registration, .. } => return Ok(registration.clone()),
            Self::File(path) => path,
        };
        let read_error = |reason: String| {
            ConfigError::new(format!("application_services: {}: {reason}", path.display()))
        };
        let yaml = fs::read_to_string(path)
            .map_err(|error| read_error(describe_file_error(path, &error)))?;
        // Without a snippet, because the lines around an error may contain the token.
        serde_saphyr::from_str(&yaml)
            .map_err(|error| read_error(error.without_snippet().to_string()))
    }

    /// Returns the file that contains the token, unless it is `belfry.toml` itself.
    pub(super) fn secret_file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Inline { .. } => None,
        }
    }
}

impl TryFrom<Value> for RegistrationSource {
    type Error = toml::de::Error;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let mut table = match value {
            Value::String(path) => return Ok(Self::File(path.into())),
            Value::Table(table) => table,
            _ => return Err(Error::custom("expected the path of a registration file, or a table")),
        };
        if let Some(unknown_key) =
            table.keys().find(|key| !REGISTRATION_KEYS.contains(&key.as_str()))
        {
            return Err(Error::unknown_field(unknown_key, &REGISTRATION_KEYS));
        }
        let registration = ApplicationService::deserialize(table.clone())
            .map_err(|error| Error::custom(error.message()))?;
        for key in ["as_token", "hs_token"] {
            if let Some(value) = table.get_mut(key) {
                *value = Value::from("***");
            }
        }
        Ok(Self::Inline { table, registration })
    }
}

/// Serialized as in `belfry.toml`, without secrets.
impl Serialize for RegistrationSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::File(path) => path.serialize(serializer),
            Self::Inline { table, .. } => table.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRATION_FILE: &str = "\
# As written by a bridge.
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

    fn read_registration(yaml: &str) -> Result<ApplicationService, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("irc.yaml");
        fs::write(&path, yaml).unwrap();
        RegistrationSource::File(path).read()
    }

    #[test]
    fn a_matrix_registration_file_is_accepted() {
        let registration = read_registration(REGISTRATION_FILE).unwrap();
        assert_eq!(registration.id, "IRC Bridge");
        assert_eq!(registration.sender, "_irc_bot");
        let token = "30c05ae90a248a4188e620216fa72e349803310ec83e2a77b34fe90be6081f46";
        assert_eq!(registration.token, Sha256Digest::compute(token));
        assert_eq!(registration.rate_limited, Some(false));
        assert!(registration.reserves("_irc_bridge_ann", "@_irc_bridge_ann:x"));
        assert!(
            registration.reserves("_irc_bot", "@_irc_bot:x")
                && !registration.reserves("ann", "@ann:x")
        );
    }

    #[test]
    fn a_token_that_looks_like_a_number_is_read_as_text() {
        for token in ["12345678901234567890", "1e5", "0x10", "no"] {
            let yaml = format!("id: a\nas_token: {token}\nsender_localpart: b\n");
            assert_eq!(
                read_registration(&yaml).unwrap().token,
                Sha256Digest::compute(token),
                "{token}"
            );
        }
    }

    #[test]
    fn an_error_names_the_file_and_never_shows_the_token() {
        for yaml in ["as_token: hunter2\n", "id: [\nas_token: hunter2", "as_token: hunter2\n  x: y"]
        {
            let problem = read_registration(yaml).unwrap_err().to_string();
            assert!(problem.contains("irc.yaml: "), "{problem}");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        let error = RegistrationSource::File("nowhere/x.yaml".into()).read().unwrap_err();
        assert!(error.to_string().starts_with("application_services: nowhere/x.yaml: "), "{error}");
    }

    #[test]
    fn a_table_in_the_configuration_has_the_same_form() {
        #[derive(Debug, Deserialize)]
        struct Sources {
            sources: Vec<RegistrationSource>,
        }
        let parse_sources = |text: &str| toml::from_str::<Sources>(text);
        let settings = "sources = ['irc.yaml', { id = 'a', as_token = 't', sender_localpart = 'b', \
                    namespaces = { users = [{ regex = '@b_.*' }] } }]";
        let sources = parse_sources(settings).unwrap().sources;
        let [RegistrationSource::File(path), RegistrationSource::Inline { registration, .. }] =
            &*sources
        else {
            panic!("{sources:?}");
        };
        assert_eq!((path.to_str(), registration.id.as_str()), (Some("irc.yaml"), "a"));
        for (invalid_settings, problem) in [
            ("sources = [{ id = 'a', token = 't' }]", "unknown field `token`"),
            ("sources = [{ id = 'a', as_token = 't' }]", "missing field `sender_localpart`"),
            (
                "sources = [{ id = 'a', as_token = '', sender_localpart = 'b' }]",
                "as_token is empty",
            ),
            (
                "sources = [{ id = 'a', as_token = 4711, sender_localpart = 'b' }]",
                "as_token must be a string",
            ),
            (
                "sources = [{ id = 'a', as_token = 't', sender_localpart = 'b', \
                 namespaces.users = [{ regex = '(' }] }]",
                "users.regex: ",
            ),
            ("sources = [3]", "the path of a registration file, or a table"),
        ] {
            let error = parse_sources(invalid_settings).unwrap_err().message().to_owned();
            assert!(error.contains(problem) && !error.contains("4711"), "{error}");
        }
    }
}
