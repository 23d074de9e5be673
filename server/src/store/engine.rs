//! The interface of a database engine: read one statement, write a batch of statements atomically.
//!
//! The statements are in the domain modules (`accounts.rs`, `tokens.rs` …), written once in the SQL
//! that both engines accept: `$1` parameters, `on conflict`, `returning`, text and 64-bit integers.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belfry_core::oauth::account::Role;
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::{HashedSecret, LookupKey, Sha256Digest};
use belfry_core::user_agent::UserAgent;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use super::StoreError;
use super::invalidation::Invalidation;
use super::outage::{Operation, Outage};
use crate::metrics::exposition::Exposition;
use crate::metrics::{OperationMetrics, StoreMetrics};

/// A database engine.
pub(crate) trait Engine: Send + Sync {
    /// Runs one read-only statement.
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>>;

    /// Runs the statements in one transaction and returns the rows of each when it is durable, or
    /// was rolled back as the batch requires. The batch's invalidations are applied to the cache of
    /// every node.
    ///
    /// Dropping the future does not cancel the write.
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Rows>, StoreError>>;

    /// The name of the engine in metrics.
    fn name(&self) -> &'static str;

    /// Writes the metrics that only this engine has.
    fn write_metrics(&self, out: &mut Exposition);
}

/// How long a successful write shows that the database can write.
const WRITE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Wraps an engine to reject text with NUL characters, which PostgreSQL cannot store, to count
/// failures, and to remember whether writes succeed.
pub(crate) struct CheckedEngine {
    engine: Box<dyn Engine>,
    pub(crate) metrics: StoreMetrics,
    /// The time of the last write; `None` before the first one and after one that failed.
    last_write: Mutex<Option<Instant>>,
    outage: Outage,
    #[cfg(feature = "test-support")]
    pub(crate) observer: std::sync::OnceLock<Box<dyn Observer>>,
}

/// Receives the statements that succeeded, with their rows.
#[cfg(feature = "test-support")]
pub(crate) trait Observer: Send + Sync {
    fn read(&self, statement: &Statement, rows: &Rows);
    fn write(&self, statements: &[Statement], rows: &[Rows]);
}

impl CheckedEngine {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            metrics: StoreMetrics::default(),
            last_write: Mutex::new(None),
            outage: Outage::default(),
            #[cfg(feature = "test-support")]
            observer: std::sync::OnceLock::new(),
        }
    }

    /// Writes the metrics of the engine.
    pub(crate) fn write_metrics(&self, out: &mut Exposition) {
        self.metrics.write(out, self.engine.name());
        self.engine.write_metrics(out);
    }

    /// Runs a read. With a NUL in a parameter it finds no rows.
    pub(crate) async fn read(&self, statement: Statement) -> Result<Rows, StoreError> {
        if statement.has_nul() {
            return Ok(Rows::new());
        }
        #[cfg(feature = "test-support")]
        let observed = self.observer.get().map(|observer| (observer, statement.clone()));
        let start = Instant::now();
        let outcome = self.engine.read(statement).await;
        record(&self.metrics.reads, start, outcome.as_ref().err());
        self.outage.record(Operation::Read, outcome.as_ref().err());
        #[cfg(feature = "test-support")]
        if let (Ok(rows), Some((observer, statement))) = (&outcome, observed) {
            observer.read(&statement, rows);
        }
        outcome
    }

    /// Runs a write. With a NUL in a parameter it fails with [`StoreError::Nul`].
    pub(crate) async fn write(&self, batch: Batch) -> Result<Vec<Rows>, StoreError> {
        if batch.statements.iter().any(Statement::has_nul) {
            return Err(StoreError::Nul);
        }
        #[cfg(feature = "test-support")]
        let observed = self.observer.get().map(|observer| {
            let statements = batch.statements.clone();
            (
                observer,
                Batch { statements, on_missing_rows: batch.on_missing_rows, ..Batch::default() },
            )
        });
        let start = Instant::now();
        let outcome = self.engine.write(batch).await;
        record(&self.metrics.writes, start, outcome.as_ref().err());
        self.outage.record(Operation::Write, outcome.as_ref().err());
        #[cfg(feature = "test-support")]
        if let (Ok(rows), Some((observer, batch))) = (&outcome, observed)
            && !batch.is_rolled_back(rows)
        {
            observer.write(&batch.statements, rows);
        }
        match &outcome {
            Ok(_) => *self.last_write() = Some(Instant::now()),
            Err(StoreError::Unavailable(_)) => *self.last_write() = None,
            Err(_) => {}
        }
        outcome
    }

    /// Checks that the database responds and can write. Unless a write has just succeeded, it
    /// writes a row and deletes it again.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        self.read(sql("select 1", [])).await?;
        let last_write = *self.last_write();
        if last_write.is_some_and(|time| time.elapsed() < WRITE_CHECK_INTERVAL) {
            return Ok(());
        }
        let probe = Batch::default()
            .and(sql("insert into migrations values (0, 0)", []))
            .and(sql("delete from migrations where number = 0", []));
        self.write(probe).await.map(drop)
    }

    fn last_write(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_write.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records an operation in the metrics.
fn record(metrics: &OperationMetrics, start: Instant, error: Option<&StoreError>) {
    metrics.durations.observe_since(start);
    match error {
        None => {}
        Some(StoreError::Unavailable(_)) => metrics.unavailable.inc(),
        Some(_) => metrics.failed.inc(),
    }
}

/// Statements that are written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) statements: Vec<Statement>,
    pub(crate) invalidations: Vec<Invalidation>,
    /// The statements that insert audit events.
    pub(crate) events: Range<usize>,
    pub(crate) on_missing_rows: OnMissingRows,
}

