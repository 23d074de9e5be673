//! Persistence of accounts, apps, authorization requests, codes, tokens, sessions, rulesets,
//! receivers and deliveries, with two engines: SQLite and PostgreSQL.
//!
//! The changes of a method are durable when it returns. They are atomic, unless it works in
//! batches, like a sweep. The interface has no transactions.

mod account_import;
mod account_passwords;
mod account_search;
mod account_tokens;
mod accounts;
mod admins;
mod apps;
mod audit;
mod authorized_apps;
mod backup;
mod cache;
mod change;
mod codes;
mod database;
mod deletion;
mod deliveries;
mod diagnosis;
mod engine;
mod epochs;
mod event_source;
mod grants;
mod invalidation;
mod lanes;
mod last_use;
pub mod metrics;
mod migrations;
mod new_rows;
mod outage;
mod pending_deletion;
mod postgres;
mod receiver_list;
mod receivers;
mod requests;
mod retention;
mod rule_writes;
mod rulesets;
mod sessions;
mod sqlite;
mod subjects;
#[cfg(feature = "test-support")]
pub mod test_support;
mod tokens;
mod vapid_keys;

use std::num::NonZeroUsize;
use std::sync::Arc;

use belfry_core::secret::{HashedSecret, Sha256Digest};
use belfry_runtime::duration;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use tokio::time::Duration;

pub use self::account_passwords::ExistingAccess;
pub use self::account_tokens::AccountToken;
pub use self::accounts::{Account, AccountListFilter, AddAccountError, Email, NO_PASSWORD};
pub use self::admins::AccountUpdateOutcome;
pub use self::apps::{AddAppOutcome, AppListFilter, AppTokens, StoredApp};
pub use self::audit::{AuditEvent, AuditFilter};
pub use self::authorized_apps::AuthorizedApp;
pub use self::backup::{
    Backup, BackupError, ExistingFile, Manifest, Progress, ProgressCallback, RestoredTokens,
    TableSummary, create_backup, restore_backup,
};
use self::cache::Cache;
use self::change::Change;
pub use self::codes::{CodeOutcome, Consent, RedeemError, StoredCode};
pub use self::database::NO_SCHEME;
pub use self::database::{Database, SecretUrl};
pub use self::deletion::{AccountDeletionOutcome, DeletedAccount, DeletedRows};
pub use self::deliveries::{
    AttemptRecord, ClaimedDelivery, DeliveryKey, DeliveryOutcome, DeliveryResult, LaneBacklog,
    LoggedDelivery, MAX_WAITING_PER_RECEIVER, NewDelivery, NewMessage, QueueStatus,
};
pub use self::diagnosis::{Diagnosis, Durability};
use self::engine::{CheckedEngine, Engine, FromRow, Row, Statement, Value, read_rows};
pub use self::epochs::ReadEpoch;
pub use self::lanes::Lane;
use self::last_use::UseRecorder;
pub use self::migrations::{Migration, Migrations, SchemaPolicy};
use self::new_rows::NewRows;
pub use self::receiver_list::{ListedReceiver, ReceiverOwner};
pub use self::receivers::{MAX_RECEIVERS, NewReceiver, SetReceiverOutcome, StoredReceiver};
pub use self::requests::StoredRequest;
pub use self::retention::{RetentionSettings, SweepOutcome};
pub use self::rule_writes::{RuleWriteError, RuleWriter};
pub use self::rulesets::{
    RulesetsForUpdate, RulesetsSnapshot, SaveOutcome, SerializedDocument, StoredRulesets,
};
pub use self::sessions::{AccountSession, Session, SessionSummary};
pub use self::sqlite::create_private_directory;
pub use self::tokens::{NewToken, StoredToken};
pub use self::vapid_keys::{VapidKeyRow, VapidKeyUse};
use crate::metrics::{CacheStatus, families};

/// A handle to the database and its cache.
#[derive(Clone)]
pub struct Store {
    engine: Arc<CheckedEngine>,
    cache: Arc<Cache>,
    /// Uses of tokens and apps that are not stored yet.
    uses: Arc<UseRecorder>,
    /// The owners of new rows that are not counted yet.
    new_rows: Arc<NewRows>,
}

