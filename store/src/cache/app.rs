//! Cached apps.

use std::sync::Arc;

use belfry_core::oauth::app::App;
use belfry_core::oauth::client::ClientSecrets;
use belfry_core::oauth::client::Registrar;
use belfry_core::secret::HashedSecret;
use jiff::Timestamp;

use super::entry::{ARC_OVERHEAD, CacheValue};
use super::subjects::CacheSubject;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredApp {
    pub app: App,
    pub secrets: ClientSecrets,
    pub created_at: Timestamp,
    /// The time at which a user first authorized it, or the operator or the server added it.
    /// Retention deletes only apps without this time. Column: `used_at`.
    pub retained_at: Option<Timestamp>,
    /// Time of the last use, to the hour.
    pub last_used_at: Option<Timestamp>,
    pub disabled_at: Option<Timestamp>,
}

impl StoredApp {
    /// Creates a new app. Apps that the operator or the server added are not subject to retention.
    pub fn new(app: App, secret: HashedSecret, now: Timestamp) -> Self {
        let retained_at = (app.properties.registered_by != Registrar::Api).then_some(now);
        let secrets = secret.into();
        let created_at = now;
        Self { app, secrets, created_at, retained_at, last_used_at: None, disabled_at: None }
    }
}

impl<K> CacheValue<K> for Arc<StoredApp> {
    fn subjects(&self, _: &K) -> [CacheSubject; 2] {
        [CacheSubject::App(self.app.id), CacheSubject::AppSecret(self.app.id)]
    }

    fn heap_bytes(&self, _: &K) -> usize {
        let details = &self.app.details;
        let website_bytes = details.website.as_ref().map_or(0, String::len);
        let string_bytes = 2 * self.app.client_id.len()
            + details.name.len()
            + details.scopes.heap_bytes()
            + website_bytes;
        let uri_bytes: usize =
            details.redirect_uris.iter().map(|uri| size_of::<String>() + uri.as_str().len()).sum();
        ARC_OVERHEAD + size_of::<StoredApp>() + string_bytes + uri_bytes
    }
}
