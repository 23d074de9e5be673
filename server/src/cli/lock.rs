//! The lock of the data directory of SQLite.

use std::fs::{File, TryLockError};
use std::io;

use super::CliError;
use crate::store::{Database, create_private_directory, must_be_writable};

/// Locks the data directory of SQLite: two servers on one file would not notice each other's
/// writes at once, and a restore replaces everything. Other commands do not need the lock.
pub(super) fn lock(database: &Database) -> Result<Option<File>, CliError> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let lock = path.with_extension("lock");
    let failed = |error: io::Error| {
        format!(
            "cannot open the database {}: cannot lock {}: {error}; {}",
            path.display(),
            lock.display(),
            must_be_writable()
        )
    };
    if let Some(directory) = path.parent() {
        create_private_directory(directory).map_err(failed)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(&lock);
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(format!(
            "another belfry is serving this data: {} is locked; stop it, choose another --data, \
             or use PostgreSQL for several nodes",
            lock.display()
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(failed(error).into()),
    }
}
