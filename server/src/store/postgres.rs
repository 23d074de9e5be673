//! The PostgreSQL engine: pooled connections, prepared statements, pipelined transactions.

mod connect_error;
mod connections;
mod hosts;
mod indexes;
mod listen;
mod migrate;
pub(super) mod pooler;
mod server_state;
mod session;
mod tls;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join_all, join3};
use jiff::Timestamp;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use tokio_postgres::{Client, Column};
use tokio_util::task::AbortOnDropHandle;

use self::connect_error::reason;
use self::connections::{Connections, Object};
pub(super) use self::hosts::{Hosts, Receiver};
use self::listen::Listener;
pub(super) use self::migrate::{LOCK_SCHEMA, check_encoding, schema_version};
use super::cache::Cache;
use super::database;
use super::engine::{Batch, Engine, OnMissingRows, Row, Rows, Statement, Value};
use super::{Access, Options, SecretUrl, StoreError};
use crate::metrics::exposition::Exposition;

/// Minimum timeout of statements if the database is only read: the filter of a list may have to read
/// a large table.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);

/// A PostgreSQL database.
pub(super) struct Postgres {
    connections: Connections,
    cache: Arc<Cache>,
    node_id: Arc<listen::NodeId>,
    /// `None` if the database is only read.
    _listener: Option<AbortOnDropHandle<()>>,
}

impl Postgres {
    /// Connects, migrates, and starts listening for other nodes' writes.
    pub(super) async fn open(
        url: &SecretUrl,
        options: &Options,
        cache: Arc<Cache>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let database = url.without_password();
        let failed = |reason: String| StoreError::Open { database: database.clone(), reason };
        let hosts = Hosts::new(url, options.access == Access::ReadWrite)?;

        let migrating = migrate::migrate(&hosts, options, now, &database);
        migrating.await.map_err(|error| match error {
            StoreError::Unavailable(reason) => {
                StoreError::Unreachable { database: database.clone(), reason }
            }
            StoreError::Failed(reason) => failed(reason),
            other => other,
        })?;

        let timeout = match options.access {
            Access::ReadWrite => options.timeout,
            Access::Read => options.timeout.max(LIST_TIMEOUT),
        };
        let connections =
            Connections::new(hosts.clone(), &Options { timeout, ..*options }).map_err(failed)?;
        let node_id = Arc::new(listen::NodeId::new());
        if options.access == Access::Read {
            return Ok(Self { connections, cache, node_id, _listener: None });
        }
        let listener = Listener {
            hosts,
            connections: connections.clone(),
            cache: Arc::clone(&cache),
            node_id: Arc::clone(&node_id),
            is_reported: AtomicBool::new(false),
        };
        Ok(Self { connections, cache, node_id, _listener: Some(listener.start()) })
    }
}

/// Opens a connection that is not part of the pool, without timeouts of statements.
pub(super) async fn connect(url: &SecretUrl, options: &Options) -> Result<Client, StoreError> {
    let failed =
        |error| StoreError::Open { database: url.without_password(), reason: reason(error) };
    let connecting = Hosts::new(url, false)?.connect(options.timeout).await;
    let (client, connection, _) = connecting.map_err(failed)?;
    // Ends when the client is dropped.
    tokio::spawn(connection.map(drop));
    Ok(client)
}

impl Engine for Postgres {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let read = async move |client: &Object| query(client, &statement).await;
        self.connections.run(read).boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Rows>, StoreError>> {
        let (cache, node_id) = (Arc::clone(&self.cache), Arc::clone(&self.node_id));
        let connections = self.connections.clone();
        // In a separate task, so that a dropped future cannot leave the cache stale.
        let task = tokio::spawn(async move {
            cache.begin_write(&batch.invalidations);
            let write = async |client: &Object| {
                let start = Instant::now();
                let rows = write(client, &batch, &node_id).await;
                connections.metrics.commits.observe_since(start);
                rows
            };
            let write = AssertUnwindSafe(connections.run(write)).catch_unwind();
            let panicked = |_| Err(StoreError::Failed("the write panicked".to_owned()));
            let outcome = write.await.unwrap_or_else(panicked);
            // After an error the outcome of the commit is unknown; it may even happen later. With a
            // new node id its notification is processed like another node's.
            if outcome.is_err() {
                node_id.rotate();
            }
            cache.end_write(&batch.invalidations);
            outcome
        });
        task.map(|joined| joined.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string()))))
            .boxed()
    }

    fn name(&self) -> &'static str {
        "postgresql"
    }

    fn write_metrics(&self, out: &mut Exposition) {
        self.connections.write_metrics(out);
    }
}

