//! Findings of `belfry doctor` about a database, which create and change nothing.

mod postgres;
mod sqlite;

use jiff::SignedDuration;

use super::{Database, Options, StoreError};

/// The state of a database that can be opened.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// Its schema version; `None` if the database does not exist or is empty.
    pub schema: Option<i64>,
    /// The schema version of this binary.
    pub known_schema: i64,
    /// The outcome of a write that is rolled back; `None` without a schema.
    pub write: Option<Result<(), String>>,
    /// The outcome of a notification like those between nodes; `None` with SQLite.
    pub notifications: Option<Result<(), String>>,
    /// Ways in which acknowledged writes can be lost; `None` with SQLite, or if the server does not
    /// report it.
    pub durability: Option<Durability>,
    /// Time by which the database server's clock is ahead of ours; `None` with SQLite.
    pub clock_difference: Option<SignedDuration>,
}

/// The settings of PostgreSQL by which acknowledged writes can be lost.
#[derive(Debug)]
pub struct Durability {
    /// Those of `fsync`, `full_page_writes` and `synchronous_commit` that are off.
    pub disabled: Vec<&'static str>,
    /// True if there are several servers, but commits do not wait for a standby: a failover loses
    /// writes.
    pub is_standby_asynchronous: bool,
}

impl Diagnosis {
    /// Opens the database and examines it.
    pub async fn run(database: &Database, options: &Options) -> Result<Self, StoreError> {
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
}