/// The state of an account or app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnabledState {
    /// It is not disabled.
    Active,
    /// It is disabled.
    Disabled,
}

impl EnabledState {
    /// Both states.
    pub const ALL: [Self; 2] = [Self::Active, Self::Disabled];

    /// Returns the state of an account or app with this `disabled_at`.
    pub fn from_disabled_at(disabled_at: Option<Timestamp>) -> Self {
        if disabled_at.is_some() { Self::Disabled } else { Self::Active }
    }

    /// Returns the name in statements and commands.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

impl From<EnabledState> for Value {
    fn from(state: EnabledState) -> Self {
        state.as_str().into()
    }
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The row was inserted, updated or deleted.
    Written,
    /// The row, or one that it belongs to, does not exist or does not meet the condition of the
    /// write; nothing was written.
    NotFound,
}

/// The outcome of signing in with a verified password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SignInOutcome {
    /// The session or token was added.
    SignedIn,
    /// The password was changed after it was verified, or the account or the app was disabled or
    /// deleted; nothing was added.
    Rejected,
}

impl SignInOutcome {
    fn from_rows(inserted_rows: &[Row]) -> Self {
        if inserted_rows.is_empty() { Self::Rejected } else { Self::SignedIn }
    }
}

/// The reason why a database operation failed. `database` is a path, or a URL without its password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("cannot open the database {database}: {reason}")]
    Open { database: String, reason: String },
    /// The user that runs this process may not open the files, or their file system is read-only.
    #[error("cannot open the database {database}: {reason}")]
    Inaccessible { database: String, reason: String },
    /// The file is damaged or not a SQLite database.
    #[error("cannot open the database {database}: {reason}")]
    Damaged { database: String, reason: String },
    /// PostgreSQL cannot be reached, or does not accept connections yet.
    #[error("cannot open the database {database}: {reason}")]
    Unreachable { database: String, reason: String },
    /// The database was migrated by an incompatible newer version.
    #[error(
        "the database {database} was written by a newer belfry with schema version {version}; \
         this belfry {} supports schema version {supported_version}, but {compatible_from} is \
         required: upgrade this binary to the newer version, or restore a backup from before the \
         upgrade of the database",
        env!("CARGO_PKG_VERSION")
    )]
    Newer { database: String, version: i64, compatible_from: i64, supported_version: i64 },
    /// The database was created by a pre-release, which had different tables.
    #[error(
        "the database {database} was created by a pre-release of belfry (schema version {version}) \
         and cannot be upgraded: export what you need with the belfry that created it, move the \
         database away and start with a new one"
    )]
    PreRelease { database: String, version: i64 },
    /// The database cannot be reached, or its file or disk cannot be used; a retry may succeed.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// A string contains a NUL character, which PostgreSQL cannot store.
    #[error("text with a NUL character cannot be stored")]
    Nul,
    /// A statement or a connection failed, and a retry would not succeed.
    #[error("statement failed: {0}")]
    Failed(String),
    /// A column has an unexpected value.
    #[error("stored {0} is invalid")]
    Unreadable(&'static str),
    /// All ids that were tried for a new row are taken.
    #[error("no free id was found; try again")]
    NoFreeId,
}

/// Store options: the section `[store]` of `belfry.toml`.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Maximum size of the cache, in bytes. The rule index may use an eighth of that in addition.
    #[default(512 * 1024 * 1024)]
    pub cache_bytes: usize,
    /// Size of the PostgreSQL connection pool.
    #[default(const { NonZeroUsize::new(16).unwrap() })]
    pub connections: NonZeroUsize,
    /// Timeout of a PostgreSQL query. SQLite queries have none.
    #[default(Duration::from_secs(5))]
    #[serde(with = "duration")]
    pub timeout: Duration,
    /// Maximum time that `belfry serve` waits for PostgreSQL at startup.
    #[default(Duration::from_mins(1))]
    #[serde(with = "duration::allow_zero")]
    pub start_timeout: Duration,
    /// Policy for a missing or older schema.
    #[serde(skip)]
    pub schema: SchemaPolicy,
    /// The migrations that create and upgrade the schema.
    #[serde(skip)]
    pub migrations: Migrations,
    /// The store's access to the database.
    #[serde(skip)]
    pub access: Access,
}

