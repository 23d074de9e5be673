//! Checks of file modes and owners: whether other users can read or change the data and the files
//! with secrets.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use belfry_store::Database;

use super::Config;

#[derive(Debug)]
pub struct UnsafeFile {
    pub problem: String,
    pub fix: String,
    /// The access that the mode or owner gives.
    pub exposure: Exposure,
}

/// The access that an unsafe mode or owner gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Every user can read the file.
    Readable,
    /// Every user can change the file, or its owner differs from the owner of the data directory.
    Changeable,
}

impl Config {
    /// Returns the unsafe files among the data and the files with secrets. Of the data files
    /// whose owner is not that of the data directory, only the first is returned. Files with
    /// secrets that every user can read are reported by `setting_warnings` instead.
    pub fn unsafe_files(&self) -> Vec<UnsafeFile> {
        let mut problems = Vec::new();
        let data_files = find_existing(self.data_files());
        let secret_files = find_existing(self.secret_files());
        for (path, file) in secret_files.iter().chain(&data_files) {
            let name = path.display();
            let fix = format!("chmod o-rwx {}", path.display());
            if file.mode() & 0o002 != 0 {
                let problem = format!("every user can change {name}");
                problems.push(UnsafeFile { problem, fix, exposure: Exposure::Changeable });
            } else if file.mode() & 0o004 != 0
                && file.is_file()
                // This file contains only an index of the WAL.
                && path.extension() != Some(OsStr::new("db-shm"))
                && data_files.iter().any(|(data_file, _)| data_file == path)
            {
                let problem = format!("every user can read {name}, which contains password hashes");
                problems.push(UnsafeFile { problem, fix, exposure: Exposure::Readable });
            }
        }
        if let [(directory, directory_metadata), database_files @ ..] = &*data_files
            && let Some((path, _)) =
                database_files.iter().find(|(_, file)| file.uid() != directory_metadata.uid())
        {
            let path = path.display();
            let directory = directory.display();
            let problem = format!("{path} belongs to a different user than {directory}");
            let fix = format!("chown -R USER {directory}, where USER runs the server");
            problems.push(UnsafeFile { problem, fix, exposure: Exposure::Changeable });
        }
        problems
    }

    /// Returns the data directory and the database files; none with PostgreSQL.
    fn data_files(&self) -> Vec<PathBuf> {
        let Database::Sqlite(path) = self.database() else { return Vec::new() };
        let database_files =
            ["db", "db-wal", "db-shm"].map(|extension| path.with_extension(extension));
        [self.data.clone()].into_iter().chain(database_files).collect()
    }
}

fn find_existing(paths: Vec<PathBuf>) -> Vec<(PathBuf, Metadata)> {
    paths.into_iter().filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?))).collect()
}