/// Runs a batch as one pipelined transaction: begin, statements, notifications, commit. When one of
/// them fails, PostgreSQL turns the commit into a rollback.
async fn write(
    client: &Object,
    batch: &Batch,
    node_id: &listen::NodeId,
) -> Result<Vec<Rows>, tokio_postgres::Error> {
    if let ([statement], []) = (&*batch.statements, &*batch.invalidations) {
        return Ok(vec![query(client, statement).await?]);
    }
    let notifications: Vec<Statement> =
        batch.invalidations.iter().map(|&invalidation| node_id.notify(invalidation)).collect();
    let statements = || batch.statements.iter().chain(&notifications);
    // The first preparation waits for a response, which must not happen inside the pipeline.
    for statement in statements() {
        client.prepare_cached(statement.sql).await?;
    }
    // A single statement without rows has changed nothing.
    if batch.on_missing_rows == OnMissingRows::RollBack && batch.statements.len() > 1 {
        return write_in_two_steps(client, batch, &notifications).await;
    }
    let transaction_start = client.batch_execute("begin");
    let queries = join_all(statements().map(|statement| query(client, statement)));
    let commit = client.batch_execute("commit");
    let (begun, rows, committed) = join3(transaction_start, queries, commit).await;
    begun?;
    let mut rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    rows.truncate(batch.statements.len());
    committed.map(|()| rows)
}

/// Runs a batch that is committed or rolled back depending on its rows, so that the commit cannot be
/// sent together with the statements.
async fn write_in_two_steps(
    client: &Object,
    batch: &Batch,
    notifications: &[Statement],
) -> Result<Vec<Rows>, tokio_postgres::Error> {
    let transaction_start = client.batch_execute("begin");
    let queries = join_all(batch.statements.iter().map(|statement| query(client, statement)));
    let (begun, rows) = join(transaction_start, queries).await;
    let rows = begun.and_then(|()| rows.into_iter().collect::<Result<Vec<_>, _>>());
    if !rows.as_ref().is_ok_and(|rows| !batch.is_rolled_back(rows)) {
        // Also after an error: the connection returns to the pool.
        let rolled_back = client.batch_execute("rollback").await;
        return rows.and_then(|rows| rolled_back.map(|()| rows));
    }
    let notified = join_all(notifications.iter().map(|statement| query(client, statement)));
    let (notified, committed) = join(notified, client.batch_execute("commit")).await;
    notified.into_iter().collect::<Result<Vec<_>, _>>()?;
    committed.and(rows)
}

async fn query(client: &Object, statement: &Statement) -> Result<Rows, tokio_postgres::Error> {
    let prepared = client.prepare_cached(statement.sql).await?;
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    if statement.counts_changes {
        let changes = client.execute(&prepared, &values).await?;
        return Ok((0..changes).map(|_| Row::new(Vec::new())).collect());
    }
    client.query(&prepared, &values).await?.iter().map(read_row).collect()
}

fn read_row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let value = |(index, column): (usize, &Column)| match *column.type_() {
        // The result of `pg_notify`.
        Type::VOID => Ok(Value::Null),
        Type::INT8 => row.try_get::<_, Option<i64>>(index).map(Value::from),
        Type::INT4 => row.try_get::<_, Option<i32>>(index).map(|i| i.map(i64::from).into()),
        _ => row.try_get::<_, Option<String>>(index).map(Value::from),
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row::new)
}

/// Classifies an error as temporary or not.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let variant =
            if error.code().is_none_or(is_temporary) { Self::Unavailable } else { Self::Failed };
        variant(describe(&error))
    }
}

/// Operator intervention (a cancelled statement), insufficient resources, connection exceptions,
/// system errors, deadlocks and conflicts; a read-only server, a lock or a transaction that timed
/// out.
fn is_temporary(code: &SqlState) -> bool {
    let class = &code.code()[..2];
    matches!(class, "57" | "53" | "08" | "58" | "40")
        || matches!(code.code(), "25006" | "55P03" | "25P03")
}

/// The error with its causes, the state of a server that does not accept writes, and advice about a
/// rejected certificate or missing rights.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    let described = tls::describe_rejection(error).unwrap_or_else(|| database::describe(error));
    if let Some(state) = server_state::of(error) {
        return format!("{state}: {described}");
    }
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return format!("{described}; make the user of the URL the owner of the database");
    }
    described
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql_checked(kind, out),
            Self::Integer(integer) => integer.to_sql_checked(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        <i64 as ToSql>::accepts(kind) || <String as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}
