//! Writes the file of a backup: a SQLite database.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::{Builder, TempPath};

use super::BackupError;
use super::manifest::{self, Manifest};
use super::schema::{ColumnKind, Schema, Table};
use crate::sqlite;

/// What happens if the file of a backup exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// The backup is rejected.
    Reject,
    /// The file is replaced when the backup is complete.
    Replace,
}

/// The beginning of temporary names.
const PREFIX: &str = ".belfry-backup-";

/// A file that is being written under a temporary name beside its own. It is removed unless it is
/// finished.
pub(super) struct NewFile {
    pub(super) connection: Connection,
    temporary: TempPath,
    /// Locked while it is written.
    lock: File,
    file: PathBuf,
}

impl NewFile {
    /// Creates the file with mode 0600 and empty tables.
    pub(super) fn create(file: &Path, schema: &Schema) -> Result<Self, BackupError> {
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed = |error: &dyn Display| write_error(file, error);
        if !directory.exists() {
            return Err(failed(&format!("there is no directory {}", directory.display())));
        }
        remove_leftovers(directory);
        let temporary = Builder::new().prefix(PREFIX).tempfile_in(directory);
        let (lock, temporary) = temporary.map_err(|error| failed(&error))?.into_parts();
        lock.try_lock().map_err(|error| failed(&error))?;
        let connection = Connection::open(&temporary).map_err(|error| failed(&error))?;
        let new = Self { connection, temporary, lock, file: file.to_owned() };
        new.create_tables(schema).map_err(|error| new.write_error(&error))?;
        Ok(new)
    }

    /// An incomplete file is removed, so it needs no journal; it is synced once, at the end.
    fn create_tables(&self, schema: &Schema) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "journal_mode", "off")?;
        self.connection.pragma_update(None, "synchronous", "off")?;
        self.connection.execute_batch("begin")?;
        self.connection.execute_batch(manifest::TABLES)?;
        schema.tables().try_for_each(|table| self.connection.execute_batch(&create_table(table)))
    }

    /// Writes the manifest, syncs the file and gives it its name.
    pub(super) fn finish(
        self,
        manifest: &Manifest,
        overwrite: Overwrite,
    ) -> Result<(), BackupError> {
        manifest.write(&self.connection).map_err(|error| self.write_error(&error))?;
        self.connection.execute_batch("commit").map_err(|error| self.write_error(&error))?;
        let Self { connection, temporary, lock, file } = self;
        drop(connection);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(file.clone()),
            _ => write_error(&file, &error),
        };
        lock.sync_all().map_err(failed)?;
        let directory = temporary.parent().map(Path::to_owned).unwrap_or_default();
        match overwrite {
            Overwrite::Reject => temporary.persist_noclobber(&file),
            Overwrite::Replace => temporary.persist(&file),
        }
        .map_err(|error| failed(error.error))?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
    }

    pub(super) fn write_error(&self, error: &rusqlite::Error) -> BackupError {
        write_error(&self.file, &sqlite::describe(error))
    }
}

/// Removes what killed backups have left in the directory: files that no process has locked. Others
/// may write to the directory, and opening their named pipe would wait forever, so that only regular
/// files are opened.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_candidate = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_candidate && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn write_error(file: &Path, reason: &dyn Display) -> BackupError {
    BackupError::Write { file: file.to_owned(), reason: reason.to_string() }
}

/// The statement that creates a table without constraints, which the restored database has.
fn create_table(table: &Table) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Text => format!("{} text", column.name),
            ColumnKind::Integer => format!("{} integer", column.name),
        })
        .collect();
    format!("create table {} ({})", table.name, columns.join(", "))
}