/// The access of a store to its database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// It may read and write.
    #[default]
    ReadWrite,
    /// It may only read; writes fail. The files need not be writable, opening does not wait for a
    /// process that has locked them, and notifications are not used.
    Read,
}

impl Store {
    /// Time within which a running server detects the writes of another process. PostgreSQL
    /// notifies it within milliseconds; a SQLite file is polled.
    pub const VISIBILITY_DELAY: Duration = sqlite::VISIBILITY_DELAY;

    /// Opens the database and, by default, creates or upgrades its schema.
    pub async fn open(
        database: &Database,
        options: &Options,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        // With PostgreSQL the cache is enabled when notifications are received.
        let is_cache_enabled = matches!(database, Database::Sqlite(_));
        let cache = Arc::new(Cache::new(options.cache_bytes, is_cache_enabled));
        let engine: Box<dyn Engine> = match database {
            Database::Sqlite(path) => {
                let path = path.clone();
                let options = *options;
                let cache = Arc::clone(&cache);
                let open = move || match options.access {
                    Access::ReadWrite => sqlite::Sqlite::open(&path, &options, cache, now),
                    Access::Read => sqlite::Sqlite::open_for_reading(&path, &options),
                };
                let outcome = tokio::task::spawn_blocking(open).await;
                Box::new(outcome.map_err(|panic| StoreError::Failed(panic.to_string()))??)
            }
            Database::Postgres(url) => {
                Box::new(postgres::Postgres::open(url, options, Arc::clone(&cache), now).await?)
            }
        };
        Ok(Self {
            engine: Arc::new(CheckedEngine::new(engine)),
            cache,
            uses: Arc::default(),
            new_rows: Arc::default(),
        })
    }

    /// Checks the URL of a PostgreSQL database and the certificates that it names, without
    /// connecting.
    pub fn check_certificates(database: &Database) -> Result<(), StoreError> {
        match database {
            Database::Sqlite(_) => Ok(()),
            Database::Postgres(url) => postgres::Hosts::new(url, false).map(drop),
        }
    }

    /// Writes the metrics of the database and of the cache.
    pub fn write_metrics(&self, out: &mut Exposition) {
        self.engine.write_metrics(out);
        out.value(&families::CACHE_ENABLED, u8::from(self.is_cache_enabled()));
        self.cache.write_invalidations(out);
    }

    /// Returns the state of each cache, for metrics.
    pub fn cache_status(&self) -> [CacheStatus<'_>; 5] {
        self.cache.status()
    }

    /// Checks that the database responds and accepts writes.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.ping().await
    }

    /// Returns the error of the last attempt to open a connection to PostgreSQL, if it failed.
    pub fn connection_error(&self) -> Option<String> {
        self.engine.engine.connection_error()
    }

    /// Returns the status of the background task, if the engine has one.
    pub fn task_status(&self) -> Option<Arc<TaskStatus>> {
        self.engine.engine.task_status()
    }

    /// Returns whether the cache is in use: always with SQLite; with PostgreSQL while notifications
    /// of other nodes' writes are received.
    pub fn is_cache_enabled(&self) -> bool {
        self.cache.is_enabled()
    }

    /// Reads a secret's row by its lookup key. The first column is the digest, which is compared in
    /// constant time.
    async fn read_secret<T: FromRow>(
        &self,
        secret: HashedSecret,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        let Some(mut row) = self.engine.read(statement).await?.into_iter().next() else {
            return Ok(None);
        };
        let digest: Sha256Digest = row.take()?;
        if digest == secret.digest { T::from_row(row).map(Some) } else { Ok(None) }
    }

    /// Reads at most one row.
    async fn read_one<T: FromRow>(&self, statement: Statement) -> Result<Option<T>, StoreError> {
        self.engine.read(statement).await?.into_iter().next().map(T::from_row).transpose()
    }

    /// Reads all rows.
    async fn read_all<T: FromRow>(&self, statement: Statement) -> Result<Vec<T>, StoreError> {
        read_rows(self.engine.read(statement).await?)
    }
}

/// Serializes a value as JSON, for a column.
fn to_json(value: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_string(value).map(Value::from).map_err(|_| StoreError::Unreadable("document"))
}
