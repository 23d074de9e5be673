//! Writes the backup file: a SQLite database.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belfry_runtime::file_access::describe_file_error;
use rusqlite::{Connection, OpenFlags};
use tempfile::{Builder, NamedTempFile, TempPath};

use super::BackupError;
use super::file::{digest_path, sha256_hex};
use super::manifest::{self, Manifest};
use super::schema::{ColumnType, Schema, Table};
use crate::engine::sqlite;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    Reject,
    /// The file is replaced when the backup is complete.
    Replace,
}

const TEMPORARY_PREFIX: &str = ".belfry-backup-";
/// The error reason if the file at the expected path is not the one that was written.
const REPLACED_REASON: &str = "another process has replaced its temporary file";

/// Maximum number of attempts to create a file. A second backup that starts concurrently may
/// remove it before it is locked.
const MAX_ATTEMPTS: usize = 10;

/// A backup that is being written under a temporary name in its final directory. The file is
/// removed unless [`NewBackupFile::finish`] succeeds.
pub(super) struct NewBackupFile {
    pub(super) connection: Connection,
    temporary_path: TempPath,
    /// The file to which the connection writes, locked until it is complete.
    locked_file: File,
    file: PathBuf,
}

impl NewBackupFile {
    /// Creates the file with mode 0600 and empty tables.
    pub(super) fn create(file: &Path, schema: &Schema) -> Result<Self, BackupError> {
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let to_error = |error: &dyn Display| write_error(file, error);
        let to_directory_error =
            |error: io::Error| to_error(&describe_file_error(directory, &error));
        if !directory.try_exists().map_err(to_directory_error)? {
            return Err(to_error(&format!("there is no directory {}", directory.display())));
        }
        // With `SQLITE_OPEN_NOFOLLOW` the directory's path must not contain links either.
        let directory = directory.canonicalize().map_err(to_directory_error)?;
        remove_leftovers(&directory);
        let create = || {
            let temporary_file = Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(&directory);
            Self::open(temporary_file.map_err(to_directory_error)?, file, schema)
        };
        (1..MAX_ATTEMPTS).find_map(|_| create().ok()).map_or_else(create, Ok)
    }

    /// Opens a new, empty file with SQLite and creates the tables. SQLite opens it by name, and
    /// other users may have removed or replaced it. So SQLite must not create a file, which would
    /// have a different mode, and no row is written unless this file contains the tables.
    fn open(
        temporary_file: NamedTempFile,
        file: &Path,
        schema: &Schema,
    ) -> Result<Self, BackupError> {
        let to_error = |error: &dyn Display| write_error(file, error);
        let (locked_file, temporary_path) = temporary_file.into_parts();
        locked_file.try_lock().map_err(|error| to_error(&error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&temporary_path, flags)
            .map_err(|error| to_error(&sqlite::describe_error(&temporary_path, &error)))?;
        let new_file = Self { connection, temporary_path, locked_file, file: file.to_owned() };
        new_file.create_tables(schema).map_err(|error| new_file.write_error(&error))?;
        if new_file.locked_file.metadata().map_err(|error| to_error(&error))?.len() == 0 {
            return Err(to_error(&REPLACED_REASON));
        }
        Ok(new_file)
    }

    /// Creates the tables and begins to write rows. An incomplete file is removed, so it needs no
    /// journal; it is synced once, at the end.
    fn create_tables(&self, schema: &Schema) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "journal_mode", "off")?;
        self.connection.pragma_update(None, "synchronous", "off")?;
        self.connection.execute_batch("begin")?;
        self.connection.execute_batch(manifest::TABLES)?;
        for table in schema.backup_tables() {
            self.connection.execute_batch(&create_table_sql(table))?;
        }
        self.connection.execute_batch("commit; begin")
    }

    /// Writes the manifest, syncs the file, renames it to its final name and writes its digest.
    pub(super) fn finish(
        self,
        manifest: &Manifest,
        existing_file: ExistingFile,
    ) -> Result<(), BackupError> {
        manifest.write(&self.connection).map_err(|error| self.write_error(&error))?;
        self.connection.execute_batch("commit").map_err(|error| self.write_error(&error))?;
        let Self { connection, temporary_path, mut locked_file, file } = self;
        drop(connection);
        let to_error = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(file.clone()),
            _ => write_error(&file, &error),
        };
        locked_file.sync_all().map_err(to_error)?;
        let directory = temporary_path.parent().map(Path::to_owned).unwrap_or_default();
        let digest = sha256_hex(&mut locked_file).map_err(to_error)?;
        let mut digest_file =
            Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(&directory).map_err(to_error)?;
        let name = file.file_name().unwrap_or_default().display();
        writeln!(digest_file, "{digest}  {name}").map_err(to_error)?;
        digest_file.as_file().sync_all().map_err(to_error)?;
        // The digest of an earlier backup must not remain beside this one.
        match fs::remove_file(digest_path(&file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(to_error(error)),
            _ => {}
        }
        match existing_file {
            ExistingFile::Reject => temporary_path.persist_noclobber(&file),
            ExistingFile::Replace => temporary_path.persist(&file),
        }
        .map_err(|error| to_error(error.error))?;
        let written_file = locked_file.metadata().map_err(to_error)?;
        let named_file = fs::symlink_metadata(&file).map_err(to_error)?;
        if (written_file.dev(), written_file.ino()) != (named_file.dev(), named_file.ino()) {
            return Err(write_error(&file, &REPLACED_REASON));
        }
        digest_file.persist(digest_path(&file)).map_err(|error| to_error(error.error))?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(to_error)
    }

    pub(super) fn write_error(&self, error: &rusqlite::Error) -> BackupError {
        write_error(&self.file, &sqlite::describe_error(&self.temporary_path, error))
    }
}

