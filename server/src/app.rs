//! The state shared by all HTTP handlers.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::extract::FromRef;
use belfry_core::oauth::client::Issuer;
use belfry_core::oauth::issuer_policy::{ID, IssuerPolicy, MASTODON};
use belfry_core::percent;
use belfry_delivery::acceptance::Delivery;
use belfry_runtime::clock::Clock;
use belfry_runtime::supervisor::{TaskStatus, Tasks};
use belfry_store::{RuleWriter, Store, SweepOutcome};
use tokio::sync::Mutex;

use crate::account_memory::{AccountSlots, UnreadResponses};
use crate::audit::AuditCounters;
use crate::auth::application_services::ApplicationServices;
use crate::auth::authentication::Authenticator;
use crate::auth::passwords::Passwords;
use crate::auth::tokens::TokenIssuer;
use crate::config::{BaseUrl, Config, RuleSettings, RunningSettings};
use crate::control::ExpectedProbe;
use crate::delivery::open_delivery;
use crate::evaluation::Evaluator;
use crate::evaluation::pool::EvaluationPool;
use crate::evaluation::rule_index::RuleIndexCache;
use crate::language::Language;
use crate::limits::RateLimiter;
use crate::metrics::{EvaluationMetrics, Metrics};
use crate::pages::assets::BELL;
use crate::pages::{Layout, StaticFile};
use crate::paths::{FRONT, PROFILE};
use crate::sealing::open_sealing_key;

/// The maximum number of stored authorization requests: that many take about 1 GB. Beyond it, the
/// oldest are deleted.
const MAX_PENDING_REQUESTS: usize = 100_000;

/// The state shared by all HTTP handlers. Cloning it is cheap. Handlers that need a few parts of it
/// extract them alone.
#[derive(Clone)]
pub struct AppState(Arc<StateParts>);

/// The parts of the state.
pub struct StateParts {
    pub config: Config,
    /// The rules of the issuer below `/oauth`.
    oauth_policy: IssuerPolicy,
    /// The settings in use. SIGHUP replaces some of them.
    pub running_settings: ArcSwap<RunningSettings>,
    pub base_url: BaseUrl,
    pub store: Store,
    /// Time and result of the last database readiness check.
    pub database_status: Mutex<Option<(Instant, String)>>,
    /// True if the server is shutting down.
    is_stopping: AtomicBool,
    /// The health request that `belfry doctor` expects.
    pub expected_probe: ExpectedProbe,
    pub clock: Arc<dyn Clock>,
    pub limits: RateLimiter,
    pub passwords: Passwords,
    pub metrics: Metrics,
    /// Counters of the audit events that are not stored one by one.
    pub audit: AuditCounters,
    pub application_services: ApplicationServices,
    /// Maximum number of authorization requests that wait for sign-in or consent.
    pub max_pending_requests: usize,
    pub rule_settings: RuleSettings,
    /// Changes push rules, with one write at a time per account.
    pub rule_writer: Arc<RuleWriter>,
    pub evaluator: Arc<Evaluator>,
    /// The delivery of notifications, if it is configured.
    pub delivery: Option<Arc<Delivery>>,
    pub style: Arc<StaticFile>,
    pub large_body_slots: AccountSlots,
    /// Large responses that clients have not read yet.
    pub unread_responses: UnreadResponses,
    pub tasks: Tasks,
}

