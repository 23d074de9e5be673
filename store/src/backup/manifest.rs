//! Backup manifest: versions, time, and the checksum of each table.

use jiff::Timestamp;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

/// The version of the backup format.
pub(super) const FORMAT: i64 = 1;

/// The tables of the manifest. Later formats have at least these columns.
pub(super) const TABLES: &str = "\
    create table backup (format integer not null, schema_version integer not null, \
    belfry_version text not null, created_at integer not null, checksum text not null); \
    create table backup_tables (name text not null, rows integer not null, \
    checksum text not null)";

/// The description of a backup, stored in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The schema version of its rows.
    pub schema_version: i64,
    /// The version of the binary that wrote it.
    pub belfry_version: String,
    /// The creation time.
    pub created_at: Timestamp,
    /// Name, row count and checksum of each table.
    pub tables: Vec<TableSummary>,
}

/// One table of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    /// The name in the schema.
    pub name: String,
    /// Number of its rows.
    pub row_count: u64,
    /// The checksum of its rows.
    pub checksum: String,
}

impl Manifest {
    /// Returns the number of rows in all tables.
    pub fn row_count(&self) -> u64 {
        self.tables.iter().map(|table| table.row_count).sum()
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insert = connection.prepare("insert into backup_tables values (?, ?, ?)")?;
        for table in &self.tables {
            let rows = i64::try_from(table.row_count).unwrap_or(i64::MAX);
            insert.execute((&table.name, rows, &table.checksum))?;
        }
        let time = self.created_at.as_second();
        let values = (FORMAT, self.schema_version, &self.belfry_version, time, self.checksum());
        connection.execute("insert into backup values (?, ?, ?, ?, ?)", values).map(drop)
    }

    /// Reads the manifest, and the checksum that was stored with it.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<(Self, String)> {
        let mut select =
            connection.prepare("select name, rows, checksum from backup_tables limit 1000")?;
        let tables = select
            .query_map([], |row| {
                let row_count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
                Ok(TableSummary { name: row.get(0)?, row_count, checksum: row.get(2)? })
            })?
            .collect::<Result<_, _>>()?;
        let select = "select schema_version, belfry_version, created_at, checksum from backup";
        connection.query_row(select, [], |row| {
            let manifest = Self {
                schema_version: row.get(0)?,
                belfry_version: row.get(1)?,
                created_at: Timestamp::from_second(row.get(2)?).unwrap_or_default(),
                tables,
            };
            Ok((manifest, row.get(3)?))
        })
    }

    /// Returns the SHA-256 digest of the manifest, which contains the checksums of all rows.
    pub(super) fn checksum(&self) -> String {
        let mut tables: Vec<String> = self
            .tables
            .iter()
            .map(|table| format!("{} {} {}\n", table.name, table.row_count, table.checksum))
            .collect();
        tables.sort();
        let text = format!(
            "{FORMAT} {} {} {}\n{}",
            self.schema_version,
            self.belfry_version,
            self.created_at.as_second(),
            tables.concat()
        );
        Sha256::digest(text).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }
}