/// What happens when a statement of a batch returns no rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnMissingRows {
    /// The batch is committed.
    #[default]
    Commit,
    /// The batch is rolled back, and the rows of its statements are returned nevertheless.
    RollBack,
}

impl Batch {
    /// Adds a statement.
    pub(crate) fn and(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }

    /// Whether it is rolled back, because statements returned these rows.
    pub(crate) fn is_rolled_back(&self, rows: &[Rows]) -> bool {
        self.on_missing_rows == OnMissingRows::RollBack && rows.iter().any(Rows::is_empty)
    }

    /// Adds cache entries to invalidate after the commit.
    pub(crate) fn invalidating(mut self, invalidation: Invalidation) -> Self {
        self.invalidations.push(invalidation);
        self
    }
}

impl From<Statement> for Batch {
    fn from(statement: Statement) -> Self {
        Self { statements: vec![statement], ..Self::default() }
    }
}

/// One SQL statement and the values of its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value>,
    /// Whether it returns an empty row for each row that it changes.
    pub(crate) counts_changes: bool,
}

impl Statement {
    /// The statement `sql` with the values of `$1`, `$2` and so on.
    pub(crate) fn new(sql: &'static str, values: Vec<Value>) -> Self {
        Self { sql, values, counts_changes: false }
    }

    /// Returns an empty row for each row that the statement changes. SQLite creates two temporary
    /// tables for `returning`, a sixth of the cost of issuing a token.
    pub(crate) fn counting_changes(mut self) -> Self {
        self.counts_changes = true;
        self
    }

    fn has_nul(&self) -> bool {
        let has_nul = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
        self.values.iter().any(has_nul)
    }
}

/// The statement `sql` with the values of `$1`, `$2` and so on.
pub(crate) fn sql<const N: usize>(sql: &'static str, values: [Value; N]) -> Statement {
    Statement::new(sql, values.into())
}

/// The value of a column or parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// No value.
    Null,
    /// A `text`.
    Text(String),
    /// A `bigint`.
    Integer(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Scopes are stored separated by spaces.
impl From<&Scopes> for Value {
    fn from(scopes: &Scopes) -> Self {
        Self::Text(scopes.to_string())
    }
}

/// Times are stored in whole seconds since the Unix epoch.
impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.as_second())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The rows that a statement returned.
pub(crate) type Rows = Vec<Row>;

/// One row, read column by column.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The columns that are not yet read.
    #[cfg(feature = "test-support")]
    pub(crate) fn values(&self) -> &[Value] {
        self.0.as_slice()
    }

    /// Reads the next column.
    pub(crate) fn take<T: FromValue>(&mut self) -> Result<T, StoreError> {
        let value = self.0.next().unwrap_or(Value::Null);
        T::from_value(value).ok_or(StoreError::Unreadable(std::any::type_name::<T>()))
    }

    /// Reads the next column as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.take::<String>()?;
        serde_json::from_str(&text).map_err(|_| StoreError::Unreadable(std::any::type_name::<T>()))
    }
}

/// A type that can be read from a row.
pub(crate) trait FromRow: Sized {
    fn from_row(row: Row) -> Result<Self, StoreError>;
}

/// Implements [`FromRow`] for a struct whose fields are the columns, in this order.
macro_rules! from_row {
    ($type:ty { $($field:ident),* }) => {
        impl $crate::store::engine::FromRow for $type {
            fn from_row(mut row: $crate::store::engine::Row) -> Result<Self, StoreError> {
                Ok(Self { $($field: row.take()?),* })
            }
        }
    };
}
pub(crate) use from_row;

/// A type that can be read from a column.
pub(crate) trait FromValue: Sized {
    fn from_value(value: Value) -> Option<Self>;
}

/// Columns of the types that values consist of.
macro_rules! plain_columns {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }
        }
    )*};
}

plain_columns!(String => Text, i64 => Integer);

/// Columns of types with `to_text` and `from_text`.
macro_rules! text_columns {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Text(value.to_text())
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                Self::from_text(&String::from_value(value)?)
            }
        }
    )*};
}

text_columns!(LookupKey, Sha256Digest, HashedSecret);

impl From<Role> for Value {
    fn from(role: Role) -> Self {
        role.as_str().into()
    }
}

impl From<UserAgent> for Value {
    fn from(browser: UserAgent) -> Self {
        browser.to_text().into()
    }
}

/// Sessions that an older version started have no browser.
impl FromValue for UserAgent {
    fn from_value(value: Value) -> Option<Self> {
        let text = Option::<String>::from_value(value)?;
        Some(text.map_or_else(Self::default, |text| Self::from_text(&text)))
    }
}

/// A role that this version does not know has no rights.
impl FromValue for Role {
    fn from_value(value: Value) -> Option<Self> {
        Some(Self::from_name(&String::from_value(value)?).unwrap_or_default())
    }
}

/// Scopes that this version does not know are ignored.
impl FromValue for Scopes {
    fn from_value(value: Value) -> Option<Self> {
        Some(Self::parse_known(&String::from_value(value)?))
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value) -> Option<Self> {
        Self::from_second(i64::from_value(value)?).ok()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}
