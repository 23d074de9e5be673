//! Builds indexes in a database that other nodes are using.
//!
//! `create index` blocks writes to its table until the index is built. `create index concurrently`
//! does not, but cannot be part of a transaction. So the migration of an existing database omits
//! the indexes, and they are built afterwards. An index that a killed process left incomplete is
//! rebuilt at the next start.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::Client;

use crate::engine::migrations::{self, MIGRATIONS};
use crate::error::StoreError;

/// Interval between attempts to get the lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Builds the indexes that are missing or incomplete. There is no time limit.
pub(super) async fn build_missing_indexes(client: &Client) -> Result<(), StoreError> {
    if find_missing_indexes(client).await?.is_empty() {
        return Ok(());
    }
    client.batch_execute("set statement_timeout = 0; set lock_timeout = 0").await?;
    // An advisory lock with an arbitrary number, held until the connection is closed. It is polled,
    // because a session that waited for it inside a statement would have a snapshot, and building
    // an index waits for the end of earlier snapshots.
    let try_lock = "select pg_try_advisory_lock(108170537071226)";
    while !client.query_one(try_lock, &[]).await?.try_get::<_, bool>(0)? {
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
    for (index, statement) in find_missing_indexes(client).await? {
        tracing::info!(index, "building index");
        client.batch_execute(&format!("drop index concurrently if exists {index}")).await?;
        let create = statement.replacen("create index", "create index concurrently", 1);
        client.batch_execute(&create).await?;
    }
    Ok(())
}

/// Returns the names and statements of indexes that do not exist or are incomplete.
async fn find_missing_indexes(client: &Client) -> Result<Vec<(String, String)>, StoreError> {
    let select = "select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid \
                  where i.indisvalid and pg_table_is_visible(c.oid)";
    let complete_indexes: BTreeSet<String> = client
        .query(select, &[])
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?;
    let statements =
        MIGRATIONS.0.iter().flat_map(|migration| migrations::split_statements(migration.postgres));
    let indexes = statements.filter_map(|statement| {
        let name = migrations::index_name(&statement)?.to_owned();
        Some((name, statement))
    });
    Ok(indexes.filter(|(name, _)| !complete_indexes.contains(name)).collect())
}
