//! Owners and modes of files, and the free disk space.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use belfry_store::Database;
use rustix::fs::statvfs;

use super::report::Report;
use crate::config::Config;

/// Free bytes below which writes will fail soon: the WAL may grow to 16 MiB and more.
const MIN_FREE: u64 = 64 * 1024 * 1024;
/// Free bytes below which the operator is warned.
const LOW_FREE: u64 = 1024 * 1024 * 1024;

/// Checks who else can read or change the data and the files with secrets.
pub(super) fn check_modes(config: &Config, report: &mut Report) {
    let mut is_sound = true;
    let data = existing(database_files(config));
    let secrets = existing(config.secret_files());
    for (path, file) in secrets.iter().chain(&data) {
        let (shown, fix) = (path.display(), format!("chmod o-rwx {}", path.display()));
        if file.mode() & 0o002 != 0 {
            is_sound = false;
            report.fail("files", format!("every user can change {shown}"), fix);
        } else if file.mode() & 0o004 != 0 && data.iter().any(|(data, _)| data == path) {
            is_sound = false;
            let problem = format!("every user can read {shown}, which has password hashes");
            report.warn("files", problem, fix);
        }
    }
    if let [(directory, first), rest @ ..] = &*data
        && let Some((path, _)) = rest.iter().find(|(_, file)| file.uid() != first.uid())
    {
        is_sound = false;
        let (path, directory) = (path.display(), directory.display());
        report.fail(
            "files",
            format!("{path} belongs to another user than {directory}"),
            format!("chown -R the user that runs the server, as in chown -R belfry {directory}"),
        );
    }
    if is_sound {
        report.ok("files", "nobody else can change the data and the files with secrets");
    }
}

/// The data directory and the files of the database; none with PostgreSQL.
fn database_files(config: &Config) -> Vec<PathBuf> {
    let Database::Sqlite(path) = config.database() else { return Vec::new() };
    let extensions = ["db", "db-wal", "db-shm"].map(|extension| path.with_extension(extension));
    [config.data.clone()].into_iter().chain(extensions).collect()
}

fn existing(paths: Vec<PathBuf>) -> Vec<(PathBuf, Metadata)> {
    paths.into_iter().filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?))).collect()
}

/// Checks the space that is left for a SQLite database.
pub(super) fn check_disk_space(config: &Config, report: &mut Report) {
    let Database::Sqlite(path) = config.database() else {
        return report.skip("disk", "the data is in PostgreSQL; watch its disk there");
    };
    // The directory may not exist yet.
    let absolute = std::path::absolute(&config.data).unwrap_or(config.data.clone());
    let free = absolute.ancestors().find_map(|directory| statvfs(directory).ok());
    let Some(free) = free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)) else {
        return report.warn("disk", "the free space cannot be determined", "");
    };
    let database = fs::metadata(path).map_or(0, |file| file.len());
    let shown = format!("{} MB free for {}", free / 1_000_000, config.data.display());
    match free {
        ..MIN_FREE => report.fail("disk", shown, "free some space: writes will fail"),
        _ if free < LOW_FREE.max(database) => {
            report.warn("disk", shown, "free some space: a backup would not fit");
        }
        _ => report.ok("disk", shown),
    }
}
