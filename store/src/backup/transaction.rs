//! Interface for transactions that read or write whole tables.

use super::BackupError;
use super::schema::{Schema, Table};
use crate::engine::migrations::Migration;
use crate::engine::{Statement, Value};
use crate::error::StoreError;

pub(super) type RowCallback<'a> = &'a mut dyn FnMut(&[Value]) -> Result<(), BackupError>;

pub(super) const SELECT_SCHEMA_VERSION: &str = "select coalesce(max(number), 0) from migrations";

/// A transaction in one of the engines, rolled back when it is dropped.
pub(super) trait TableTransaction {
    /// Passes every row of a table to `on_row`, in any order.
    async fn scan(&self, table: &Table, on_row: RowCallback<'_>) -> Result<(), BackupError>;

    /// Inserts rows with one value per column, in the order of `table.columns`.
    async fn insert(&self, table: &Table, rows: &[Vec<Value>]) -> Result<(), StoreError>;

    /// Executes statements without parameters.
    async fn execute_batch(&self, sql: &str) -> Result<(), StoreError>;

    async fn execute_statement(&self, statement: &Statement) -> Result<(), StoreError>;

    /// Runs a query that returns one integer.
    async fn read_integer(&self, sql: &str) -> Result<i64, StoreError>;

    /// Locks the tables against all other transactions. Does nothing on SQLite, where the
    /// transaction has already locked the whole file.
    async fn lock(&self, schema: &Schema) -> Result<(), StoreError>;

    /// Returns a migration's statements for this engine.
    fn migration_sql(migration: &Migration) -> &'static str;

    /// Commits. On return, the rows are durable and visible to other connections.
    async fn commit(self, schema: &Schema) -> Result<(), StoreError>;
}
