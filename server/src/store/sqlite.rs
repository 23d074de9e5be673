//! The embedded engine: one file, one thread that writes, a few that read.
//!
//! Many callers' writes are committed as one transaction (see `writer.rs`), so that the price of
//! making a write durable is shared by all who wait for it.

mod reader;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, types};
use tokio::sync::oneshot;

use super::StoreError;
use super::cache::Cache;
use super::engine::{Batch, Engine, PARAMETERS, Row, Rows, Statement, Value};
use super::migrations;

/// Within this time another process that has the file open has seen a write, also when its writer
/// was just then copying its log.
pub(super) const SEEN_WITHIN: Duration = Duration::from_millis(250);

/// A SQLite database.
pub(super) struct Sqlite {
    path: Arc<Path>,
    reads: mpsc::Sender<reader::Job>,
    /// `None` only while it is dropped.
    writes: Option<mpsc::Sender<writer::Job>>,
    writer: Option<thread::JoinHandle<()>>,
}

impl Sqlite {
    /// Opens the file, makes it and its folder when they are missing, and starts the threads.
    pub(super) async fn open(
        path: PathBuf,
        cache: Arc<Cache>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let opening = tokio::task::spawn_blocking(move || Self::open_now(path, cache, now));
        opening.await.map_err(|panic| StoreError::Failed(panic.to_string()))?
    }

    fn open_now(path: PathBuf, cache: Arc<Cache>, now: Timestamp) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.into();
        let failed = |error: &dyn std::fmt::Display| StoreError::Open {
            database: path.display().to_string(),
            reason: error.to_string(),
        };
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|error| failed(&error))?;
        }
        let mut connection = open_writer(&path).map_err(|error| failed(&explained(&error)))?;
        migrate(&mut connection, &path, now)?;

        let (writes, jobs) = mpsc::channel();
        let (told, telling) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(writer::tell(telling));
        let thread = thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || writer::run(&connection, &jobs, &cache, &told))
            .map_err(|error| failed(&error))?;
        let reads =
            reader::start(|| open_reader(&path)).map_err(|error| failed(&error.to_string()))?;
        Ok(Self { path, reads, writes: Some(writes), writer: Some(thread) })
    }

    fn unavailable(&self, error: &rusqlite::Error) -> StoreError {
        failure(&self.path, error)
    }
}

impl Engine for Sqlite {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let (reply, answer) = oneshot::channel();
        let sent = self.reads.send(reader::Job { statement, reply });
        async move {
            sent.map_err(|_| stopped())?;
            let outcome = answer.await.map_err(|_| stopped())?;
            outcome.map_err(|error| self.unavailable(&error))
        }
        .boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Rows>, StoreError>> {
        let (reply, answer) = oneshot::channel();
        let sent = self.writes.as_ref().map(|queue| queue.send(writer::Job { batch, reply }));
        async move {
            sent.ok_or_else(stopped)?.map_err(|_| stopped())?;
            let outcome = answer.await.map_err(|_| stopped())?;
            outcome.map_err(|error| self.unavailable(&error))
        }
        .boxed()
    }
}

/// What is queued is written before the store is gone.
impl Drop for Sqlite {
    fn drop(&mut self) {
        self.writes = None;
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("its thread has stopped".to_owned())
}

/// Whether a failure passes by itself, and what is to be done about it.
fn failure(path: &Path, error: &rusqlite::Error) -> StoreError {
    let passing = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DatabaseCorrupt
        )
    );
    if passing {
        StoreError::Unavailable(format!("{}: {}", path.display(), explained(error)))
    } else {
        StoreError::Failed(error.to_string())
    }
}

fn explained(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full; free some space",
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "the folder and its files must be writable for the user that runs belfry"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds the database"
        }
        Some(ErrorCode::NotADatabase) => "the file is not a SQLite database",
        _ => return error.to_string(),
    };
    format!("{error}; {advice}")
}

/// Makes the data folder, for its owner only: it holds e-mail addresses and password hashes.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes the file before SQLite does, for its owner only; the WAL takes its mode from it.
fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // It may be there already; whatever else is wrong SQLite will say in better words.
    drop(options.write(true).create_new(true).open(path));
}

fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    make_private(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // FULL, not NORMAL: an answer that says it is done must survive a power cut.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// Runs the migrations that are missing in one transaction, which is also the lock: another
/// process that starts at the same moment waits, and then finds nothing left to do.
fn migrate(connection: &mut Connection, path: &Path, now: Timestamp) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| StoreError::Open {
        database: path.display().to_string(),
        reason: explained(&error),
    };
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(failed)?;
    transaction.execute_batch(migrations::TABLE).map_err(failed)?;
    let found = transaction
        .query_row("select coalesce(max(number), 0) from migrations", [], |row| row.get(0))
        .map_err(failed)?;
    let pending = migrations::pending(found).map_err(|known| StoreError::Newer {
        database: path.display().to_string(),
        found,
        known,
    })?;
    for migration in pending {
        transaction.execute_batch(migration.sqlite).map_err(failed)?;
        transaction
            .execute("insert into migrations values (?1, ?2)", (migration.number, now.as_second()))
            .map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// Runs one statement.
fn run(connection: &Connection, statement: &Statement) -> rusqlite::Result<Rows> {
    let mut prepared = connection.prepare_cached(statement.sql)?;
    let width = prepared.column_count();
    // To SQLite `$2` is a name, not a number: the first that stands in the text has the index 1.
    for (place, (name, value)) in (1..).zip(PARAMETERS.into_iter().zip(&statement.values)) {
        let index = if prepared.parameter_name(place) == Some(name) {
            Some(place)
        } else {
            prepared.parameter_index(name)?
        };
        if let Some(index) = index {
            prepared.raw_bind_parameter(index, value)?;
        }
    }
    let mut rows = prepared.raw_query();
    let mut found = Rows::new();
    while let Some(row) = rows.next()? {
        let values = (0..width).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        found.push(Row::new(values));
    }
    Ok(found)
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<types::ToSqlOutput<'_>> {
        let value = match self {
            Self::Null => types::ValueRef::Null,
            Self::Text(text) => types::ValueRef::Text(text.as_bytes()),
            Self::Integer(integer) => types::ValueRef::Integer(*integer),
        };
        Ok(types::ToSqlOutput::Borrowed(value))
    }
}

impl types::FromSql for Value {
    fn column_result(value: types::ValueRef<'_>) -> types::FromSqlResult<Self> {
        match value {
            types::ValueRef::Null => Ok(Self::Null),
            types::ValueRef::Integer(integer) => Ok(Self::Integer(integer)),
            types::ValueRef::Text(_) => value.as_str().map(Self::from),
            _ => Err(types::FromSqlError::InvalidType),
        }
    }
}
