//! Owners and modes of files, and the free disk space.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
    let before = report.failures();
    let mut has_warned = false;
    for path in config.secret_files() {
        if mode(&path).is_some_and(|mode| mode & 0o002 != 0) {
            let problem = format!("every user can change {}", path.display());
            report.fail("files", problem, format!("chmod o-w {}", path.display()));
        }
    }
    let files = database_files(config);
    if let Some((directory, _)) = files.first() {
        let shown = directory.display();
        for (path, file) in &files {
            let (path, mode) = (path.display(), file.mode());
            if mode & 0o002 != 0 {
                report.fail(
                    "files",
                    format!("every user can change {path}"),
                    format!("chmod o-rwx {path}"),
                );
            } else if mode & 0o004 != 0 {
                has_warned = true;
                let problem = format!("every user can read {path}, which has password hashes");
                report.warn("files", problem, format!("chmod o-rwx {path}"));
            }
        }
        if let [(_, first), rest @ ..] = &*files
            && let Some((path, _)) = rest.iter().find(|(_, file)| file.uid() != first.uid())
        {
            report.fail(
                "files",
                format!("{} belongs to another user than {shown}", path.display()),
                format!("chown -R the user that runs the server, as in chown -R belfry {shown}"),
            );
        }
    }
    if report.failures() == before && !has_warned {
        report.ok("files", "nobody else can change the data and the files with secrets");
    }
}

/// The data directory and the files of the database that exist; none with PostgreSQL.
fn database_files(config: &Config) -> Vec<(PathBuf, Metadata)> {
    let Database::Sqlite(path) = config.database() else { return Vec::new() };
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let paths = [config.data.clone(), path.clone(), beside("-wal"), beside("-shm")];
    let found = paths.into_iter().filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?)));
    found.collect()
}

fn mode(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|file| file.mode())
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
    let shown = format!("{} free for {}", megabytes(free), config.data.display());
    match free {
        ..MIN_FREE => report.fail("disk", shown, "free some space: writes will fail"),
        _ if free < LOW_FREE.max(database) => {
            report.warn("disk", shown, "free some space: a backup would not fit");
        }
        _ => report.ok("disk", shown),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}