/// Removes the temporary files of killed backups from a directory: those that no process has
/// locked. Other users may be able to write to the directory, and opening a named pipe would block
/// forever, so only regular files are opened.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_candidate = entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX)
            && entry.file_type().is_ok_and(|file_type| file_type.is_file());
        if is_candidate && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn write_error(file: &Path, reason: &dyn Display) -> BackupError {
    BackupError::Write { file: file.to_owned(), reason: reason.to_string() }
}

/// Returns the statement that creates a table. It has no constraints; those of the restored
/// database apply.
pub(super) fn create_table_sql(table: &Table) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnType::Text => format!("{} text", column.name),
            ColumnType::Integer => format!("{} integer", column.name),
        })
        .collect();
    format!("create table {} ({})", table.name, columns.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    /// Other users may be able to write to the directory, and SQLite opens the file by its name.
    #[test]
    fn a_temporary_file_that_others_remove_or_replace_is_not_written() {
        let schema = Schema::from_migrations(MIGRATIONS.newest()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("backup");
        let other_file = dir.path().join("other");
        let open_after = |change: &dyn Fn(&Path)| {
            let temporary_file = Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(&dir).unwrap();
            change(temporary_file.path());
            NewBackupFile::open(temporary_file, &target, &schema)
        };
        let replace = |path: &Path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        };
        let link = |path: &Path| {
            fs::write(&other_file, "").unwrap();
            fs::remove_file(path).unwrap();
            symlink(&other_file, path).unwrap();
        };
        let remove = |path: &Path| fs::remove_file(path).unwrap();
        let changes: [&dyn Fn(&Path); 3] = [&remove, &replace, &link];
        for (index, change) in changes.into_iter().enumerate() {
            assert!(open_after(change).is_err(), "change {index}");
        }
        assert_eq!(other_file.metadata().unwrap().len(), 0);

        let manifest = Manifest {
            schema_version: MIGRATIONS.newest(),
            belfry_version: String::new(),
            created_at: jiff::Timestamp::UNIX_EPOCH,
            tables: Vec::new(),
        };
        let new_file = open_after(&|_| {}).unwrap();
        assert_eq!(mode(&new_file.temporary_path), 0o600);
        replace(&new_file.temporary_path);
        assert!(
            new_file.finish(&manifest, ExistingFile::Replace).is_err(),
            "a file that was replaced later is rejected"
        );
        open_after(&|_| {}).unwrap().finish(&manifest, ExistingFile::Replace).unwrap();
        assert_eq!(mode(&target), 0o600);
    }
}
