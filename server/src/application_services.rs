//! Matrix application services: programs of the operator that act for many users.

use std::collections::HashMap;
use std::sync::Arc;

use belfry_core::secret::{Secret, Sha256Digest};
use regex_lite::Regex;

use crate::config::{ConfigError, RegistrationSource, ServiceRegistration};

/// The configured application services, by the digests of their tokens.
#[derive(Debug, Default)]
pub struct ApplicationServices(HashMap<Sha256Digest, Arc<ApplicationService>>);

/// An application service.
#[derive(Debug)]
pub struct ApplicationService {
    /// Its id.
    pub id: String,
    /// The account name it acts as when a request names no other user.
    pub sender: String,
    /// Whether rate limits apply to it.
    pub rate_limited: bool,
    users: Vec<UserNamespace>,
}

#[derive(Debug)]
struct UserNamespace {
    ids: Regex,
    /// Whether it contains all users, so that matching can be skipped.
    all: bool,
    exclusive: bool,
}

impl ApplicationServices {
    /// Loads the registrations.
    pub fn load(sources: &[RegistrationSource]) -> Result<Self, ConfigError> {
        let mut services = HashMap::new();
        for source in sources {
            let registration = source.read()?;
            let reject = |reason: String| {
                ConfigError(format!("application_services: {:?}: {reason}", registration.id))
            };
            let service = ApplicationService::new(&registration).map_err(reject)?;
            if let Some(other) = services.insert(registration.as_token, Arc::new(service)) {
                return Err(reject(format!("has the as_token of {:?}", other.id)));
            }
        }
        Ok(Self(services))
    }

    /// The application service with this token.
    #[must_use]
    pub fn by_token(&self, token: &Secret) -> Option<&Arc<ApplicationService>> {
        if self.0.is_empty() { None } else { self.0.get(&Sha256Digest::of(token.reveal())) }
    }

    /// Whether a user id is in an exclusive namespace, and thus cannot be registered.
    #[must_use]
    pub fn is_reserved(&self, user_id: &str) -> bool {
        let all = self.0.values().flat_map(|service| &service.users);
        all.filter(|users| users.exclusive).any(|users| users.ids.is_match(user_id))
    }
}

impl ApplicationService {
    fn new(registration: &ServiceRegistration) -> Result<Self, String> {
        let namespaces = registration.namespaces.users.iter().flatten();
        let users = namespaces.map(|namespace| {
            let whole = format!(r"\A(?:{})\z", namespace.regex);
            let ids = Regex::new(&whole).map_err(|error| format!("users.regex: {error}"))?;
            let all = matches!(namespace.regex.as_str(), ".*" | "@.*" | "@.*:.*");
            Ok(UserNamespace { ids, all, exclusive: namespace.exclusive })
        });
        Ok(Self {
            id: registration.id.clone(),
            sender: registration.sender_localpart.clone(),
            rate_limited: registration.rate_limited.unwrap_or(true),
            users: users.collect::<Result<_, String>>()?,
        })
    }

    /// Whether it may act for the account of this name and id: its own, or one in its namespaces.
    #[must_use]
    pub fn may_act_for(&self, name: &str, user_id: &str) -> bool {
        let mut users = self.users.iter();
        name == self.sender || users.any(|users| users.all || users.ids.is_match(user_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(registrations: &[&str]) -> Result<ApplicationServices, ConfigError> {
        let sources: Vec<RegistrationSource> = registrations
            .iter()
            .map(|text| toml::from_str(text).map(RegistrationSource::Inline).unwrap())
            .collect();
        ApplicationServices::load(&sources)
    }

    const BRIDGE: &str = "id = 'irc'\nas_token = 't'\nsender_localpart = 'bot'\n\
        namespaces.users = [{ regex = '@irc_.*:x', exclusive = true }, { regex = '@ann|@ben' }]";

    #[test]
    fn a_service_acts_for_itself_and_for_the_ids_in_its_namespaces() {
        let services = load(&[BRIDGE]).unwrap();
        let service = services.by_token(&Secret::new("t")).unwrap();
        for (name, allowed) in
            [("bot", true), ("irc_ann", true), ("ann", false), ("xirc_ann", false), ("both", false)]
        {
            assert_eq!(service.may_act_for(name, &format!("@{name}:x")), allowed, "{name}");
        }
        assert!(!service.may_act_for("irc_ann", "@irc_ann:xy"));
        assert!(services.is_reserved("@irc_zoe:x"));
        assert!(!services.is_reserved("@ann") && !services.is_reserved("@bot:x"));
        assert!(service.rate_limited);
        assert!(services.by_token(&Secret::new("u")).is_none());
    }

    #[test]
    fn a_namespace_can_contain_all_users() {
        for regex in [".*", "@.*", "@.*:.*", "@.+"] {
            let service = format!(
                "id = 'a'\nas_token = 't'\nsender_localpart = 'b'\n\
                 namespaces.users = [{{ regex = '{regex}' }}]"
            );
            let services = load(&[&service]).unwrap();
            let service = services.0.values().next().unwrap();
            assert!(service.may_act_for("ann", "@ann:x"), "{regex}");
        }
    }

    #[test]
    fn an_invalid_registration_is_rejected_by_its_id() {
        for (registrations, problem) in [
            (&[BRIDGE, BRIDGE][..], "\"irc\": has the as_token of \"irc\""),
            (
                &["id = 'a'\nas_token = 't'\nsender_localpart = 'b'\n\
                   namespaces.users = [{ regex = '(' }]"],
                "\"a\": users.regex: ",
            ),
        ] {
            let error = load(registrations).unwrap_err().to_string();
            assert!(error.starts_with(&format!("application_services: {problem}")), "{error}");
        }
    }
}
