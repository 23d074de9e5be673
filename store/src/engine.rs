//! Interface for database engines: run one read-only statement, or write a batch of statements
//! atomically.
//!
//! The statements are in the domain modules (`accounts/`, `oauth/` …), written once in the SQL
//! that both engines accept: named parameters, `on conflict`, `returning`, text and 64-bit
//! integers.

pub(crate) mod database;
mod fragments;
pub(crate) mod migrations;
pub(crate) mod options;
mod outage;
mod parameters;
pub(crate) mod postgres;
mod row;
pub(crate) mod sqlite;
mod statement;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use futures_util::future::BoxFuture;

use self::outage::{Operation, Outage};
pub(crate) use self::parameters::{
    CHUNK_LEN, NumberedSql, list_sql, numbered_sql, pad_list, sql, values,
};
pub(crate) use self::row::{
    FromRow, FromValue, Row, Rows, Value, from_row, read_known_rows, read_rows,
};
pub(crate) use self::statement::{Batch, Grouping, OnMissingRows, Statement};
use crate::error::StoreError;
use crate::metrics::{OperationMetrics, StoreMetrics};

pub(crate) type BatchResult = Result<Vec<Rows>, StoreError>;

pub(crate) trait Engine: Send + Sync {
    /// Runs one read-only statement.
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>>;

    /// Runs the statements in one transaction and returns the rows of each when it is durable, or
    /// was rolled back as the batch requires. The batch's invalidations are applied to every node's
    /// cache.
    ///
    /// Dropping the future does not cancel the write.
    fn write(&self, batch: Batch) -> BoxFuture<'_, BatchResult>;

    /// Returns the error of the last attempt to open a connection, if it failed and the engine has
    /// connections.
    fn connection_error(&self) -> Option<String> {
        None
    }

    /// Returns the status of the background task, if the engine has one.
    fn task_status(&self) -> Option<Arc<TaskStatus>> {
        None
    }

    fn name(&self) -> &'static str;

    fn write_metrics(&self, out: &mut Exposition);
}

/// Maximum age of a successful write that proves that the database accepts writes.
const WRITE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Wraps an engine to intercept strings with NUL characters, which PostgreSQL cannot store, to
/// record metrics and outages, and to remember whether writes succeed.
pub(crate) struct CheckedEngine {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) metrics: StoreMetrics,
    /// The time of the last successful write; `None` before the first write, and after one that
    /// failed because the database was unavailable.
    last_write: Mutex<Option<Instant>>,
    outage: Outage,
}

impl CheckedEngine {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            metrics: StoreMetrics::default(),
            last_write: Mutex::new(None),
            outage: Outage::default(),
        }
    }

    pub(crate) fn write_metrics(&self, out: &mut Exposition) {
        self.metrics.write(out, self.engine.name());
        self.engine.write_metrics(out);
    }

    /// Runs a read. With a NUL in a parameter it finds no rows.
    pub(crate) async fn read(&self, statement: Statement) -> Result<Rows, StoreError> {
        if statement.has_nul() {
            return Ok(Rows::new());
        }
        let start = Instant::now();
        let outcome = self.engine.read(statement).await;
        self.record(Operation::Read, &self.metrics.reads, start, outcome.as_ref().err());
        outcome
    }

    /// Runs a write. With a NUL in a parameter it fails with [`StoreError::Nul`].
    pub(crate) async fn write(&self, batch: Batch) -> BatchResult {
        if batch.statements.iter().any(Statement::has_nul) {
            return Err(StoreError::Nul);
        }
        let start = Instant::now();
        let outcome = self.engine.write(batch).await;
        self.record(Operation::Write, &self.metrics.writes, start, outcome.as_ref().err());
        match &outcome {
            Ok(_) => *self.last_write() = Some(Instant::now()),
            Err(StoreError::Unavailable(_)) => *self.last_write() = None,
            Err(_) => {}
        }
        outcome
    }

    /// Checks that the database responds and accepts writes. Unless a write has just succeeded,
    /// writes a row and deletes it.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        self.read(sql!("select 1")).await?;
        let last_write = *self.last_write();
        if last_write.is_some_and(|time| time.elapsed() < WRITE_CHECK_INTERVAL) {
            return Ok(());
        }
        let probe =
            [sql!(migrations::TEST_INSERT), sql!("delete from migrations where number = 0")];
        self.write(probe.into()).await.map(drop)
    }

    fn record(
        &self,
        operation: Operation,
        metrics: &OperationMetrics,
        start: Instant,
        error: Option<&StoreError>,
    ) {
        metrics.durations.observe_since(start);
        match error {
            None => {}
            Some(StoreError::Unavailable(_)) => metrics.temporary_failures.inc(),
            Some(_) => metrics.permanent_failures.inc(),
        }
        self.outage.record(operation, error);
    }

    fn last_write(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_write.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
