//! Warnings about file modes and owners: whether other users can read or change the data and the
//! files with secrets.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belfry_store::{Database, SecretUrl};

use super::{Config, RegistrationSource};

impl Config {
    /// Returns warnings about the data and the files with secrets. Of the data files whose owner is
    /// not that of the data directory, only the first is reported.
    pub(super) fn file_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let data_files = find_existing(self.data_files());
        for (path, file) in find_existing(self.secret_files()) {
            let name = path.display();
            if file.mode() & 0o002 != 0 {
                warnings.push(format!("every user can change {name}; use chmod o-rwx {name}"));
            } else if is_readable_by_everyone(&path) {
                warnings.push(format!(
                    "{name} contains secrets and can be read by every user of this machine; use \
                     chmod o-r {name}"
                ));
            }
        }
        for (path, file) in &data_files {
            let name = path.display();
            // The shm file contains only an index of the WAL.
            let has_rows = file.is_file() && path.extension() != Some(OsStr::new("db-shm"));
            if file.mode() & 0o002 != 0 {
                warnings.push(format!("every user can change {name}; use chmod o-rwx {name}"));
            } else if file.mode() & 0o004 != 0 && has_rows {
                warnings.push(format!(
                    "every user can read {name}, which contains password hashes; use chmod o-rwx \
                     {name}"
                ));
            }
        }
        if let [(directory, directory_metadata), database_files @ ..] = &*data_files
            && let Some((path, _)) =
                database_files.iter().find(|(_, file)| file.uid() != directory_metadata.uid())
        {
            let directory = directory.display();
            warnings.push(format!(
                "{} belongs to a different user than {directory}; use chown -R USER {directory}, \
                 where USER runs the server",
                path.display()
            ));
        }
        warnings
    }

    /// Returns the data directory and the database files; none with PostgreSQL.
    fn data_files(&self) -> Vec<PathBuf> {
        let Database::Sqlite(path) = self.database() else { return Vec::new() };
        let database_files =
            ["db", "db-wal", "db-shm"].map(|extension| path.with_extension(extension));
        [self.data.clone()].into_iter().chain(database_files).collect()
    }

    /// Returns the files that contain passwords, tokens or keys, existing or not.
    fn secret_files(&self) -> Vec<PathBuf> {
        let registration_files =
            self.application_services.iter().filter_map(RegistrationSource::secret_file);
        let tls_key = self.tls.as_ref().map(|tls| tls.key.as_path());
        let url_files = [(&self.database, &self.database_file), (&self.redis, &self.redis_file)]
            .into_iter()
            .filter_map(|(url, file)| {
                let has_password = url.as_ref().is_some_and(SecretUrl::has_password);
                file.as_deref().filter(|_| has_password)
            });
        let client_key = self.database.as_ref().and_then(SecretUrl::client_key);
        let sealing_key = self.sealing_key_path();
        let files =
            self.file_with_secrets.as_deref().into_iter().chain(tls_key).chain(registration_files);
        let files = files.chain(url_files).chain(client_key.as_deref());
        files.chain(sealing_key.as_deref()).map(Path::to_owned).collect()
    }
}

fn find_existing(paths: Vec<PathBuf>) -> Vec<(PathBuf, Metadata)> {
    paths.into_iter().filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?))).collect()
}

/// Returns whether other users may read the file and enter all of its directories.
fn is_readable_by_everyone(path: &Path) -> bool {
    let has_mode_bit =
        |path: &Path, bit| fs::metadata(path).is_ok_and(|file| file.mode() & bit != 0);
    path.canonicalize().is_ok_and(|path| {
        has_mode_bit(&path, 0o004)
            && path.ancestors().skip(1).all(|directory| has_mode_bit(directory, 0o001))
    })
}
