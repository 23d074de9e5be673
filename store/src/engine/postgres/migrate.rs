//! Migrations of a PostgreSQL database that other nodes are using.
//!
//! A migration locks the tables that it changes, for milliseconds: indexes are built afterwards.
//! While it waits for a lock, statements of other nodes queue behind it, although their
//! transactions may hold that lock. So it waits for at most 100 ms, lets the others proceed for 500
//! ms, and retries.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jiff::Timestamp;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

use super::hosts::Hosts;
use super::{indexes, pooler};
use crate::engine::migrations::{self, MIGRATIONS, Migration, SchemaPolicy, SchemaVersion};
use crate::engine::options::{Access, Options};
use crate::error::StoreError;

/// Maximum time to connect to a single host. With several hosts the statement timeout is enough,
/// because a standby may be promoted while the primary does not respond.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time of a migration, without building its indexes.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);
/// Time after which a migration is no longer retried.
const MAX_RETRY_TIME: Duration = Duration::from_secs(50);
/// Pause between two attempts, during which other nodes get the locks they wait for.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The statement that takes the schema's advisory lock (an arbitrary number) until the end of the
/// transaction.
pub(crate) const LOCK_SCHEMA: &str = "select pg_advisory_xact_lock(108170537071225)";

/// Rejects a database whose encoding cannot store all text.
pub(crate) async fn check_encoding(client: &Client) -> Result<(), StoreError> {
    let row = client.query_one("select current_setting('server_encoding')", &[]).await?;
    let encoding: &str = row.try_get(0)?;
    // `SQL_ASCII` accepts any bytes.
    if matches!(encoding, "UTF8" | "SQL_ASCII") {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "its encoding is {encoding}, which cannot store all text; \
         create it with `create database … encoding 'UTF8' template template0`"
    )))
}

/// Rejects an unsuitable pooler, applies the pending migrations and builds missing indexes. If the
/// database is only read, its version is checked without locks instead.
pub(super) async fn migrate(
    hosts: &Hosts,
    options: &Options,
    now: Timestamp,
    database: &str,
) -> Result<(), StoreError> {
    let to_timeout_error = |_| StoreError::Failed("no response within 60 seconds".to_owned());
    let connect_timeout = if hosts.has_several_hosts() { options.timeout } else { CONNECT_TIMEOUT };
    let (client, connection, _) = hosts.connect(connect_timeout).await?;
    let connection = tokio::spawn(connection.map(drop));
    timeout(MIGRATION_TIMEOUT, check_pooler(&client, hosts)).await.map_err(to_timeout_error)??;
    let migration = timeout(MIGRATION_TIMEOUT, check_and_migrate(client, options, now, database));
    if let Some(client) = migration.await.map_err(to_timeout_error)?? {
        indexes::build_missing_indexes(&client).await?;
    }
    drop(connection.await);
    Ok(())
}

/// Rejects a pooler that shares server connections between clients.
async fn check_pooler(client: &Client, hosts: &Hosts) -> Result<(), StoreError> {
    let (other_client, connection, _) = hosts.connect(CONNECT_TIMEOUT).await?;
    tokio::spawn(connection.map(drop));
    pooler::check_pool_mode(client, &other_client).await
}

/// Checks the encoding and applies the pending migrations, with retries while a table is locked.
/// Returns the client if the policy is to migrate and the database does not have a newer schema, so
/// that its indexes can be built.
async fn check_and_migrate(
    mut client: Client,
    options: &Options,
    now: Timestamp,
    database: &str,
) -> Result<Option<Client>, StoreError> {
    check_encoding(&client).await?;
    if options.access == Access::Read {
        let version = schema_version(&client).await?;
        return MIGRATIONS.pending(options.schema, database, version).map(|_| None);
    }
    let start = Instant::now();
    loop {
        match try_migrate(&mut client, options, now, database).await {
            Err(MigrationError::Locked) if start.elapsed() < MAX_RETRY_TIME => {
                tracing::info!("table to migrate is in use by another session, retrying");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(MigrationError::Locked) => {
                return Err(StoreError::Failed(
                    "a table to migrate has been in use by another session for a long time, perhaps \
                     by a backup; retry when it has ended"
                        .to_owned(),
                ));
            }
            Err(MigrationError::Store(error)) => return Err(error),
            Ok(version) => {
                let is_not_newer = version.number <= MIGRATIONS.newest();
                return Ok(
                    (options.schema == SchemaPolicy::Migrate && is_not_newer).then_some(client)
                );
            }
        }
    }
}

enum MigrationError {
    /// A table was in use by another session.
    Locked,
    Store(StoreError),
}

impl From<tokio_postgres::Error> for MigrationError {
    fn from(error: tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Self::Locked;
        }
        Self::Store(error.into())
    }
}

/// Applies the pending migrations in a transaction under an advisory lock, without their indexes
/// unless the database is new. Returns the previous schema version.
async fn try_migrate(
    client: &mut Client,
    options: &Options,
    now: Timestamp,
    database: &str,
) -> Result<SchemaVersion, MigrationError> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK_SCHEMA).await?;
    // Set after taking the advisory lock, for which nodes that start together may have to wait
    // longer.
    transaction.batch_execute("set local lock_timeout = '100ms'").await?;
    transaction.batch_execute(migrations::CREATE_TABLE).await?;
    let version = schema_version(&transaction).await?;
    let pending =
        MIGRATIONS.pending(options.schema, database, version).map_err(MigrationError::Store)?;
    for Migration { number, compatible_from, postgres, .. } in pending {
        for statement in migrations::split_statements(postgres) {
            if version == SchemaVersion::NONE || migrations::index_name(&statement).is_none() {
                transaction.batch_execute(&statement).await?;
            }
        }
        let applied_at = &now.as_second();
        transaction
            .execute(migrations::INSERT_MIGRATION, &[number, applied_at, compatible_from])
            .await?;
    }
    transaction.commit().await?;
    Ok(version)
}

/// Reads a database's schema version; [`SchemaVersion::NONE`] if it has no schema.
pub(crate) async fn schema_version(
    client: &impl GenericClient,
) -> Result<SchemaVersion, tokio_postgres::Error> {
    let table_exists = "select to_regclass('migrations') is not null";
    if !client.query_one(table_exists, &[]).await?.try_get(0)? {
        return Ok(SchemaVersion::NONE);
    }
    let newest_row = client.query_opt(migrations::SELECT_NEWEST, &[]).await?;
    newest_row.map_or(Ok(SchemaVersion::NONE), |row| {
        let number = row.try_get(0)?;
        Ok(SchemaVersion { number, compatible_from: row.try_get(2).unwrap_or(number) })
    })
}
