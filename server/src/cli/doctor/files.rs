//! Owners and modes of files, and the free disk space.

use std::fs;

use belfry_store::Database;
use rustix::fs::statvfs;

use super::report::Report;
use crate::config::{Config, Exposure, UnsafeFile};

/// Free bytes below which writes will fail soon, because the WAL may grow to 16 MiB and more.
const MIN_FREE_BYTES: u64 = 64 * 1024 * 1024;
/// The operator is warned if less than this, or less than the size of the database, is free.
const LOW_FREE_BYTES: u64 = 1024 * 1024 * 1024;

/// Checks that this process can read the data and the files with secrets, and that other users
/// cannot read or change them.
pub(super) fn check_modes(config: &Config, report: &mut Report) {
    let unsafe_files = config.unsafe_files();
    let unreadable_files = config.unreadable_files();
    if unsafe_files.is_empty() && unreadable_files.is_empty() {
        report.ok("files", "no other user can change the data or the files with secrets");
    }
    for problem in unreadable_files {
        report.fail("files", problem, "");
    }
    for UnsafeFile { problem, fix, exposure } in unsafe_files {
        match exposure {
            Exposure::Readable => report.warn("files", problem, fix),
            Exposure::Changeable => report.fail("files", problem, fix),
        }
    }
}

/// Checks the free disk space for a SQLite database.
pub(super) fn check_disk_space(config: &Config, report: &mut Report) {
    let Database::Sqlite(path) = config.database() else {
        return report.skip("disk", "the data is in PostgreSQL; watch its disk there");
    };
    // The directory may not exist yet.
    let data_directory = std::path::absolute(&config.data).unwrap_or(config.data.clone());
    let disk = data_directory.ancestors().find_map(|directory| statvfs(directory).ok());
    let Some(free_bytes) = disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)) else {
        return report.warn("disk", "the free space cannot be determined", "");
    };
    let database_bytes = fs::metadata(path).map_or(0, |file| file.len());
    let message = format!("{} MB free for {}", free_bytes / 1_000_000, config.data.display());
    match free_bytes {
        ..MIN_FREE_BYTES => report.fail("disk", message, "free some space: writes will fail"),
        _ if free_bytes < LOW_FREE_BYTES.max(database_bytes) => {
            report.warn("disk", message, "free some space: a backup may not fit");
        }
        _ => report.ok("disk", message),
    }
}
