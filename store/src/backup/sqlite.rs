//! Reads and writes whole tables of a SQLite database.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params_from_iter};

use super::BackupError;
use super::schema::{Schema, Table};
use super::transaction::{RowCallback, TableTransaction};
use crate::engine::migrations::Migration;
use crate::engine::sqlite::{ExistingDatabase, FileState};
use crate::engine::{Statement, Value, sqlite};
use crate::error::StoreError;

/// A transaction on its own connection, not one from the store's pool.
pub(super) struct Transaction {
    connection: Connection,
    /// The database and the state of its files, if they are read without locks.
    unlocked_files: Option<(PathBuf, FileState)>,
}

impl Transaction {
    /// Begins a read transaction, whose snapshot is taken at the first read. The server can still
    /// write; its later writes stay in the WAL until this transaction has ended.
    pub(super) fn begin_read(path: &Path) -> Result<Self, StoreError> {
        let ExistingDatabase { connection, unlocked_state, .. } = sqlite::open_existing(path)?;
        let unlocked_files = unlocked_state.map(|state| (path.to_owned(), state));
        Ok(Self { unlocked_files, ..begin_transaction(connection, "begin")? })
    }

    /// Begins a write transaction that locks the file. If the process is killed, a rollback journal
    /// remains, from which the next connection undoes the writes.
    pub(super) fn begin_exclusive(path: &Path) -> Result<Self, StoreError> {
        let connection = sqlite::open_for_restore(path)?;
        begin_transaction(connection, "begin exclusive")
    }
}

fn begin_transaction(connection: Connection, sql: &str) -> Result<Transaction, StoreError> {
    match connection.execute_batch(sql) {
        Ok(()) => Ok(Transaction { connection, unlocked_files: None }),
        Err(error) => Err(sqlite::store_error(&connection, &error)),
    }
}

impl Transaction {
    fn map_error<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| sqlite::store_error(&self.connection, &error))
    }
}

impl TableTransaction for Transaction {
    async fn scan(&self, table: &Table, on_row: RowCallback<'_>) -> Result<(), BackupError> {
        scan(&self.connection, &table.select_sql(), on_row, |error| {
            sqlite::store_error(&self.connection, &error).into()
        })?;
        match &self.unlocked_files {
            Some((path, state)) if FileState::read(path) != *state => {
                let path = path.display();
                let problem = format!("{path} changed while it was being read; try again");
                Err(StoreError::Unavailable(problem).into())
            }
            _ => Ok(()),
        }
    }

    async fn insert(&self, table: &Table, rows: &[Vec<Value>]) -> Result<(), StoreError> {
        let mut insert = self.map_error(self.connection.prepare_cached(&table.insert_sql()))?;
        for row in rows {
            self.map_error(insert.execute(params_from_iter(row)))?;
        }
        Ok(())
    }

    async fn execute_batch(&self, sql: &str) -> Result<(), StoreError> {
        self.map_error(self.connection.execute_batch(sql))
    }

    async fn execute_statement(&self, statement: &Statement) -> Result<(), StoreError> {
        self.map_error(sqlite::run_statement(&self.connection, statement)).map(drop)
    }

    async fn read_integer(&self, sql: &str) -> Result<i64, StoreError> {
        self.map_error(self.connection.query_row(sql, [], |row| row.get(0)))
    }

    /// Does nothing: a restore uses an exclusive transaction, which has locked the whole file.
    async fn lock(&self, _: &Schema) -> Result<(), StoreError> {
        Ok(())
    }

    fn migration_sql(migration: &Migration) -> &'static str {
        migration.sqlite
    }

    async fn commit(self, _: &Schema) -> Result<(), StoreError> {
        self.map_error(self.connection.execute_batch("commit"))
    }
}

/// Passes each row that a statement returns to `on_row`.
pub(super) fn scan(
    connection: &Connection,
    select: &str,
    on_row: RowCallback<'_>,
    to_error: impl Fn(rusqlite::Error) -> BackupError,
) -> Result<(), BackupError> {
    let mut select = connection.prepare(select).map_err(&to_error)?;
    let column_count = select.column_count();
    let mut rows = select.raw_query();
    let mut values = Vec::with_capacity(column_count);
    while let Some(row) = rows.next().map_err(&to_error)? {
        values.clear();
        for column in 0..column_count {
            values.push(row.get(column).map_err(&to_error)?);
        }
        on_row(&values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use jiff::Timestamp;

    use super::*;
    use crate::engine::database::Database;
    use crate::engine::migrations::MIGRATIONS;
    use crate::engine::options::Options;
    use crate::store::Store;

    #[tokio::test]
    async fn a_file_that_changes_while_it_is_read_without_locks_is_not_backed_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("belfry.db");
        let database = Database::Sqlite(path.clone());
        drop(Store::open(&database, &Options::default(), Timestamp::UNIX_EPOCH).await.unwrap());
        let connection = sqlite::open_ignoring_wal(&path).unwrap();
        let unlocked_files = Some((path.clone(), FileState::read(&path)));
        let transaction = Transaction { connection, unlocked_files };
        let schema = Schema::from_migrations(MIGRATIONS.newest()).unwrap();
        let table = schema.backup_tables().next().unwrap();
        transaction.scan(table, &mut |_| Ok(())).await.unwrap();

        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let error = transaction.scan(table, &mut |_| Ok(())).await.unwrap_err();
        assert!(
            error.to_string().ends_with("changed while it was being read; try again"),
            "{error}"
        );
    }
}