impl AppState {
    pub fn new(parts: StateParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for AppState {
    type Target = StateParts;

    fn deref(&self) -> &StateParts {
        &self.0
    }
}

/// Implements the extraction of single parts. Each is cheap to clone.
macro_rules! extractable {
    ($($field:ident: $part:ty,)*) => {$(
        impl FromRef<AppState> for $part {
            fn from_ref(state: &AppState) -> Self {
                state.$field.clone()
            }
        }
    )*};
}

extractable! {
    base_url: BaseUrl,
    delivery: Option<Arc<Delivery>>,
    evaluator: Arc<Evaluator>,
    rule_settings: RuleSettings,
    rule_writer: Arc<RuleWriter>,
    store: Store,
    style: Arc<StaticFile>,
    unread_responses: UnreadResponses,
}

impl StateParts {
    /// Builds the parts from the settings, an open store and a clock.
    pub async fn new(
        config: Config,
        base_url: BaseUrl,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let metrics = Metrics::new(clock.now(), &Store::SWEPT_TABLES);
        let evaluator = Evaluator {
            store: store.clone(),
            clock: Arc::clone(&clock),
            server_name: config.server_name_for(&base_url).to_owned(),
            pool: EvaluationPool::default(),
            rule_index_cache: RuleIndexCache::new(config.store.cache_bytes / 8),
            metrics: EvaluationMetrics::default(),
        };
        let application_services = ApplicationServices::load(&config.application_services)?;
        application_services.create_senders(&store, clock.now()).await?;
        let sealing_key = open_sealing_key(&config, &store).await?;
        if let Some(key) = &sealing_key {
            store.set_family_key(key.family_key());
        }
        Ok(Self {
            limits: RateLimiter::open(&config, &metrics.limits)
                .await
                .map_err(|error| format!("redis: {error}"))?,
            passwords: Passwords::new(None),
            audit: AuditCounters::default(),
            application_services,
            max_pending_requests: MAX_PENDING_REQUESTS,
            rule_settings: config.rules,
            rule_writer: Arc::new(RuleWriter::new(store.clone(), config.rules.limits())),
            evaluator: Arc::new(evaluator),
            delivery: open_delivery(&config, &store, sealing_key, &clock).await?.map(Arc::new),
            large_body_slots: AccountSlots::default(),
            unread_responses: UnreadResponses::default(),
            tasks: Tasks::default(),
            style: Arc::new(StaticFile::style_sheet(config.instance.accent)),
            database_status: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            oauth_policy: IssuerPolicy { requires_pkce: config.oauth.require_pkce, ..MASTODON },
            running_settings: ArcSwap::from_pointee(RunningSettings::new(&config)),
            expected_probe: ExpectedProbe::default(),
            config,
            base_url,
            store,
            clock,
            metrics,
        })
    }

    /// Returns the rules of an issuer.
    pub fn policy(&self, issuer: Issuer) -> &IssuerPolicy {
        match issuer {
            Issuer::Id => &ID,
            Issuer::OAuth | Issuer::Unknown => &self.oauth_policy,
        }
    }

    /// Begins the shutdown: from now on `/readyz` returns 503, and connections are closed after
    /// their next response.
    pub fn begin_shutdown(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server is shutting down.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Returns the status of every background task.
    pub fn task_statuses(&self) -> Vec<Arc<TaskStatus>> {
        let mut statuses = self.tasks.statuses();
        statuses.extend(self.store.task_status());
        statuses.extend(self.limits.engine.task_status());
        statuses
    }

    /// Deletes rows that are no longer needed, if a sweep is due.
    pub async fn sweep(&self) {
        match self.store.sweep(&self.config.retention, self.clock.now()).await {
            Ok(SweepOutcome::Swept(deleted_rows)) => {
                for (table, rows) in deleted_rows {
                    self.metrics.count_deleted_rows(table, rows);
                }
            }
            Ok(SweepOutcome::ClockUntrusted(until)) => {
                tracing::debug!(%until, "clock jumped or server was stopped, not deleting rows");
            }
            Ok(SweepOutcome::NotDue) => {}
            Err(error) => tracing::warn!(%error, "failed to delete expired rows"),
        }
    }

    /// Deletes the least recently used tokens, grants and sessions of accounts and apps that have
    /// too many. Unlike a sweep, this runs on every node, for the accounts and apps to which the
    /// node issued new ones.
    pub async fn delete_excess_rows(&self) {
        let max_app_tokens = self.config.oauth.max_app_tokens;
        match self.store.delete_excess(max_app_tokens, self.clock.now()).await {
            Ok(deleted_rows) => {
                for (table, rows) in deleted_rows {
                    self.metrics.count_deleted_rows(table, rows);
                }
            }
            Err(error) => tracing::warn!(%error, "failed to delete the least recently used tokens"),
        }
    }

    /// Stores counted audit events.
    pub async fn flush_audit(&self) {
        if let Err(error) = self.audit.flush(&self.store).await {
            tracing::warn!(%error, "failed to store counted audit events, retrying later");
        }
    }

    /// Stores the last uses of tokens and apps.
    pub async fn flush_uses(&self) {
        if let Err(error) = self.store.flush_uses().await {
            tracing::warn!(%error, "failed to store the last use of tokens, retrying later");
        }
    }

    /// Returns an issuer of tokens with the configured lifetime.
    pub fn token_issuer(&self) -> TokenIssuer<'_> {
        let lifetime = self.config.oauth.token_lifetime;
        TokenIssuer { store: &self.store, now: self.clock.now(), lifetime }
    }

    pub(crate) fn authenticator(&self) -> Authenticator<'_> {
        Authenticator { store: &self.store, passwords: &self.passwords, clock: &*self.clock }
    }

    pub fn layout(&self, language: Language) -> Layout<'_> {
        Layout {
            language,
            server: self.server_name(),
            title: &self.config.instance.title,
            style: self.style.path(),
            ignores_early_input: true,
            language_link: FRONT,
        }
    }

    /// Returns the VAPID key that clients need to subscribe; `None` if delivery is not configured.
    pub fn vapid_key(&self) -> Option<String> {
        self.delivery.as_deref().map(Delivery::vapid_key)
    }

    /// Returns the server name, which is the part of a user id after the colon.
    pub fn server_name(&self) -> &str {
        self.config.server_name_for(&self.base_url)
    }
}

impl BaseUrl {
    /// Returns the URI that identifies an account. It never changes and is never reused.
    pub(crate) fn account_uri(&self, account_id: i64) -> String {
        format!("{self}/users/{account_id}")
    }

    pub(crate) fn profile_url(&self, name: &str) -> String {
        format!("{self}{PROFILE}{}", percent::encode(name))
    }

    /// Returns the URL of the avatar, which is the same for all accounts.
    pub(crate) fn avatar_url(&self) -> String {
        format!("{self}{}", BELL.path())
    }
}
