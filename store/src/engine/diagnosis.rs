//! Database checks of `belfry doctor`, which create and change nothing.

mod postgres;
mod sqlite;

use jiff::SignedDuration;

use crate::engine::database::Database;
use crate::engine::options::Options;
use crate::error::StoreError;

/// The state of a database that can be opened.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// The database's schema version; `None` if the database does not exist or is empty.
    pub schema_version: Option<i64>,
    pub supported_schema_version: i64,
    /// The outcome of a write that is rolled back; `None` without a schema.
    pub write_outcome: Option<Result<(), String>>,
    /// The outcome of a notification like those between nodes; `None` with SQLite.
    pub notifications: Option<Result<(), String>>,
    /// The database server's clock minus this machine's; `None` with SQLite.
    pub clock_offset: Option<SignedDuration>,
}

impl Diagnosis {
    pub async fn run(database: &Database, options: &Options) -> Result<Self, StoreError> {
        match database {
            Database::Postgres(url) => postgres::diagnose(url, options).await,
            Database::Sqlite(path) => {
                let path = path.clone();
                let task = tokio::task::spawn_blocking(move || sqlite::diagnose(&path));
                task.await.map_err(|panic| StoreError::Failed(panic.to_string()))?
            }
        }
    }
}
