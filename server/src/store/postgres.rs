//! The PostgreSQL engine: pooled connections, prepared statements, pipelined transactions.

mod connections;
mod listen;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all, join3};
use jiff::Timestamp;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use tokio_postgres::{Client, Column, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;

use self::connections::Connections;
use self::listen::Listener;
use super::cache::Cache;
use super::engine::{Batch, Engine, Row, Rows, Statement, Value};
use super::migrations;
use super::{Access, Options, SecretUrl, StoreError};

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
        let (mut config, tls) = configure(url, options)?;

        let migrating = migrate(&config, tls.clone(), options, now, &database);
        tokio::time::timeout(Duration::from_mins(1), migrating)
            .await
            .unwrap_or_else(|_| Err(StoreError::Failed("no response within 60 seconds".into())))
            .map_err(|error| match error {
                StoreError::Unavailable(reason) | StoreError::Failed(reason) => failed(reason),
                other => other,
            })?;

        let timeout = match options.access {
            Access::ReadWrite => options.timeout,
            Access::Read => options.timeout.max(LIST_TIMEOUT),
        };
        connections::set_server_timeouts(&mut config, timeout);
        let connections = Connections::new(&config, tls.clone(), &Options { timeout, ..*options })
            .map_err(failed)?;
        let node_id = Arc::new(listen::NodeId::new());
        if options.access == Access::Read {
            return Ok(Self { connections, cache, node_id, _listener: None });
        }
        let listener = Listener {
            config,
            tls,
            connections: connections.clone(),
            cache: Arc::clone(&cache),
            node_id: Arc::clone(&node_id),
            is_reported: AtomicBool::new(false),
        };
        Ok(Self { connections, cache, node_id, _listener: Some(listener.start()) })
    }
}

/// The parameters of a connection, without timeouts of statements.
fn configure(
    url: &SecretUrl,
    options: &Options,
) -> Result<(Config, MakeRustlsConnect), StoreError> {
    let failed = |reason| StoreError::Open { database: url.without_password(), reason };
    let mut config: Config = url.reveal().parse().map_err(|error| failed(describe(&error)))?;
    config.application_name("belfry").connect_timeout(options.timeout);
    let tls = tls(&mut config).map_err(failed)?;
    Ok((config, tls))
}

/// Opens a connection that is not part of the pool, without timeouts of statements.
pub(super) async fn connect(url: &SecretUrl, options: &Options) -> Result<Client, StoreError> {
    let (config, tls) = configure(url, options)?;
    let (client, connection) = config.connect(tls).await.map_err(|error| StoreError::Open {
        database: url.without_password(),
        reason: describe(&error),
    })?;
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
            let write = async |client: &Object| write(client, &batch, &node_id).await;
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
    let transaction_start = client.batch_execute("begin");
    let queries = join_all(statements().map(|statement| query(client, statement)));
    let commit = client.batch_execute("commit");
    let (begun, rows, committed) = join3(transaction_start, queries, commit).await;
    begun?;
    let mut rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    rows.truncate(batch.statements.len());
    committed.map(|()| rows)
}

async fn query(client: &Object, statement: &Statement) -> Result<Rows, tokio_postgres::Error> {
    let prepared = client.prepare_cached(statement.sql).await?;
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
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

/// Takes the advisory lock of the schema (an arbitrary number) until the end of the transaction.
pub(super) const LOCK_SCHEMA: &str = "select pg_advisory_xact_lock(108170537071225)";

/// Rejects a database whose encoding cannot store all text.
pub(super) async fn check_encoding(client: &Client) -> Result<(), StoreError> {
    let encoding = client.query_one("select current_setting('server_encoding')", &[]).await?;
    let encoding: &str = encoding.try_get(0)?;
    // `SQL_ASCII` accepts any bytes.
    if matches!(encoding, "UTF8" | "SQL_ASCII") {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "its encoding is {encoding}, which cannot store all text; \
         create it with `create database … encoding 'UTF8'`"
    )))
}

/// Applies the pending migrations in a transaction under an advisory lock. If the database is only
/// read, its version is checked without the lock.
async fn migrate(
    config: &Config,
    tls: MakeRustlsConnect,
    options: &Options,
    now: Timestamp,
    database: &str,
) -> Result<(), StoreError> {
    let (client, connection) = config.connect(tls).await?;
    let connection = tokio::spawn(connection.map(drop));
    check_encoding(&client).await?;
    let newest = "select coalesce(max(number), 0) from migrations";
    if options.access == Access::Read {
        let has_schema = "select to_regclass('migrations') is not null";
        let has_schema: bool = client.query_one(has_schema, &[]).await?.try_get(0)?;
        let found = if has_schema { client.query_one(newest, &[]).await?.try_get(0)? } else { 0 };
        return options.schema.pending(database, found).map(drop);
    }
    client.batch_execute(&format!("begin; {LOCK_SCHEMA}")).await?;
    client.batch_execute(migrations::TABLE).await?;
    let newest = client.query_one(newest, &[]).await?;
    for migration in options.schema.pending(database, newest.try_get(0)?)? {
        client.batch_execute(migration.postgres).await?;
        let insert = "insert into migrations values ($1, $2)";
        client.execute(insert, &[&migration.number, &now.as_second()]).await?;
    }
    client.batch_execute("commit").await?;
    drop(client);
    drop(connection.await);
    Ok(())
}

/// TLS with the operating system's root certificates if the URL has `sslmode=require`, otherwise no
/// TLS. Encryption without verifying the server would not protect against an active attacker.
fn tls(config: &mut Config) -> Result<MakeRustlsConnect, String> {
    if config.get_ssl_mode() == SslMode::Require {
        return MakeRustlsConnect::with_native_certs()
            .map(|(connect, _)| connect)
            .map_err(|errors| format!("no root certificates found: {errors:?}"));
    }
    config.ssl_mode(SslMode::Disable);
    let unused = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
    Ok(MakeRustlsConnect::new(unused.with_no_client_auth()))
}

/// Classifies an error as temporary or not.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_temporary = error.code().is_none_or(|code| {
            // Operator intervention (a cancelled statement), insufficient resources, connection
            // exceptions, system errors, deadlocks and conflicts; a read-only server, a lock or a
            // transaction that timed out.
            let class = &code.code()[..2];
            matches!(class, "57" | "53" | "08" | "58" | "40")
                || matches!(code.code(), "25006" | "55P03" | "25P03")
        });
        let variant = if is_temporary { Self::Unavailable } else { Self::Failed };
        variant(describe(&error))
    }
}

/// The error with its causes; its own text is often only "db error".
fn describe(error: &tokio_postgres::Error) -> String {
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
