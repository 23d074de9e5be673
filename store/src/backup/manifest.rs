//! Backup manifest: versions, time, and the number of rows of each table.

use jiff::Timestamp;
use rusqlite::Connection;

pub(super) const FORMAT: i64 = 1;

/// The tables of the manifest. Later formats have at least these columns.
pub(super) const TABLES: &str = "
    create table backup (
        format integer not null,
        schema_version integer not null,
        belfry_version text not null,
        created_at integer not null
    );
    create table backup_tables (name text not null, rows integer not null)";

/// The description of a backup, stored in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub schema_version: i64,
    pub belfry_version: String,
    pub created_at: Timestamp,
    pub tables: Vec<TableSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    pub name: String,
    pub row_count: u64,
}

impl Manifest {
    /// Returns the number of rows in all tables.
    pub fn row_count(&self) -> u64 {
        self.tables.iter().map(|table| table.row_count).sum()
    }

    /// Returns the number of rows of a table, if the backup contains it.
    pub(super) fn row_count_of(&self, name: &str) -> Option<u64> {
        self.tables.iter().find(|table| table.name == name).map(|table| table.row_count)
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insert = connection.prepare("insert into backup_tables values (?, ?)")?;
        for table in &self.tables {
            let rows = i64::try_from(table.row_count).unwrap_or(i64::MAX);
            insert.execute((&table.name, rows))?;
        }
        let values =
            (FORMAT, self.schema_version, &self.belfry_version, self.created_at.as_second());
        connection.execute("insert into backup values (?, ?, ?, ?)", values).map(drop)
    }

    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut select = connection.prepare("select name, rows from backup_tables limit 1000")?;
        let tables = select
            .query_map([], |row| {
                let row_count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
                Ok(TableSummary { name: row.get(0)?, row_count })
            })?
            .collect::<Result<_, _>>()?;
        let select = "select schema_version, belfry_version, created_at from backup";
        connection.query_row(select, [], |row| {
            Ok(Self {
                schema_version: row.get(0)?,
                belfry_version: row.get(1)?,
                created_at: Timestamp::from_second(row.get(2)?).unwrap_or_default(),
                tables,
            })
        })
    }
}
