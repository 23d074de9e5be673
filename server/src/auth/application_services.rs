//! Matrix application services: configured programs that act for many users.

use std::sync::Arc;

use belfry_core::account::{Role, check_name};
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::matrix::user_id;
use belfry_core::secret::{Secret, Sha256Digest};
use belfry_store::{AddAccountError, NO_PASSWORD, Store, StoreError};
use jiff::Timestamp;

pub use crate::config::ApplicationService;
use crate::config::{ConfigError, RegistrationSource};

#[derive(Debug, Default)]
pub struct ApplicationServices(Vec<Arc<ApplicationService>>);

impl ApplicationServices {
    /// Loads the registrations, which must have different ids and tokens.
    pub fn load(sources: &[RegistrationSource]) -> Result<Self, ConfigError> {
        let mut services = Self::default();
        for source in sources {
            let service = source.read()?;
            if services.0.iter().any(|other_service| other_service.id == service.id) {
                let id = &service.id;
                let message = format!(
                    "application_services: two have the id {id:?}; use a different one for each"
                );
                return Err(ConfigError::new(message));
            }
            if let Some(other_service) = services.by_token_digest(service.token) {
                let id = &service.id;
                let other_id = &other_service.id;
                let message = format!(
                    "application_services: {id:?} and {other_id:?} have the same as_token; use a \
                     different one for each"
                );
                return Err(ConfigError::new(message));
            }
            services.0.push(Arc::new(service));
        }
        Ok(services)
    }

    pub fn by_token(&self, token: &Secret) -> Option<&Arc<ApplicationService>> {
        if self.0.is_empty() {
            None
        } else {
            self.by_token_digest(Sha256Digest::compute(token.reveal()))
        }
    }

    fn by_token_digest(&self, digest: Sha256Digest) -> Option<&Arc<ApplicationService>> {
        self.0.iter().find(|service| service.token == digest)
    }

    /// Returns whether an account name is reserved for an application service, so that users cannot
    /// register it.
    pub fn is_reserved(&self, name: &str, server_name: &str) -> bool {
        let user_id = user_id(name, server_name);
        self.0.iter().any(|service| service.reserves(name, &user_id))
    }

    /// Returns whether an account name is reserved for an application service other than this one.
    pub fn is_reserved_by_other(
        &self,
        service: &ApplicationService,
        name: &str,
        server_name: &str,
    ) -> bool {
        let user_id = user_id(name, server_name);
        let mut other_services = self.0.iter().filter(|other| other.token != service.token);
        other_services.any(|other| other.reserves(name, &user_id))
    }

    /// Creates the missing sender accounts, without passwords. Logs a warning about a sender that
    /// is not a valid account name, or whose account has a password.
    pub async fn create_senders(&self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        for service in &self.0 {
            let id = &*service.id;
            let sender = &*service.sender;
            if let Err(error) = check_name(sender) {
                tracing::warn!(id, sender, %error, "invalid sender_localpart, account not created");
                continue;
            }
            let account = store.account_by_name(sender).await?;
            if account.as_ref().is_some_and(|account| account.password_hash != NO_PASSWORD) {
                tracing::warn!(
                    id,
                    sender,
                    "application service account has a password, so people can sign in with it"
                );
            }
            if account.is_none() {
                let name = sender.to_owned();
                let password = NO_PASSWORD.to_owned();
                // The operator configured the name, and may have deleted its account earlier.
                store.release_name(sender).await?;
                let event = NewAuditEvent::for_server(now, AuditKind::AccountAdd);
                let events = NewAuditEvent { detail: Some(id.to_owned()), ..event }.into();
                match store.create_account(&events, now, name, None, password, Role::User).await {
                    Ok(_) => tracing::info!(id, sender, "application service account created"),
                    Err(AddAccountError::Store(error)) => return Err(error),
                    // Another node has created it.
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_application_services(
        registrations: &[&str],
    ) -> Result<ApplicationServices, ConfigError> {
        let sources: Vec<RegistrationSource> =
            registrations.iter().map(|text| toml::from_str(text).unwrap()).collect();
        ApplicationServices::load(&sources)
    }

    const BRIDGE: &str = "id = 'irc'\nas_token = 't'\nsender_localpart = 'bot'\n\
        namespaces.users = [{ regex = '@irc_.*:x', exclusive = true }, { regex = '@ann|@ben' }]";

    #[test]
    fn an_application_service_acts_for_its_sender_and_namespaces_and_reserves_exclusive_ones() {
        let services = load_application_services(&[BRIDGE]).unwrap();
        let service = services.by_token(&Secret::new("t")).unwrap();
        for (name, is_allowed) in
            [("bot", true), ("irc_ann", true), ("ann", false), ("xirc_ann", false), ("both", false)]
        {
            assert_eq!(service.may_act_for(name, &format!("@{name}:x")), is_allowed, "{name}");
        }
        assert!(!service.may_act_for("irc_ann", "@irc_ann:xy"));
        assert!(services.is_reserved("irc_zoe", "x") && services.is_reserved("bot", "x"));
        assert!(!services.is_reserved("ann", "x") && !services.is_reserved("irc_zoe", "y"));
        assert_eq!(service.rate_limited, None);
        assert!(services.by_token(&Secret::new("u")).is_none());
    }

    #[test]
    fn a_namespace_can_contain_all_users() {
        for regex in [".*", "@.*", "@.*:.*", "@.+"] {
            let registration = format!(
                "id = 'a'\nas_token = 't'\nsender_localpart = 'b'\n\
                 namespaces.users = [{{ regex = '{regex}' }}]"
            );
            let services = load_application_services(&[&registration]).unwrap();
            let service = services.0.first().unwrap();
            assert!(service.may_act_for("ann", "@ann:x"), "{regex}");
        }
    }

    #[test]
    fn two_application_services_cannot_have_the_same_id_or_token() {
        let with_other_id = BRIDGE.replace("'irc'", "'xmpp'");
        for (other_bridge, problem) in [
            (BRIDGE, "two have the id \"irc\""),
            (&with_other_id, "\"xmpp\" and \"irc\" have the same as_token"),
        ] {
            let error = load_application_services(&[BRIDGE, other_bridge]).unwrap_err();
            let expected = format!("application_services: {problem}; use a different one for each");
            assert_eq!(error.to_string(), expected);
        }
    }
}
