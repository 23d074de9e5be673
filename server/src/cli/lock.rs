//! The SQLite data directory: its owner and its lock.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use belfry_runtime::file_access::{describe_file_error, reject_root_in_directory_of_other_user};
use belfry_store::{Database, create_private_directory};

use super::CliError;

/// Checks that a command does not create a database as root in the directory of another user,
/// whose server could not read it.
pub(super) fn check_owner(database: &Database) -> Result<(), CliError> {
    let Database::Sqlite(path) = database else { return Ok(()) };
    let Some(directory) = path.parent().filter(|_| !path.exists()) else { return Ok(()) };
    let describe_error =
        |reason| format!("cannot create the database {}: {reason}", path.display());
    Ok(reject_root_in_directory_of_other_user(directory).map_err(describe_error)?)
}

/// Creates the SQLite data directory if it is missing, and locks it. Two servers on one file would
/// not detect each other's writes immediately, and a restore replaces everything. Other commands do
/// not need the lock. Returns `None` for PostgreSQL.
pub(super) fn lock_data(database: &Database) -> Result<Option<File>, CliError> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let lock_file = path.with_extension("lock");
    let describe_error = |task: &str, target: &Path, error: io::Error| {
        let reason = describe_file_error(target, &error);
        let path = path.display();
        let target = target.display();
        format!("cannot open the database {path}: cannot {task} {target}: {reason}")
    };
    if let Some(directory) = path.parent() {
        create_private_directory(directory)
            .map_err(|error| describe_error("create the directory", directory, error))?;
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock_file)
        .map_err(|error| describe_error("lock", &lock_file, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(format!(
            "another belfry is serving this data: {} is locked; stop it, choose a different --data, \
             or use PostgreSQL for several nodes",
            lock_file.display()
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(describe_error("lock", &lock_file, error).into()),
    }
}
