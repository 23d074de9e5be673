//! The PostgreSQL engine: pooled connections, prepared statements, pipelined transactions.

mod connections;
mod errors;
mod group_commit;
mod hosts;
mod indexes;
mod listen;
mod migrate;
mod pooled_connection;
pub(crate) mod pooler;
mod tls;
mod transaction;
mod writer;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::{Task, TaskStatus};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio_postgres::Client;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use self::connections::{ConnectionGuard, Connections};
use self::errors::error_reason;
use self::group_commit::GroupCommit;
pub(crate) use self::hosts::Hosts;
use self::listen::Listener;
pub(crate) use self::migrate::{LOCK_SCHEMA, check_encoding};
use self::writer::Writer;
use crate::cache::Cache;
use crate::engine::database::SecretUrl;
use crate::engine::options::{Access, Options};
use crate::engine::{Batch, BatchResult, Engine, Grouping, Rows, Statement, Value};
use crate::error::StoreError;

/// Minimum statement timeout if the database is only read, because filtering a list may scan a
/// large table.
const MIN_LIST_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Postgres {
    connections: Connections,
    writer: Writer,
    group_commit: GroupCommit,
    /// `None` if the database is only read.
    listener: Option<Task>,
}

impl Postgres {
    /// Connects, migrates, and starts listening for other nodes' writes unless the database is only
    /// read.
    pub(crate) async fn open(
        url: &SecretUrl,
        options: &Options,
        cache: Arc<Cache>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let database = url.without_password();
        let open_error = |reason: String| StoreError::Open { database: database.clone(), reason };
        let hosts = Hosts::new(url, options.access == Access::ReadWrite)?;

        let migration = migrate::migrate(&hosts, options, now, &database);
        migration.await.map_err(|error| match error {
            StoreError::Unavailable(reason) => {
                StoreError::Unreachable { database: database.clone(), reason }
            }
            StoreError::Failed(reason) => open_error(reason),
            error => error,
        })?;

        let timeout = match options.access {
            Access::ReadWrite => options.timeout,
            Access::Read => options.timeout.max(MIN_LIST_TIMEOUT),
        };
        let connections = Connections::new(hosts.clone(), &Options { timeout, ..*options })
            .map_err(open_error)?;
        let notifier = Arc::new(listen::NodeNotifier::new());
        let writer = Writer::new(connections.clone(), Arc::clone(&cache), Arc::clone(&notifier));
        let group_commit = GroupCommit::new(writer.clone());
        if options.access == Access::Read {
            return Ok(Self { connections, writer, group_commit, listener: None });
        }
        let listener = Listener {
            hosts,
            connections: connections.clone(),
            cache,
            notifier,
            is_disable_logged: AtomicBool::new(false),
        };
        Ok(Self { connections, writer, group_commit, listener: Some(listener.start()) })
    }
}

/// Opens a connection that is not part of the pool and does not have its statement timeout.
pub(crate) async fn connect(url: &SecretUrl, options: &Options) -> Result<Client, StoreError> {
    let open_error =
        |error| StoreError::Open { database: url.without_password(), reason: error_reason(error) };
    let outcome = Hosts::new(url, false)?.connect(options.timeout).await;
    let (client, connection, _) = outcome.map_err(open_error)?;
    // The task ends when the client is dropped.
    tokio::spawn(connection.map(drop));
    Ok(client)
}

impl Engine for Postgres {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let work = async move |client: &ConnectionGuard| {
            transaction::run_statement(client, &statement).await
        };
        self.connections.run(work).boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, BatchResult> {
        if batch.grouping != Grouping::Alone {
            return self.group_commit.write(batch);
        }
        let writer = self.writer.clone();
        // In a separate task, so that a dropped future cannot leave the cache stale.
        let task = tokio::spawn(async move {
            writer.begin_bypass(&batch);
            writer.write(&batch).await
        });
        task.map(|outcome| {
            outcome.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string())))
        })
        .boxed()
    }

    fn connection_error(&self) -> Option<String> {
        self.connections.last_error()
    }

    fn task_status(&self) -> Option<Arc<TaskStatus>> {
        self.listener.as_ref().map(Task::status)
    }

    fn name(&self) -> &'static str {
        "postgresql"
    }

    fn write_metrics(&self, out: &mut Exposition) {
        self.connections.write_metrics(out);
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        postgres_type: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql_checked(postgres_type, out),
            Self::Integer(integer) => integer.to_sql_checked(postgres_type, out),
        }
    }

    fn accepts(postgres_type: &Type) -> bool {
        <i64 as ToSql>::accepts(postgres_type) || <String as ToSql>::accepts(postgres_type)
    }

    to_sql_checked!();
}
