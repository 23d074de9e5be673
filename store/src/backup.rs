//! Backups: a consistent copy of all rows in one file, from either engine, which can be restored
//! into an empty database of either engine.
//!
//! A backup is a SQLite database with the rows of one transaction and a manifest. It has plain
//! tables without indexes, so that both engines write it row by row. A file with its SHA-256 digest
//! is written next to it. A restore is one transaction: create the schema of the backup's version,
//! load the rows, count them, migrate, commit.
//!
//! SQLite is read and written on the calling thread, so these functions block it.

mod export;
mod file;
mod manifest;
mod new_file;
mod postgres;
mod restore;
mod schema;
mod sqlite;
mod transaction;

use std::path::{Path, PathBuf};

use belfry_core::audit::NewAuditEvent;
use jiff::Timestamp;

pub use self::file::Backup;
pub use self::manifest::{Manifest, TableSummary};
pub use self::new_file::ExistingFile;
pub use self::restore::RestoredTokens;
use crate::engine::database::Database;
use crate::engine::options::Options;
use crate::error::StoreError;

/// The reason why a backup or restore failed and changed nothing. `version` is the version of the
/// binary that wrote the file; `database` is a path, or a URL without its password.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{0} exists; choose a different name, or overwrite it with --force")]
    Exists(PathBuf),
    /// The backup file exists and is a directory, a link, a device or a pipe.
    #[error("{0} exists and is not a file; choose a different name")]
    NotAFile(PathBuf),
    #[error("{0} is the database itself; choose a different name")]
    IsDatabase(PathBuf),
    #[error("cannot write {file}: {reason}")]
    Write { file: PathBuf, reason: String },
    #[error("cannot read {file}: {reason}")]
    Read { file: PathBuf, reason: String },
    #[error("{0} was not written by belfry backup")]
    NotABackup(PathBuf),
    #[error("{file} is damaged or incomplete: {reason}; use a different backup")]
    Damaged { file: PathBuf, reason: String },
    /// The backup was written by a newer version.
    #[error(
        "{file} has {what} {found}, this belfry supports {known}: restore it with the belfry \
         {version} that wrote it, or a newer one"
    )]
    Newer { file: PathBuf, what: &'static str, found: i64, known: i64, version: String },
    /// The backup was written by a pre-release, which had different tables.
    #[error(
        "{file} was written by a pre-release of belfry ({version}, schema version {found}) and \
         cannot be restored: restore it with the belfry that wrote it, and export what you need"
    )]
    PreRelease { file: PathBuf, found: i64, version: String },
    #[error(
        "the database {database} is not empty, its table {table} has rows; restore into a new one: \
         choose a different --data or --database, or move the old database away"
    )]
    NotEmpty { database: String, table: String },
    #[error(
        "the database {database} has not stored all rows of table {table}; nothing was restored"
    )]
    MissingRows { database: String, table: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a snapshot of all rows to a file, without blocking other transactions. The schema must be
/// that of this version.
pub async fn create_backup(
    database: &Database,
    options: &Options,
    file: &Path,
    existing_file: ExistingFile,
    now: Timestamp,
) -> Result<Manifest, BackupError> {
    let backup_options = export::BackupOptions { database, file, existing_file, now };
    backup_options.check_file()?;
    match database {
        Database::Sqlite(path) => {
            export::write_backup(sqlite::Transaction::begin_read(path)?, &backup_options).await
        }
        Database::Postgres(url) => {
            let transaction = postgres::Transaction::begin_read(url, options).await?;
            export::write_backup(transaction, &backup_options).await
        }
    }
}

/// Loads a backup into an empty database, all or nothing, with an audit event. No server may use a
/// SQLite database meanwhile.
pub async fn restore_backup(
    backup: &Backup,
    database: &Database,
    options: &Options,
    tokens: RestoredTokens,
    event: &NewAuditEvent,
) -> Result<(), BackupError> {
    let restore = restore::Restore { backup, database: database.location(), tokens, event };
    match database {
        Database::Sqlite(path) => restore.run(sqlite::Transaction::begin_exclusive(path)?).await,
        Database::Postgres(url) => {
            let transaction = postgres::Transaction::begin_exclusive(url, options).await?;
            restore.run(transaction).await
        }
    }
}
