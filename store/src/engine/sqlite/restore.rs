//! Opens the database for a restore.

use std::path::Path;

use rusqlite::Connection;

use super::access::{access_error, open_error, sqlite_open_error};
use super::open::{create_private_directory, open_writer};
use super::wal;
use crate::error::StoreError;

/// Page cache size during a restore, in KiB. Without it, indexes whose keys arrive in random order
/// would be read again for each row.
const RESTORE_CACHE_KIB: i64 = 32 * 1024;

/// Opens a database to fill it in one transaction. Creates the file and its directory if missing.
///
/// The database has a rollback journal instead of a WAL, so new pages are written only once: to
/// roll them back, SQLite truncates the file. `serve` changes it back to a WAL.
pub(crate) fn open_for_restore(path: &Path) -> Result<Connection, StoreError> {
    if let Some(directory) = path.parent() {
        create_private_directory(directory)
            .map_err(|error| access_error(path, directory, &error))?;
    }
    wal::check_matches_database(path).map_err(|reason| open_error(path, &reason))?;
    let open = || -> rusqlite::Result<Connection> {
        let connection = open_writer(path)?;
        connection.pragma_update(None, "journal_mode", "delete")?;
        connection.pragma_update(None, "cache_size", -RESTORE_CACHE_KIB)?;
        Ok(connection)
    };
    open().map_err(|error| sqlite_open_error(path, &error))
}
