//! The handle to the database that the methods of all domains use.

pub(crate) mod change;
pub(crate) mod event_source;
pub(crate) mod last_use;
pub(crate) mod new_rows;

use std::sync::{Arc, OnceLock};

use belfry_core::secret::{HashedSecret, Sha256Digest};
use belfry_runtime::family_key::FamilyKey;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Duration;

pub(crate) use self::change::Change;
use self::last_use::UseRecorder;
use self::new_rows::NewRows;
use crate::cache::Cache;
use crate::engine::database::Database;
use crate::engine::options::{Access, Options};
use crate::engine::{
    CheckedEngine, Engine, FromRow, Row, Statement, Value, postgres, read_rows, sql, sqlite,
};
use crate::error::StoreError;
use crate::metrics::{CacheStatus, families};

/// A handle to the database and its cache.
#[derive(Clone)]
pub struct Store {
    pub(crate) engine: Arc<CheckedEngine>,
    pub(crate) cache: Arc<Cache>,
    /// Uses of tokens and apps that are not stored yet.
    pub(crate) uses: Arc<UseRecorder>,
    /// The owners of new rows that are not counted yet.
    pub(crate) new_rows: Arc<NewRows>,
    /// The key of token families. Without it, their tokens are unknown.
    pub(crate) family_key: Arc<OnceLock<FamilyKey>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnabledState {
    /// It is not disabled.
    Active,
    Disabled,
}

impl EnabledState {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The row was inserted, updated or deleted.
    Written,
    /// The row, or one that it belongs to, does not exist or does not meet the condition of the
    /// write; nothing was written.
    NotFound,
}

impl WriteOutcome {
    /// Derives the outcome from the rows that the statement returned.
    pub(crate) fn from_rows(written_rows: &[Row]) -> Self {
        if written_rows.is_empty() { Self::NotFound } else { Self::Written }
    }
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
            family_key: Arc::default(),
        })
    }

    /// Sets the key of token families, once.
    pub fn set_family_key(&self, key: FamilyKey) {
        self.family_key.get_or_init(|| key);
    }

    /// Checks the URL of a PostgreSQL database and the certificates that it names, without
    /// connecting.
    pub fn check_certificates(database: &Database) -> Result<(), StoreError> {
        match database {
            Database::Sqlite(_) => Ok(()),
            Database::Postgres(url) => postgres::Hosts::new(url, false).map(drop),
        }
    }

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
    pub(crate) async fn read_secret<T: FromRow>(
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

    pub(crate) async fn read_one<T: FromRow>(
        &self,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        self.engine.read(statement).await?.into_iter().next().map(T::from_row).transpose()
    }

    pub(crate) async fn read_all<T: FromRow>(
        &self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        read_rows(self.engine.read(statement).await?)
    }
}

/// Returns the statement that takes a lock for the rest of a transaction.
pub(crate) fn lock_statement(name: &str) -> Statement {
    sql!(
        r"
            insert into locks (name)
            values ($name)
            on conflict (name) do update
            set name = excluded.name
        ",
        [name]
    )
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_string(value).map(Value::from).map_err(|_| StoreError::Unreadable("document"))
}
