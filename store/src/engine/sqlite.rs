//! The SQLite engine: one database file, one writer thread, a few reader threads.
//!
//! The writer commits all queued batches as one transaction (group commit), so they share the cost
//! of one sync.

mod access;
mod open;
mod reader;
mod restore;
#[cfg(test)]
mod tests;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use belfry_runtime::file_access::check_writable;
use belfry_runtime::metrics::exposition::Exposition;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, types};
use tokio::sync::oneshot;

use self::access::{access_error, open_error, sqlite_open_error};
pub(crate) use self::access::{database_exists, describe_error};
pub use self::open::create_private_directory;
pub(crate) use self::open::{ExistingDatabase, FileState, open_existing};
use self::open::{migrate, open_reader, open_writer};
pub(crate) use self::restore::open_for_restore;
pub(crate) use self::wal::open_ignoring_wal;
use crate::cache::Cache;
use crate::engine::migrations::{MIGRATIONS, SchemaPolicy, SchemaVersion};
use crate::engine::options::Options;
use crate::engine::{Batch, BatchResult, Engine, Row, Rows, Statement, Value};
use crate::error::StoreError;
use crate::metrics::{SqliteMetrics, families};

/// Time within which another process that has the file open detects a write, even if that process
/// is checkpointing the WAL.
pub(crate) const VISIBILITY_DELAY: Duration = Duration::from_millis(250);

pub(crate) struct Sqlite {
    /// `None` only during drop.
    queues: Option<Queues>,
    readers: Vec<thread::JoinHandle<()>>,
    writer: Option<thread::JoinHandle<()>>,
    path: PathBuf,
    metrics: Arc<SqliteMetrics>,
}

struct Queues {
    reads: mpsc::Sender<reader::ReadJob>,
    /// `None` if the file is only read.
    writes: Option<mpsc::Sender<writer::WriteJob>>,
}

impl Sqlite {
    /// Opens the file, migrates it and starts the threads. The file and its directory are created
    /// if they are missing and the schema policy allows it.
    pub(crate) fn open(
        path: &Path,
        options: &Options,
        cache: Arc<Cache>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let schema = options.schema;
        if database_exists(path)? {
            // Checked first, because SQLite would create files next to one that it may only read.
            check_writable(path).map_err(|error| access_error(path, path, &error))?;
        } else {
            // Checked first, because opening the file would create it.
            MIGRATIONS.pending(schema, &path.display().to_string(), SchemaVersion::NONE)?;
        }
        if let Some(directory) = path.parent() {
            create_private_directory(directory)
                .map_err(|error| access_error(path, directory, &error))?;
        }
        wal::check_matches_database(path).map_err(|reason| open_error(path, &reason))?;
        let to_error = |error: rusqlite::Error| sqlite_open_error(path, &error);
        let mut connection = open_writer(path).map_err(to_error)?;
        migrate(&mut connection, path, options, now)?;
        let mut wal = wal::Wal::new(path);
        if schema == SchemaPolicy::Migrate {
            wal.begin_generation(&connection).map_err(to_error)?;
        }

        let metrics = Arc::<SqliteMetrics>::default();
        let (writes, queue) = mpsc::channel();
        let writer_metrics = Arc::clone(&metrics);
        let writer_thread = thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || writer::run(&connection, wal, &queue, &cache, &writer_metrics))
            .map_err(|error| open_error(path, &error))?;
        let connections = (0..reader::thread_count()).map(|_| open_reader(path));
        let (reads, readers) = reader::start_threads(connections, &metrics)
            .map_err(|error| open_error(path, &error))?;
        let queues = Queues { reads, writes: Some(writes) };
        let queues = Some(queues);
        let path = path.to_owned();
        Ok(Self { queues, readers, writer: Some(writer_thread), path, metrics })
    }

    /// Opens an existing file for reading. In WAL mode, readers do not wait for writers.
    pub(crate) fn open_for_reading(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let schema = options.schema;
        let database = path.display().to_string();
        if !database_exists(path)? {
            MIGRATIONS.pending(schema, &database, SchemaVersion::NONE)?;
        }
        let ExistingDatabase { connection, version, .. } = open_existing(path)?;
        MIGRATIONS.pending(schema, &database, version)?;
        let metrics = Arc::default();
        let (reads, readers) = reader::start_threads([Ok(connection)], &metrics)
            .map_err(|error| open_error(path, &error))?;
        let queues = Some(Queues { reads, writes: None });
        Ok(Self { queues, readers, writer: None, path: path.to_owned(), metrics })
    }
}

