//! The diagnosis of a SQLite file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::Diagnosis;
use crate::engine::migrations::{MIGRATIONS, SchemaPolicy, SchemaVersion, TEST_INSERT};
use crate::engine::sqlite::{
    BUSY_TIMEOUT, ExistingDatabase, database_exists, describe_error, open_existing,
};
use crate::error::StoreError;

pub(super) fn diagnose(path: &Path) -> Result<Diagnosis, StoreError> {
    let mut diagnosis =
        Diagnosis { supported_schema_version: MIGRATIONS.newest(), ..Diagnosis::default() };
    if !database_exists(path)? {
        return Ok(diagnosis);
    }
    let ExistingDatabase { version, .. } = open_existing(path)?;
    MIGRATIONS.pending(SchemaPolicy::Migrate, &path.display().to_string(), version)?;
    if version != SchemaVersion::NONE {
        diagnosis.schema_version = Some(version.number);
        diagnosis.write_outcome =
            Some(try_write(path).map_err(|error| describe_error(path, &error)));
    }
    Ok(diagnosis)
}

/// Writes a row and rolls back, so nothing reaches the file.
fn try_write(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("begin immediate")?;
    connection.execute_batch(TEST_INSERT)?;
    connection.execute_batch("rollback")
}
