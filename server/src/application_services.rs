//! Application services: programs of the operator's that act for many users.

use std::collections::HashMap;
use std::sync::Arc;

use belfry_core::secret::Digest;
use regex_lite::Regex;

use crate::config::{ConfigError, Registration, RegistrationSource};

/// Those that are configured, by the digests of their tokens.
#[derive(Debug, Default)]
pub struct ApplicationServices(HashMap<Digest, Arc<ApplicationService>>);

/// One of them.
#[derive(Debug)]
pub struct ApplicationService {
    /// What it is called.
    pub id: String,
    /// The name of the account that it acts as when it names no user.
    pub sender: String,
    /// Whether limits hold for it.
    pub rate_limited: bool,
    users: Vec<Users>,
}

#[derive(Debug)]
struct Users {
    ids: Regex,
    /// Whether these are plainly all users, so that nothing need be matched.
    everybody: bool,
    exclusive: bool,
}

impl ApplicationServices {
    /// Reads the registrations.
    pub fn load(sources: &[RegistrationSource]) -> Result<Self, ConfigError> {
        let mut services = HashMap::new();
        for source in sources {
            let registration = source.read()?;
            let refuse = |why: String| {
                ConfigError(format!("application_services: {:?}: {why}", registration.id))
            };
            let service = ApplicationService::new(&registration).map_err(refuse)?;
            if let Some(other) = services.insert(registration.as_token, Arc::new(service)) {
                return Err(refuse(format!("has the as_token of {:?}", other.id)));
            }
        }
        Ok(Self(services))
    }

    /// Whose token this is.
    #[must_use]
    pub fn by_token(&self, token: Digest) -> Option<&Arc<ApplicationService>> {
        if self.0.is_empty() { None } else { self.0.get(&token) }
    }

    /// Whether one of them keeps an id for itself, so that nobody else may have such an account.
    #[must_use]
    pub fn is_reserved(&self, user_id: &str) -> bool {
        let all = self.0.values().flat_map(|service| &service.users);
        all.filter(|users| users.exclusive).any(|users| users.ids.is_match(user_id))
    }
}

impl ApplicationService {
    fn new(registration: &Registration) -> Result<Self, String> {
        let namespaces = registration.namespaces.users.iter().flatten();
        let users = namespaces.map(|namespace| {
            let whole = format!(r"\A(?:{})\z", namespace.regex);
            let ids = Regex::new(&whole).map_err(|error| format!("users.regex: {error}"))?;
            let everybody = matches!(namespace.regex.as_str(), ".*" | "@.*" | "@.*:.*");
            Ok(Users { ids, everybody, exclusive: namespace.exclusive })
        });
        Ok(Self {
            id: registration.id.clone(),
            sender: registration.sender_localpart.clone(),
            rate_limited: registration.rate_limited.unwrap_or(true),
            users: users.collect::<Result<_, String>>()?,
        })
    }

    /// Whether it may act for an account of this name and id: its own, or one of its namespaces.
    #[must_use]
    pub fn may_act_for(&self, name: &str, user_id: &str) -> bool {
        let mut users = self.users.iter();
        name == self.sender || users.any(|users| users.everybody || users.ids.is_match(user_id))
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
    fn a_service_acts_for_itself_and_for_whole_ids_of_its_namespaces() {
        let services = load(&[BRIDGE]).unwrap();
        let token = belfry_core::secret::Secret::new("t").digest();
        let service = services.by_token(token).unwrap();
        for (name, allowed) in
            [("bot", true), ("irc_ann", true), ("ann", false), ("xirc_ann", false), ("both", false)]
        {
            assert_eq!(service.may_act_for(name, &format!("@{name}:x")), allowed, "{name}");
        }
        assert!(!service.may_act_for("irc_ann", "@irc_ann:xy"));
        assert!(services.is_reserved("@irc_zoe:x"));
        assert!(!services.is_reserved("@ann") && !services.is_reserved("@bot:x"));
        assert!(service.rate_limited);
        assert!(services.by_token(belfry_core::secret::Secret::new("u").digest()).is_none());
    }

    #[test]
    fn a_namespace_of_everybody_is_one_of_everybody() {
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
    fn what_cannot_work_is_refused_by_name() {
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
