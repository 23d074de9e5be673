//! What is remembered: accounts, apps, requests, codes, tokens, sessions and
//! rulesets, on two engines.
//!
//! Each method is atomic and durable when it answers; there are no transactions in the interface.

mod access;
mod accounts;
mod apps;
mod cache;
mod codes;
mod engine;
mod migrations;
mod postgres;
mod requests;
mod rulesets;
mod sessions;
mod sqlite;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Duration;

pub use self::access::LetIn;
pub use self::accounts::{Access, Account, Name, Taken};
pub use self::apps::App;
use self::cache::Cache;
pub use self::codes::{Code, Consent};
use self::engine::{Batch, Engine, Row, Rows, Statement, WithoutNul, sql};
pub use self::requests::Request;
pub use self::rulesets::{Draft, Reading, RulesRead, Rulesets, RulesetsRead};
pub use self::sessions::Session;
pub use self::tokens::{NewToken, Refused, Token, TokenAccount};
use crate::config::{Database, SecretUrl};

/// Everything that Belfry remembers.
pub struct Store {
    engine: Box<dyn Engine>,
    cache: Arc<Cache>,
}

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened, and why.
    #[error("cannot open the database {database}: {reason}")]
    Open {
        /// Its path or address.
        database: String,
        /// What is wrong, and how to mend it.
        reason: String,
    },
    /// The database was written by a later Belfry.
    #[error(
        "the database {database} has schema version {found}, this belfry knows {known}: \
         it was used by a newer belfry; run that one, or restore a backup from before the upgrade"
    )]
    Newer {
        /// Its path or address.
        database: String,
        /// The version it has.
        found: i64,
        /// The newest version that this binary knows.
        known: i64,
    },
    /// The database does not answer, or cannot take a write now. Another try may succeed.
    #[error("the database cannot be used: {0}")]
    Unavailable(String),
    /// A text that was to be written holds a NUL, which not every engine can keep.
    #[error("a text with a NUL character cannot be kept")]
    Nul,
    /// A statement failed, which is a mistake of ours.
    #[error("a statement failed: {0}")]
    Failed(String),
    /// A column holds what was never written there.
    #[error("a stored {0} cannot be read")]
    Unreadable(&'static str),
}

/// What a store needs to know to open.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many bytes of tokens and rules are kept in memory.
    pub cache_bytes: usize,
    /// How many connections to PostgreSQL are kept.
    pub connections: usize,
    /// How long a call to the database may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 256 * 1024 * 1024, connections: 16, timeout: Duration::from_secs(5) }
    }
}

impl Store {
    /// Within this time a server that runs beside a command has seen what the command wrote: it
    /// looks at a SQLite file twice as often, and PostgreSQL tells it within milliseconds.
    pub const SEEN_WITHIN: Duration = sqlite::SEEN_WITHIN;

    /// Opens the database, making it or bringing it up to date when needed.
    pub async fn open(
        database: &Database,
        options: &Options,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        match database {
            Database::Sqlite(path) => Self::open_sqlite(path.clone(), options, now).await,
            Database::Postgres(url) => Self::open_postgres(url, options, now).await,
        }
    }

    async fn open_sqlite(
        path: PathBuf,
        options: &Options,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let cache = Arc::new(Cache::new(options.cache_bytes, true));
        let engine = sqlite::Sqlite::open(path, Arc::clone(&cache), now).await?;
        Ok(Self::of(engine, cache))
    }

    async fn open_postgres(
        url: &SecretUrl,
        options: &Options,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let cache = Arc::new(Cache::new(options.cache_bytes, false));
        let engine = postgres::Postgres::open(url, options, Arc::clone(&cache), now).await?;
        Ok(Self::of(engine, cache))
    }

    fn of(engine: impl Engine + 'static, cache: Arc<Cache>) -> Self {
        Self { engine: Box::new(WithoutNul(engine)), cache }
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.read(sql("select 1", [])).await.map(drop)
    }

    /// Whether reads may be answered from memory: always with SQLite, and with PostgreSQL while
    /// the writes of other nodes are heard of.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.cache.is_believed()
    }

    /// Removes what ended more than a day before `now`: requests, codes, sessions, and tokens that
    /// expired.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let past = Timestamp::from_second(now.as_second() - 24 * 60 * 60).unwrap_or(Timestamp::MIN);
        let batch = Batch::default()
            .and(sql("delete from requests where expires_at < $1", [past.into()]))
            .and(sql("delete from codes where expires_at < $1", [past.into()]))
            .and(sql("delete from sessions where expires_at < $1", [past.into()]))
            .and(sql("delete from tokens where expires_at < $1", [past.into()]));
        self.engine.write(batch).await.map(drop)
    }

    /// Writes a batch and gives the rows of each of its `N` statements.
    async fn write_rows<const N: usize>(
        &self,
        batch: impl Into<Batch>,
    ) -> Result<[Rows; N], StoreError> {
        let rows = self.engine.write(batch.into()).await?;
        rows.try_into().map_err(|_| StoreError::Unreadable("batch"))
    }

    /// Reads a statement that finds one row or none.
    async fn read_one<T>(
        &self,
        statement: Statement,
        read: fn(Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.engine.read(statement).await?.into_iter().next().map(read).transpose()
    }
}
