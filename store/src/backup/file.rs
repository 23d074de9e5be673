//! Reads backup files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use belfry_runtime::file_access::describe_file_error;
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use sha2::{Digest, Sha256};

use super::BackupError;
use super::manifest::{FORMAT, Manifest};
use super::schema::{Schema, Table};
use crate::engine::migrations::MIGRATIONS;
use crate::engine::{Value, sqlite};

/// The approximate size of the rows that are loaded together.
const PAGE_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub struct Backup {
    connection: Connection,
    file: PathBuf,
    manifest: Manifest,
    pub(super) schema: Schema,
}

impl Backup {
    /// Opens the file and checks it: the digest next to it if there is one, SQLite's integrity
    /// check, and the tables of its manifest.
    pub fn open(file: &Path) -> Result<Self, BackupError> {
        // SQLite's error would not say why the file cannot be opened.
        let to_io_error = |error: io::Error| BackupError::Read {
            file: file.to_owned(),
            reason: describe_file_error(file, &error),
        };
        let mut content = File::open(file).map_err(to_io_error)?;
        let file_bytes = content.metadata().map_err(to_io_error)?.len();
        let to_read_error = |error: rusqlite::Error| read_error(file, &error);
        let connection = sqlite::open_ignoring_wal(file).map_err(to_read_error)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(to_read_error)?;
        check_format(&connection, file)?;
        check_length(&connection, file_bytes, file)?;
        if let Ok(expected_digest) = fs::read_to_string(digest_path(file))
            && !expected_digest.starts_with(&sha256_hex(&mut content).map_err(to_io_error)?)
        {
            return Err(damaged_error(file, "its SHA-256 digest differs from the one next to it"));
        }
        let integrity: String = connection
            .query_row("pragma integrity_check(1)", [], |row| row.get(0))
            .map_err(to_read_error)?;
        if integrity != "ok" {
            return Err(damaged_error(file, &integrity));
        }
        let manifest = Manifest::read(&connection).map_err(to_read_error)?;
        let schema = Schema::from_migrations(manifest.schema_version)?;
        let table_count = schema.backup_tables().count();
        if manifest.tables.len() != table_count
            || schema.backup_tables().any(|table| manifest.row_count_of(&table.name).is_none())
        {
            return Err(damaged_error(file, "its tables are not those of its schema version"));
        }
        Ok(Self { connection, file: file.to_owned(), manifest, schema })
    }

    /// Returns the manifest, with the versions, time and tables of the backup.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads the rows of a table after a position, up to about [`PAGE_BYTES`], and moves the
    /// position past them. Returns no rows at the end of the table.
    pub(super) fn read_page(
        &self,
        table: &Table,
        position: &mut i64,
    ) -> Result<Vec<Vec<Value>>, BackupError> {
        let query_page = || -> rusqlite::Result<_> {
            let select = format!(
                "select {}, rowid from {} where rowid > ? order by rowid",
                table.column_list(),
                table.name
            );
            let column_count = table.columns.len();
            let mut select = self.connection.prepare_cached(&select)?;
            let mut rows = select.query([*position])?;
            let mut page = Vec::new();
            let mut bytes = 0;
            let mut last_rowid = *position;
            while bytes < PAGE_BYTES
                && let Some(row) = rows.next()?
            {
                let values: Vec<Value> =
                    (0..column_count).map(|column| row.get(column)).collect::<Result<_, _>>()?;
                bytes += values.iter().map(value_bytes).sum::<usize>();
                last_rowid = row.get(column_count)?;
                page.push(values);
            }
            Ok((page, last_rowid))
        };
        let (page, last_rowid) = query_page().map_err(|error| read_error(&self.file, &error))?;
        *position = last_rowid;
        Ok(page)
    }
}

/// Returns the approximate memory use of a value.
fn value_bytes(value: &Value) -> usize {
    let text_bytes = if let Value::Text(text) = value { text.len() } else { 0 };
    size_of::<Value>() + text_bytes
}

/// Rejects files that are not backups, files without a manifest, invalid and newer versions, and
/// pre-releases. The columns that are read here are in every format.
fn check_format(connection: &Connection, file: &Path) -> Result<(), BackupError> {
    let backup_table = connection
        .query_row(
            "select 1 from sqlite_schema where name = 'backup' and type = 'table' \
             and rootpage > 0",
            [],
            |_| Ok(()),
        )
        .optional()
        .map_err(|error| read_error(file, &error))?;
    if backup_table.is_none() {
        return Err(BackupError::NotABackup(file.to_owned()));
    }
    let select = "select format, schema_version, belfry_version from backup";
    let versions = connection.query_row(select, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
    });
    let (format, schema, version) = match versions {
        Err(rusqlite::Error::QueryReturnedNoRows) => {
            return Err(damaged_error(file, "its manifest is missing"));
        }
        versions => versions.map_err(|error| read_error(file, &error))?,
    };
    let newest = MIGRATIONS.newest();
    for (version_kind, file_version, supported_version) in
        [("format", format, FORMAT), ("schema version", schema, newest)]
    {
        if file_version > supported_version {
            let file = file.to_owned();
            let found = file_version;
            let known = supported_version;
            return Err(BackupError::Newer { file, what: version_kind, found, known, version });
        }
    }
    if format < FORMAT || schema < 1 {
        let reason = format!("format {format} and schema version {schema} do not exist");
        return Err(damaged_error(file, &reason));
    }
    if schema < MIGRATIONS.oldest() {
        return Err(BackupError::PreRelease { file: file.to_owned(), found: schema, version });
    }
    Ok(())
}

/// Rejects a file that is shorter than its header says: SQLite reads the missing bytes as zeros.
fn check_length(connection: &Connection, file_bytes: u64, file: &Path) -> Result<(), BackupError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let read_expected_bytes = || Ok(pragma("page_size")?.saturating_mul(pragma("page_count")?));
    let expected = read_expected_bytes().map_err(|error| read_error(file, &error))?;
    if u64::try_from(expected).is_ok_and(|expected| file_bytes >= expected) {
        return Ok(());
    }
    Err(damaged_error(file, &format!("it has {file_bytes} of {expected} bytes")))
}

/// Returns the path of the file with the SHA-256 digest, which `sha256sum --check` reads.
pub(super) fn digest_path(backup: &Path) -> PathBuf {
    let mut path = backup.as_os_str().to_owned();
    path.push(".sha256");
    path.into()
}

/// Returns the digest of the rest of a file, as 64 hexadecimal digits.
pub(super) fn sha256_hex(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    Ok(hasher.finalize().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}

fn damaged_error(file: &Path, reason: &str) -> BackupError {
    BackupError::Damaged { file: file.to_owned(), reason: reason.to_owned() }
}

/// Converts a SQLite error that occurred while reading a backup.
fn read_error(file: &Path, error: &rusqlite::Error) -> BackupError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => BackupError::NotABackup(file.to_owned()),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            BackupError::Read { file: file.to_owned(), reason: sqlite::describe_error(file, error) }
        }
        _ => damaged_error(file, &error.to_string()),
    }
}
