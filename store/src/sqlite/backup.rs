//! Connections of backups and restores.

use std::path::Path;

use rusqlite::Connection;

use super::open::{create_private_directory, open_reader, open_writer};
use super::{describe, open_error, wal};
use crate::StoreError;

/// Page cache size during a restore, in KiB. Without it, indexes whose keys arrive in random order
/// would be read again for each row.
const RESTORE_CACHE_KIB: i64 = 32 * 1024;

/// Opens an existing database to read it.
pub(crate) fn open_for_backup(path: &Path) -> Result<Connection, StoreError> {
    open_reader(path).map_err(|error| open_error(path, &describe(&error)))
}

/// Opens a database, creates the file and its directory if missing, to fill it in one transaction.
///
/// With a rollback journal, not a WAL: new pages are written once, because there is nothing to roll
/// them back to but the end of the file. `serve` changes it back.
pub(crate) fn open_for_restore(path: &Path) -> Result<Connection, StoreError> {
    if let Some(directory) = path.parent() {
        create_private_directory(directory).map_err(|error| open_error(path, &error))?;
    }
    wal::check(path).map_err(|reason| open_error(path, &reason))?;
    let open = || -> rusqlite::Result<Connection> {
        let connection = open_writer(path)?;
        connection.pragma_update(None, "journal_mode", "delete")?;
        connection.pragma_update(None, "cache_size", -RESTORE_CACHE_KIB)?;
        Ok(connection)
    };
    open().map_err(|error| open_error(path, &describe(&error)))
}
