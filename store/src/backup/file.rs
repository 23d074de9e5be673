//! Reads backup files.

use std::fs::File;
use std::path::{Path, PathBuf};

use belfry_runtime::file_access::describe_file_error;
use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::checksum::TableChecksum;
use super::manifest::{self, FORMAT, Manifest, TableSummary};
use super::new_file::create_table_sql;
use super::row_check::RowCheck;
use super::schema::{Schema, Table};
use super::sqlite::scan;
use super::{BackupError, ProgressCallback, RowCounter};
use crate::engine::migrations::Migrations;
use crate::engine::options::Options;
use crate::engine::{Value, sqlite};

/// The approximate size of the rows that are loaded together.
const PAGE_BYTES: usize = 1024 * 1024;

/// A backup that can be restored.
#[derive(Debug)]
pub struct Backup {
    connection: Connection,
    file: PathBuf,
    manifest: Manifest,
    pub(super) schema: Schema,
}

impl Backup {
    /// Opens the file and reads its manifest. Rejects files that are not backups, truncated files,
    /// changed manifests, backups of newer versions and of pre-releases, and tables that could
    /// compute rows, such as views. Does not check the rows: see [`Backup::verify`].
    pub fn open(file: &Path, options: &Options) -> Result<Self, BackupError> {
        // SQLite's error would not say why the file cannot be opened.
        let metadata = File::open(file).and_then(|file| file.metadata()).map_err(|error| {
            BackupError::Read { file: file.to_owned(), reason: describe_file_error(file, &error) }
        })?;
        let file_bytes = metadata.len();
        let to_read_error = |error: rusqlite::Error| read_error(file, &error);
        let connection = sqlite::open_ignoring_wal(file).map_err(to_read_error)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(to_read_error)?;
        check_format(&connection, file, options.migrations)?;
        check_length(&connection, file_bytes, file)?;
        check_tables(&connection, file, manifest::TABLES)?;
        let (manifest, checksum) = Manifest::read(&connection).map_err(to_read_error)?;
        if manifest.checksum() != checksum {
            return Err(damaged_error(file, "its manifest was changed"));
        }
        let schema = Schema::from_migrations(manifest.schema_version, options.migrations)?;
        let expected_count = schema.backup_tables().count();
        if schema.backup_tables().any(|table| table_summary(&manifest, table).is_none())
            || manifest.tables.len() != expected_count
        {
            return Err(damaged_error(file, "its tables are not those of its schema version"));
        }
        // A row takes more than a byte.
        if manifest.tables.iter().any(|table| table.row_count > file_bytes) {
            return Err(damaged_error(file, "it is too small for the rows of its manifest"));
        }
        for table in schema.backup_tables() {
            check_tables(&connection, file, &create_table_sql(table))?;
        }
        Ok(Self { connection, file: file.to_owned(), manifest, schema })
    }

    /// Returns the manifest, with the versions, time and tables of the backup.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads all rows, compares them with the checksums, and checks that the store can read them.
    /// Returns, for each column, the first value that this version does not know, and therefore
    /// ignores or treats like the least privileged one.
    pub fn verify(&self, report: ProgressCallback<'_>) -> Result<Vec<String>, BackupError> {
        let mut counter = RowCounter::new("checking", self.manifest.row_count(), report);
        let mut unknown_names = Vec::new();
        for table in self.schema.backup_tables() {
            let mut checksum = TableChecksum::default();
            let mut row_check = RowCheck::new(table);
            let mut check_row = |row: &[Value]| {
                checksum.add_row(row);
                self.check_row_count(table, checksum.row_count)?;
                let to_damaged_error =
                    |value| damaged_error(&self.file, &format!("unreadable {value}"));
                row_check.check(row).map_err(to_damaged_error)?;
                counter.advance();
                Ok(())
            };
            scan(&self.connection, &table.select_sql(), &mut check_row, |error| {
                read_error(&self.file, &error)
            })?;
            if !self.matches_manifest(table, &checksum) {
                let reason = format!("the rows of table {} do not match its checksum", table.name);
                return Err(damaged_error(&self.file, &reason));
            }
            unknown_names.extend(row_check.into_unknown_names());
        }
        Ok(unknown_names)
    }

    /// Rejects more rows than the manifest lists: in a damaged file, pages that refer to each other
    /// would return rows forever.
    pub(super) fn check_row_count(&self, table: &Table, rows: u64) -> Result<(), BackupError> {
        if table_summary(&self.manifest, table).is_some_and(|summary| rows <= summary.row_count) {
            return Ok(());
        }
        let reason = format!("table {} has more rows than its manifest says", table.name);
        Err(damaged_error(&self.file, &reason))
    }

    /// Returns whether a table's row count and checksum are those in the manifest.
    pub(super) fn matches_manifest(&self, table: &Table, checksum: &TableChecksum) -> bool {
        table_summary(&self.manifest, table).is_some_and(|summary| {
            (summary.row_count, &summary.checksum) == (checksum.row_count, &checksum.to_hex())
        })
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

fn table_summary<'a>(manifest: &'a Manifest, table: &Table) -> Option<&'a TableSummary> {
    manifest.tables.iter().find(|summary| summary.name == table.name)
}

/// Returns the approximate memory use of a value.
fn value_bytes(value: &Value) -> usize {
    let text_bytes = if let Value::Text(text) = value { text.len() } else { 0 };
    size_of::<Value>() + text_bytes
}

/// Rejects files that are not backups, files without a manifest, invalid and newer versions, and
/// pre-releases. The columns that are read here are in every format.
fn check_format(
    connection: &Connection,
    file: &Path,
    migrations: Migrations,
) -> Result<(), BackupError> {
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
    let newest = migrations.newest();
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
    if schema < migrations.oldest() {
        return Err(BackupError::PreRelease { file: file.to_owned(), found: schema, version });
    }
    Ok(())
}

/// Checks that the file has the tables that these statements create, and nothing else in their
/// place: a view, a virtual table or a computed column could return rows forever.
fn check_tables(connection: &Connection, file: &Path, statements: &str) -> Result<(), BackupError> {
    let to_read_error = |error: rusqlite::Error| read_error(file, &error);
    let select = "select 1 from sqlite_schema where type = 'table' and lower(sql) = ?";
    let mut select_table = connection.prepare_cached(select).map_err(to_read_error)?;
    for statement in statements.split("; ") {
        if !select_table.exists([statement]).map_err(to_read_error)? {
            return Err(damaged_error(file, "its tables are not those of its schema version"));
        }
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
