//! Reads and writes whole tables of a PostgreSQL database with `COPY` in binary format.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use tokio_postgres::Client;
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutRow, BinaryCopyOutStream};
use tokio_postgres::types::{ToSql, Type};

use super::BackupError;
use super::schema::{ColumnType, Schema, Table};
use super::transaction::{RowCallback, TableTransaction};
use crate::cache::Invalidation;
use crate::engine::database::SecretUrl;
use crate::engine::migrations::Migration;
use crate::engine::options::Options;
use crate::engine::{Statement, Value, postgres};
use crate::error::StoreError;

/// A transaction on its own connection, not one from the store's pool.
pub(super) struct Transaction {
    client: Client,
}

/// Maximum time that a restore waits for the schema lock, and for the lock of each table.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Statement that disables timeouts configured in the server, the database or the URL: copying a
/// large table takes longer than any statement of a request. The timeouts are selected from
/// `pg_settings`, because older versions of PostgreSQL lack some of them.
const DISABLE_TIMEOUTS: &str = "select set_config(name, '0', true) from pg_settings where name in \
    ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')";

impl Transaction {
    /// Begins a read-only transaction on a snapshot.
    pub(super) async fn begin_read(url: &SecretUrl, options: &Options) -> Result<Self, StoreError> {
        let begin = "begin transaction isolation level repeatable read, read only";
        Self::begin(url, options, begin).await
    }

    /// Begins a write transaction that blocks migrations and starting nodes.
    pub(super) async fn begin_exclusive(
        url: &SecretUrl,
        options: &Options,
    ) -> Result<Self, StoreError> {
        let begin = format!(
            "begin; set local lock_timeout = {}; {}",
            LOCK_TIMEOUT.as_millis(),
            postgres::LOCK_SCHEMA
        );
        let transaction = Self::begin(url, options, &begin).await?;
        postgres::check_encoding(&transaction.client).await?;
        Ok(transaction)
    }

    async fn begin(url: &SecretUrl, options: &Options, sql: &str) -> Result<Self, StoreError> {
        let client = postgres::connect(url, options).await?;
        client.batch_execute(sql).await?;
        client.batch_execute(DISABLE_TIMEOUTS).await?;
        Ok(Self { client })
    }
}

impl TableTransaction for Transaction {
    async fn scan(&self, table: &Table, on_row: RowCallback<'_>) -> Result<(), BackupError> {
        let copy = format!("copy ({}) to stdout (format binary)", table.select_sql());
        let stream = self.client.copy_out(&copy).await.map_err(StoreError::from)?;
        let mut rows = pin!(BinaryCopyOutStream::new(stream, &column_types(table)));
        while let Some(row) = rows.next().await {
            let row = row.and_then(|row| read_row(table, &row)).map_err(StoreError::from)?;
            on_row(&row)?;
        }
        Ok(())
    }

    async fn insert(&self, table: &Table, rows: &[Vec<Value>]) -> Result<(), StoreError> {
        let columns = table.column_list();
        let copy = format!("copy {} ({columns}) from stdin (format binary)", table.name);
        let sink = self.client.copy_in(&copy).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &column_types(table)));
        for row in rows {
            writer.as_mut().write_raw(row).await?;
        }
        writer.finish().await?;
        Ok(())
    }

    async fn execute_batch(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn execute_statement(&self, statement: &Statement) -> Result<(), StoreError> {
        let values: Vec<&(dyn ToSql + Sync)> =
            statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.client.execute(statement.sql, &values).await?;
        Ok(())
    }

    async fn read_integer(&self, sql: &str) -> Result<i64, StoreError> {
        Ok(self.client.query_one(sql, &[]).await?.try_get(0)?)
    }

    async fn lock(&self, schema: &Schema) -> Result<(), StoreError> {
        self.execute_batch(&format!("lock table {} in access exclusive mode", table_list(schema)))
            .await
    }

    fn migration_sql(migration: &Migration) -> &'static str {
        migration.postgres
    }

    /// Also collects statistics for the planner, and invalidates the caches of running nodes.
    async fn commit(self, schema: &Schema) -> Result<(), StoreError> {
        self.execute_batch(&format!("analyze {}", table_list(schema))).await?;
        let everything = Invalidation::Everything.to_text();
        self.client.execute("select pg_notify('belfry', $1)", &[&everything]).await?;
        self.execute_batch("commit").await
    }
}

/// Returns all table names, separated by commas.
fn table_list(schema: &Schema) -> String {
    let names: Vec<&str> = schema.all_tables.iter().map(|table| &*table.name).collect();
    names.join(", ")
}

fn column_types(table: &Table) -> Vec<Type> {
    let to_postgres_type = |kind| match kind {
        ColumnType::Text => Type::TEXT,
        ColumnType::Integer => Type::INT8,
    };
    table.columns.iter().map(|column| to_postgres_type(column.kind)).collect()
}

fn read_row(table: &Table, row: &BinaryCopyOutRow) -> Result<Vec<Value>, tokio_postgres::Error> {
    let read_value = |(index, kind)| match kind {
        ColumnType::Text => row.try_get::<Option<&str>>(index).map(Value::from),
        ColumnType::Integer => row.try_get::<Option<i64>>(index).map(Value::from),
    };
    table.columns.iter().map(|column| column.kind).enumerate().map(read_value).collect()
}
