//! The state shared by all HTTP handlers.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::application_services::ApplicationServices;
use crate::clock::Clock;
use crate::config::{BaseUrl, Config};
use crate::http::Changes;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::passwords::Passwords;
use crate::rule_index::RuleIndexCache;
use crate::store::Store;

/// The state shared by all HTTP handlers.
pub struct AppState {
    /// The settings.
    pub config: Config,
    /// The address under which clients reach this service.
    pub base_url: BaseUrl,
    /// Persistent data.
    pub store: Store,
    /// The current time.
    pub clock: Arc<dyn Clock>,
    /// Rate limits and their counters.
    pub limits: Limits,
    /// Password hashing.
    pub passwords: Passwords,
    /// Prometheus metrics.
    pub metrics: Metrics,
    /// Application services that may act for users.
    pub application_services: ApplicationServices,
    /// The push rules of recently evaluated accounts.
    pub rule_index: RuleIndexCache,
    /// Changes of push rules that wait to be saved.
    pub changes: Changes,
    /// Permit to explain an evaluation; there is one, so explanations run one at a time.
    pub explain_permit: Arc<Semaphore>,
}

impl AppState {
    /// Builds the state from the settings, around an open store and a clock.
    pub async fn new(
        config: Config,
        base_url: BaseUrl,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut metrics = Metrics::default();
        let passwords = Passwords::new(config.passwords.parallel);
        metrics.add_passwords(passwords.hash_count().clone());
        Ok(Self {
            limits: Limits::open(&config, &mut metrics).await?,
            passwords,
            application_services: ApplicationServices::load(&config.application_services)?,
            rule_index: RuleIndexCache::new(config.store.cache_bytes / 8),
            changes: Changes::default(),
            explain_permit: Arc::new(Semaphore::new(1)),
            config,
            base_url,
            store,
            clock,
            metrics,
        })
    }

    /// The part of a user id after the colon.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.config.server_name_for(&self.base_url)
    }
}
