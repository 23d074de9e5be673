//! The diagnosis of a SQLite file.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::{Diagnosis, NEWEST_EVENT, SchemaState};
use crate::Migrations;
use crate::StoreError;
use crate::migrations::TEST_INSERT;
use crate::sqlite::{BUSY_TIMEOUT, describe, open_existing};

pub(super) fn diagnose(path: &Path, migrations: Migrations) -> Result<Diagnosis, StoreError> {
    if !path.exists() {
        return Ok(Diagnosis::missing());
    }
    let database = path.display().to_string();
    let (connection, version) = open_existing(path)?;
    let schema = SchemaState::of(version, migrations, &database)?;
    if schema == SchemaState::Missing {
        return Ok(Diagnosis::missing());
    }
    let newest: Option<i64> =
        connection.query_row(NEWEST_EVENT, [], |row| row.get(0)).unwrap_or_default();
    drop(connection);
    Ok(Diagnosis {
        schema,
        write: Some(try_write(path).map_err(|error| describe(&error))),
        newest_event: newest.and_then(|second| Timestamp::from_second(second).ok()),
        ..Diagnosis::missing()
    })
}

/// Writes and rolls back. Nothing reaches the file.
fn try_write(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("begin immediate")?;
    connection.execute_batch(TEST_INSERT)?;
    connection.execute_batch("rollback")
}
