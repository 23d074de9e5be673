//! What `belfry doctor` finds out about a database, without creating or changing anything.

mod postgres;
mod sqlite;

use jiff::{SignedDuration, Timestamp};

use super::migrations::{Migrations, SchemaPolicy, SchemaVersion};
use super::{Database, Options, StoreError};

/// The state of a database that can be opened.
#[derive(Debug)]
pub struct Diagnosis {
    /// Its schema.
    pub schema: SchemaState,
    /// Whether it can be written, by a write that is rolled back; `None` without a schema.
    pub write: Option<Result<(), String>>,
    /// Whether a notification arrives, as nodes send them to each other; `None` with SQLite.
    pub notifications: Option<Result<(), String>>,
    /// How acknowledged writes can be lost; `None` with SQLite, or if the server does not report it.
    pub durability: Option<Vec<DurabilityRisk>>,
    /// By how much the clock of the database server is ahead of ours; `None` with SQLite.
    pub clock_difference: Option<SignedDuration>,
    /// The time of the newest audit event.
    pub newest_event: Option<Timestamp>,
}

/// The schema version of a database, compared with that of this binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// The database does not exist or is empty.
    Missing,
    /// It is the version of this binary.
    Current(i64),
    /// It is older, and migrated when `belfry serve` starts.
    Older {
        /// The version of the database.
        found: i64,
        /// The version of this binary.
        known: i64,
    },
    /// It is newer and compatible.
    Newer {
        /// The version of the database.
        found: i64,
        /// The version of this binary.
        known: i64,
    },
}

/// A setting of PostgreSQL by which acknowledged writes can be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityRisk {
    /// `fsync` is off: when the machine stops, the whole database can be damaged.
    NoSync,
    /// `full_page_writes` is off: when the machine stops, pages can be damaged.
    PartialPages,
    /// `synchronous_commit` is off: when the server stops, the newest writes are lost.
    UnsyncedCommits,
    /// There are several servers, but commits do not wait for a standby: a failover loses writes.
    AsynchronousStandby,
}

/// Selects the time of the newest audit event. Counted events are updated during an hour, and the
/// newest of them began among the last.
const NEWEST_EVENT: &str = "select max(last_at) from
    (select last_at from audit_events order by at desc limit 1000) newest";

impl Diagnosis {
    /// Opens the database and examines it.
    pub async fn of(database: &Database, options: &Options) -> Result<Self, StoreError> {
        match database {
            Database::Postgres(url) => postgres::diagnose(url, options).await,
            Database::Sqlite(path) => {
                let (path, migrations) = (path.clone(), options.migrations);
                let diagnosing =
                    tokio::task::spawn_blocking(move || sqlite::diagnose(&path, migrations));
                diagnosing.await.map_err(|panic| StoreError::Failed(panic.to_string()))?
            }
        }
    }

    /// A database without a schema.
    const fn missing() -> Self {
        Self {
            schema: SchemaState::Missing,
            write: None,
            notifications: None,
            durability: None,
            clock_difference: None,
            newest_event: None,
        }
    }
}

impl SchemaState {
    /// Compares a version with that of this binary, and rejects an incompatible one.
    fn of(
        found: SchemaVersion,
        migrations: Migrations,
        database: &str,
    ) -> Result<Self, StoreError> {
        if found == SchemaVersion::NONE {
            return Ok(Self::Missing);
        }
        let is_older = !migrations.pending(SchemaPolicy::Migrate, database, found)?.is_empty();
        let (found, known) = (found.number, migrations.newest());
        Ok(match (is_older, found == known) {
            (true, _) => Self::Older { found, known },
            (false, true) => Self::Current(known),
            (false, false) => Self::Newer { found, known },
        })
    }
}
