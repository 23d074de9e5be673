//! Opening a database file: its directory, its connections and its schema.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use belfry_runtime::file_access::check_writable;
use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::access::{open_error, sqlite_open_error, with_suffix};
use super::wal::{self, Wal};
use crate::engine::migrations::{self, MIGRATIONS, Migration, SchemaVersion};
use crate::engine::options::Options;
use crate::error::StoreError;

/// Creates the data directory, unless it exists, with mode 0700: it contains e-mail addresses and
/// password hashes.
pub fn create_private_directory(directory: &Path) -> std::io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).recursive(true).create(directory)
}

/// Creates the file, unless it exists, with mode 0600 before SQLite does; the WAL gets the same
/// mode.
fn create_private_file(path: &Path) {
    // Errors are ignored: the file may exist, and SQLite reports all other problems better.
    drop(fs::OpenOptions::new().mode(0o600).write(true).create_new(true).open(path));
}

/// Opens a connection that can write. Creates the file if it is missing.
pub(super) fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    create_private_file(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(wal::BUSY_TIMEOUT)?;
    // Takes effect before the first table is created.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // Overwrites deleted content, such as push keys, where this needs no further page.
    connection.pragma_update(None, "secure_delete", "fast")?;
    connection.pragma_update(None, "journal_size_limit", wal::TRUNCATE_ABOVE_BYTES)?;
    // FULL, not NORMAL: an acknowledged write must survive a power failure.
    connection.pragma_update(None, "synchronous", "full")?;
    keep_prepared_statements(&connection)?;
    Ok(connection)
}

/// Opens a connection that only reads. To read a database in WAL mode, SQLite must be able to write
/// the `-shm` file.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(wal::BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    keep_prepared_statements(&connection)?;
    Ok(connection)
}

/// Caches prepared statements. Without the query planner stability guarantee, SQLite would prepare
/// a statement again whenever the value of a parameter decides whether a partial index can be used.
fn keep_prepared_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

pub(crate) struct ExistingDatabase {
    pub(crate) connection: Connection,
    pub(crate) version: SchemaVersion,
    /// The state of the files when they were opened, if they are read without locks.
    pub(crate) unlocked_state: Option<FileState>,
}

/// Sizes and times of a database file and its WAL, which change when another process writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileState([Option<(u64, SystemTime)>; 2]);

impl FileState {
    pub(crate) fn read(database: &Path) -> Self {
        Self([database, &with_suffix(database, "-wal")].map(|path| {
            let file = path.metadata().ok()?;
            Some((file.len(), file.modified().ok()?))
        }))
    }
}

/// Opens an existing file for reading, and reads its schema version.
pub(crate) fn open_existing(path: &Path) -> Result<ExistingDatabase, StoreError> {
    wal::check_matches_database(path).map_err(|reason| open_error(path, &reason))?;
    let to_error = |error: rusqlite::Error| sqlite_open_error(path, &error);
    let is_in_use = || ["-shm", "-journal"].iter().any(|suffix| with_suffix(path, suffix).exists());
    // Requires write access to the file: otherwise SQLite would create a `-shm` file that belongs
    // to this user, and the owner of the database could not write it.
    if is_in_use() || check_writable(path).is_ok() {
        let connection = open_reader(path).map_err(to_error)?;
        let error = match schema_version(&connection) {
            Ok(version) => {
                return Ok(ExistingDatabase { connection, version, unlocked_state: None });
            }
            Err(error) => error,
        };
        let is_read_only =
            matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
        if !is_read_only || is_in_use() {
            return Err(to_error(error));
        }
    }
    // Without write access to the directory, or on a read-only file system, SQLite cannot create
    // the `-shm` file, through which processes share the WAL. If that file does not exist, no
    // process has the database open, so the database can be read without it. With the journal of an
    // interrupted restore, the database counts as in use.
    let unlocked_state = Some(FileState::read(path));
    let open =
        if Wal::new(path).bytes() == 0 { wal::open_ignoring_wal } else { wal::open_unshared };
    let connection = open(path).map_err(to_error)?;
    let version = schema_version(&connection).map_err(to_error)?;
    Ok(ExistingDatabase { connection, version, unlocked_state })
}

/// Reads a database's schema version; [`SchemaVersion::NONE`] if it has no schema.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<SchemaVersion> {
    let table_exists = "select exists (select 1 from sqlite_schema where name = 'migrations')";
    if !connection.query_row(table_exists, [], |row| row.get(0))? {
        return Ok(SchemaVersion::NONE);
    }
    let newest_version = connection.query_row(migrations::SELECT_NEWEST, [], |row| {
        let number = row.get(0)?;
        Ok(SchemaVersion { number, compatible_from: row.get(2).unwrap_or(number) })
    });
    Ok(newest_version.optional()?.unwrap_or(SchemaVersion::NONE))
}

/// Applies the pending migrations in one transaction. The transaction also serves as a lock: a
/// second process that starts concurrently waits and then finds nothing to do.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    options: &Options,
    now: Timestamp,
) -> Result<(), StoreError> {
    let to_error = |error: rusqlite::Error| sqlite_open_error(path, &error);
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(to_error)?;
    transaction.execute_batch(migrations::CREATE_TABLE).map_err(to_error)?;
    let version = schema_version(&transaction).map_err(to_error)?;
    let pending = MIGRATIONS.pending(options.schema, &path.display().to_string(), version)?;
    for Migration { number, compatible_from, sqlite, .. } in pending {
        transaction.execute_batch(sqlite).map_err(to_error)?;
        transaction
            .execute(migrations::INSERT_MIGRATION, (number, now.as_second(), compatible_from))
            .map_err(to_error)?;
    }
    transaction.commit().map_err(to_error)
}
