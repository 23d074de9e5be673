//! The tables and columns of a schema version, as its migrations create them.

use rusqlite::Connection;

use crate::engine::migrations::MIGRATIONS;
use crate::error::StoreError;

/// Tables that a backup does not contain. `locks`: rows without content. `requests` and
/// `sign_ins`: expire within an hour. `sweeps`: the sweep time came from another host's clock.
/// `deliveries`, `lanes` and `messages`: old messages must not be sent after a restore.
/// `delivery_totals`: counts deliveries.
const VOLATILE_TABLES: [&str; 8] = [
    "deliveries",
    "delivery_totals",
    "lanes",
    "locks",
    "messages",
    "requests",
    "sign_ins",
    "sweeps",
];

/// A schema version. Its tables are read from the migrations, so a new table or column is part of
/// backups without being listed anywhere.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) version: i64,
    pub(super) all_tables: Vec<Table>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    Text,
    Integer,
}

impl Schema {
    /// Applies the migrations up to a version to an empty database in memory, and reads its tables.
    pub(super) fn from_migrations(version: i64) -> Result<Self, StoreError> {
        read_tables(version)
            .map(|all_tables| Self { version, all_tables })
            .map_err(|error| StoreError::Failed(format!("schema version {version}: {error}")))
    }

    pub(super) fn backup_tables(&self) -> impl Iterator<Item = &Table> {
        self.all_tables.iter().filter(|table| !VOLATILE_TABLES.contains(&&*table.name))
    }
}

impl Table {
    /// Returns the column names, separated by commas.
    pub(super) fn column_list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        names.join(", ")
    }

    /// Returns the statement that reads all rows, in any order.
    pub(super) fn select_sql(&self) -> String {
        format!("select {} from {}", self.column_list(), self.name)
    }

    /// Returns the SQLite statement that inserts a row.
    pub(super) fn insert_sql(&self) -> String {
        let parameters = vec!["?"; self.columns.len()].join(", ");
        format!("insert into {} ({}) values ({parameters})", self.name, self.column_list())
    }
}

fn read_tables(version: i64) -> rusqlite::Result<Vec<Table>> {
    let connection = Connection::open_in_memory()?;
    for migration in MIGRATIONS.split(version).0 {
        connection.execute_batch(migration.sqlite)?;
    }
    let mut select_columns = connection.prepare(
        "select s.name, c.name, c.type from sqlite_schema s join pragma_table_info(s.name) c \
         where s.type = 'table' order by s.rowid, c.cid",
    )?;
    let mut rows = select_columns.query([])?;
    let mut tables: Vec<Table> = Vec::new();
    while let Some(row) = rows.next()? {
        let table_name: String = row.get(0)?;
        let kind = if row.get::<_, String>(2)?.eq_ignore_ascii_case("text") {
            ColumnType::Text
        } else {
            ColumnType::Integer
        };
        let column = Column { name: row.get(1)?, kind };
        match tables.last_mut() {
            Some(last) if last.name == table_name => last.columns.push(column),
            _ => tables.push(Table { name: table_name, columns: vec![column] }),
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test fails for a new table, so that its author decides whether to back it up.
    #[test]
    fn every_table_is_backed_up_or_volatile() {
        let schema = Schema::from_migrations(MIGRATIONS.newest()).unwrap();
        let mut table_names: Vec<&str> = schema.backup_tables().map(|table| &*table.name).collect();
        table_names.sort_unstable();
        let expected = [
            "accounts",
            "apps",
            "audit_events",
            "codes",
            "deleted_owners",
            "grants",
            "receivers",
            "reserved_names",
            "rulesets",
            "sessions",
            "signing_keys",
            "tokens",
        ];
        assert_eq!(table_names, expected);
        assert_eq!(schema.all_tables.len(), expected.len() + VOLATILE_TABLES.len());
    }
}
