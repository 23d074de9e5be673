//! Writes a backup: reads all tables in one transaction and copies them to a new file.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::params_from_iter;

use super::BackupError;
use super::manifest::{Manifest, TableSummary};
use super::new_file::{ExistingFile, NewBackupFile};
use super::schema::Schema;
use super::transaction::{SELECT_SCHEMA_VERSION, TableTransaction};
use crate::engine::database::Database;
use crate::engine::migrations::{MIGRATIONS, SchemaPolicy, SchemaVersion};

pub(super) struct BackupOptions<'a> {
    pub(super) database: &'a Database,
    pub(super) file: &'a Path,
    pub(super) existing_file: ExistingFile,
    pub(super) now: Timestamp,
}

impl BackupOptions<'_> {
    /// Checks that the file may be written, before anything is read.
    pub(super) fn check_file(&self) -> Result<(), BackupError> {
        if let Database::Sqlite(path) = self.database
            && let (Ok(file), Ok(database)) = (self.file.canonicalize(), path.canonicalize())
            && file == database
        {
            return Err(BackupError::IsDatabase(self.file.to_owned()));
        }
        if let Ok(metadata) = self.file.symlink_metadata() {
            if !metadata.is_file() {
                return Err(BackupError::NotAFile(self.file.to_owned()));
            }
            if self.existing_file == ExistingFile::Reject {
                return Err(BackupError::Exists(self.file.to_owned()));
            }
        }
        Ok(())
    }
}

/// Copies all tables to the backup file, reading them in one transaction.
pub(super) async fn write_backup<T: TableTransaction>(
    source: T,
    options: &BackupOptions<'_>,
) -> Result<Manifest, BackupError> {
    let version = source.read_integer(SELECT_SCHEMA_VERSION).await?;
    // Another process may have migrated the database since it was opened. A newer schema may be
    // compatible, but has tables or columns that would be missing in the backup.
    let schema_version = SchemaVersion::exact(version);
    let database = options.database.location();
    MIGRATIONS.pending(SchemaPolicy::Require, &database, schema_version)?;
    let schema = Schema::from_migrations(version)?;
    let new_file = NewBackupFile::create(options.file, &schema)?;
    let mut tables = Vec::new();
    for table in schema.backup_tables() {
        let write_error = |error: rusqlite::Error| new_file.write_error(&error);
        let mut insert = new_file.connection.prepare(&table.insert_sql()).map_err(write_error)?;
        let mut row_count = 0;
        let mut copy_row = |row: &[_]| {
            row_count += 1;
            insert.execute(params_from_iter(row)).map(drop).map_err(write_error)
        };
        source.scan(table, &mut copy_row).await?;
        tables.push(TableSummary { name: table.name.clone(), row_count });
    }
    // Ends the transaction before the file is synced.
    drop(source);
    let manifest = Manifest {
        schema_version: version,
        belfry_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: options.now,
        tables,
    };
    new_file.finish(&manifest, options.existing_file)?;
    Ok(manifest)
}