/// Waits for the outcome of a job. If the thread has stopped, the job and its channel are dropped,
/// and `Unavailable` is returned.
async fn receive_outcome<T>(
    receiver: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let to_error = |_| Err(StoreError::Unavailable("the database thread has stopped".to_owned()));
    receiver.await.unwrap_or_else(to_error)
}

impl Engine for Sqlite {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let (reply, receiver) = oneshot::channel();
        self.metrics.read_queue.inc();
        drop(
            self.queues
                .as_ref()
                .map(|queues| queues.reads.send(reader::ReadJob { statement, reply })),
        );
        receive_outcome(receiver).boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, BatchResult> {
        let Some(writes) = self.queues.as_ref().and_then(|queues| queues.writes.as_ref()) else {
            let error = StoreError::Failed("the database was opened for reading".to_owned());
            return ready(Err(error)).boxed();
        };
        let (reply, receiver) = oneshot::channel();
        self.metrics.write_queue.inc();
        drop(writes.send(writer::WriteJob { batch, reply }));
        receive_outcome(receiver).boxed()
    }

    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn write_metrics(&self, out: &mut Exposition) {
        self.metrics.write(out);
        let mut files = out.family(&families::SQLITE_FILE_BYTES);
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        files.value(&["database"], bytes);
        files.value(&["wal"], wal::Wal::new(&self.path).bytes());
        if let Ok(disk) = rustix::fs::statvfs(&self.path) {
            out.value(&families::SQLITE_DISK_AVAILABLE, disk.f_bavail * disk.f_frsize);
        }
    }
}

/// Writes the queued batches before the store is dropped. The writer's connection is closed last:
/// the last connection to a database moves the WAL into the file and deletes it.
impl Drop for Sqlite {
    fn drop(&mut self) {
        let writes = self.queues.take().map(|queues| queues.writes);
        for reader in self.readers.drain(..) {
            drop(reader.join());
        }
        drop(writes);
        drop(self.writer.take().map(thread::JoinHandle::join));
    }
}

/// Converts a SQLite error: `Unavailable` if the file or disk is the cause, `Failed` if the
/// statement is.
pub(crate) fn store_error(connection: &Connection, error: &rusqlite::Error) -> StoreError {
    let is_unavailable = matches!(
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
    if is_unavailable {
        let path = connection.path().unwrap_or_default();
        StoreError::Unavailable(format!("{path}: {}", describe_error(Path::new(path), error)))
    } else {
        StoreError::Failed(error.to_string())
    }
}

pub(crate) fn run_statement(
    connection: &Connection,
    statement: &Statement,
) -> rusqlite::Result<Rows> {
    let mut prepared_statement = connection.prepare_cached(statement.sql)?;
    let column_count = prepared_statement.column_count();
    // SQLite treats `$2` as a name, not a number: the first parameter in the text has index 1.
    for index in 1..=prepared_statement.parameter_count() {
        let number =
            prepared_statement.parameter_name(index).and_then(|name| name[1..].parse().ok());
        let value = number.and_then(|number: usize| statement.values.get(number - 1));
        prepared_statement.raw_bind_parameter(index, value.unwrap_or(&Value::Null))?;
    }
    let mut rows = prepared_statement.raw_query();
    let mut result_rows = Rows::new();
    while let Some(row) = rows.next()? {
        let values = (0..column_count).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        result_rows.push(Row::new(values));
    }
    if statement.counts_changes {
        result_rows.extend((0..connection.changes()).map(|_| Row::new(Vec::new())));
    }
    Ok(result_rows)
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
