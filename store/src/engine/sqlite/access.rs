//! Errors about files that this process may not read or write.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use belfry_runtime::file_access::{check_readable, check_writable, describe_file_error};
use rusqlite::ErrorCode;

use crate::error::StoreError;

/// Free bytes below which a disk counts as full. SQLite extends the `-shm` file by 32 KiB.
const MIN_FREE_BYTES: u64 = 64 * 1024;

/// Returns whether there is a database file.
///
/// # Errors
/// If this process may not search its directory.
pub(crate) fn database_exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|error| access_error(path, path, &error))
}

pub(super) fn open_error(path: &Path, reason: &dyn Display) -> StoreError {
    StoreError::Open { database: path.display().to_string(), reason: reason.to_string() }
}

/// Returns the error for a database that cannot be opened because of a file or directory.
pub(super) fn access_error(database: &Path, file: &Path, error: &io::Error) -> StoreError {
    let reason = describe_file_error(file, error);
    StoreError::Inaccessible { database: database.display().to_string(), reason }
}

/// Returns the error for a database that SQLite cannot open.
pub(super) fn sqlite_open_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    if let Some((file, cause)) = find_inaccessible_file(path, error) {
        return access_error(path, &file, &cause);
    }
    let database = path.display().to_string();
    let reason = describe_error(path, error);
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged { database, reason }
        }
        _ => StoreError::Open { database, reason },
    }
}

/// Describes a database error, with advice for the operator.
pub(crate) fn describe_error(database: &Path, error: &rusqlite::Error) -> String {
    if let Some((file, cause)) = find_inaccessible_file(database, error) {
        return describe_file_error(&file, &cause);
    }
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full; free some space",
        // SQLite cannot extend the `-shm` file.
        Some(ErrorCode::SystemIoFailure) if is_disk_full(database) => {
            "the disk is full; free some space"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "the disk or file system failed; its log may say why (dmesg)"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process has locked the database"
        }
        Some(ErrorCode::NotADatabase) => "the file is not a SQLite database",
        _ => return error.to_string(),
    };
    format!("{error}; {advice}")
}

fn is_disk_full(database: &Path) -> bool {
    rustix::fs::statvfs(database).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES)
}

/// Returns the database file or directory that this process may not read or write, if SQLite failed
/// for that reason. SQLite's error does not say so.
fn find_inaccessible_file(
    database: &Path,
    error: &rusqlite::Error,
) -> Option<(PathBuf, io::Error)> {
    let code = error.sqlite_error_code()?;
    if !matches!(code, ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) {
        return None;
    }
    let mut paths = ["", "-wal", "-shm"].map(|suffix| with_suffix(database, suffix)).to_vec();
    paths.retain(|path| path.exists());
    let unreadable_path = paths.iter().find_map(|path| Some((path, check_readable(path).err()?)));
    let directory = std::path::absolute(database).ok()?.parent()?.to_owned();
    let mut required_paths = paths.iter().chain([&directory]);
    let problem = unreadable_path
        .or_else(|| required_paths.find_map(|path| Some((path, check_writable(path).err()?))));
    problem.map(|(path, cause)| (path.clone(), cause))
}

/// Returns the path of a file next to a database, such as its `-wal`.
pub(super) fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
