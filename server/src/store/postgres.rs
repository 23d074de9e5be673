//! The shared engine: PostgreSQL, pooled, prepared and pipelined.

mod listen;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use futures_util::future::{BoxFuture, join, join_all, join3};
use futures_util::{FutureExt, TryFutureExt};
use jiff::Timestamp;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::cache::Cache;
use super::engine::{Batch, Engine, Row, Rows, Statement, Value, sql};
use super::migrations;
use super::{Options, StoreError};
use crate::config::SecretUrl;

/// A PostgreSQL database.
pub(super) struct Postgres {
    pool: Pool,
    cache: Arc<Cache>,
    timeout: Duration,
    name: Arc<listen::Name>,
    _listener: listen::Listener,
}

impl Postgres {
    /// Connects, migrates, and begins to listen for the writes of other nodes.
    pub(super) async fn open(
        url: &SecretUrl,
        options: &Options,
        cache: Arc<Cache>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let failed = |reason: String| StoreError::Open { database: url.without_password(), reason };
        let mut config: Config = url.reveal().parse().map_err(|error| failed(told(&error)))?;
        config.application_name("belfry").connect_timeout(options.timeout);
        let tls = tls(&mut config).map_err(failed)?;

        let migrating = migrate(&config, tls.clone(), now, url);
        tokio::time::timeout(Duration::from_mins(1), migrating)
            .await
            .map_err(|_| failed("no answer within 60 seconds".to_owned()))??;

        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config.clone(), tls.clone(), recycling))
            .max_size(options.connections)
            .timeouts(Timeouts {
                wait: Some(options.timeout),
                create: Some(options.timeout),
                recycle: Some(options.timeout),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let name = Arc::new(listen::Name::new());
        let listener = listen::Listener::start(config, tls, Arc::clone(&cache), Arc::clone(&name));
        Ok(Self { pool, cache, timeout: options.timeout, name, _listener: listener })
    }
}

impl Engine for Postgres {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let reading = async move |client: &Object| query(client, &statement).await;
        within(self.pool.clone(), self.timeout, reading).boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Rows>, StoreError>> {
        let (cache, name) = (Arc::clone(&self.cache), Arc::clone(&self.name));
        let (pool, timeout) = (self.pool.clone(), self.timeout);
        // A task of its own: a caller who goes away must not leave the cache behind the database.
        let writing = tokio::spawn(async move {
            let writing = async |client: &Object| write(client, &batch, &name).await;
            let outcome = within(pool, timeout, writing).await;
            // Also after a failure: the commit may have been done, and only its answer lost. It may
            // even come later than this, and must then be heard of like another node's.
            if outcome.is_err() {
                name.change();
            }
            cache.forget(&batch.changes);
            outcome
        });
        writing
            .map(|joined| joined.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string()))))
            .boxed()
    }
}

/// Lends a connection to `work` for a bounded time. A connection that did not answer in time is
/// thrown away, since the answer may still come and be taken for another's.
async fn within<T>(
    pool: Pool,
    timeout: Duration,
    work: impl AsyncFnOnce(&Object) -> Result<T, tokio_postgres::Error>,
) -> Result<T, StoreError> {
    let client = pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => failure(&error),
        other => StoreError::Unavailable(other.to_string()),
    })?;
    if let Ok(outcome) = tokio::time::timeout(timeout, work(&client)).await {
        return outcome.map_err(|error| failure(&error));
    }
    drop(Object::take(client));
    Err(StoreError::Unavailable(format!("no answer within {} s", timeout.as_secs_f32())))
}

/// Runs a batch as one transaction, sent in one go: begin, the statements, what other nodes are
/// told, commit. When one of them fails PostgreSQL turns the commit into a rollback.
async fn write(
    client: &Object,
    batch: &Batch,
    name: &listen::Name,
) -> Result<Vec<Rows>, tokio_postgres::Error> {
    if let ([statement], []) = (&*batch.statements, &*batch.changes) {
        return Ok(vec![query(client, statement).await?]);
    }
    let told: Vec<Statement> = batch.changes.iter().map(|&change| name.tell(change)).collect();
    // Preparing waits for an answer the first time; it must not happen between begin and commit.
    for statement in batch.statements.iter().chain(&told) {
        client.prepare_cached(statement.sql).await?;
    }
    let statements = join_all(batch.statements.iter().map(|statement| query(client, statement)));
    let told = join_all(told.iter().map(|statement| query(client, statement)));
    let end = client.batch_execute("commit");
    let (begun, (rows, told, ended)) =
        join(client.batch_execute("begin"), join3(statements, told, end)).await;
    begun?;
    let rows = rows.into_iter().collect::<Result<_, _>>()?;
    told.into_iter().collect::<Result<Vec<_>, _>>()?;
    ended.map(|()| rows)
}

async fn query(client: &Object, statement: &Statement) -> Result<Rows, tokio_postgres::Error> {
    let prepared = client.prepare_cached(statement.sql).await?;
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    client.query(&prepared, &values).await?.iter().map(row).collect()
}

fn row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>().map(Row::new)
}

/// Runs the migrations that are missing, under a lock that other nodes wait for.
async fn migrate(
    config: &Config,
    tls: MakeRustlsConnect,
    now: Timestamp,
    url: &SecretUrl,
) -> Result<(), StoreError> {
    let database = url.without_password();
    let failed = |error: tokio_postgres::Error| StoreError::Open {
        database: database.clone(),
        reason: told(&error),
    };
    let (mut client, connection) = config.connect(tls).await.map_err(failed)?;
    let connection = tokio::spawn(connection.map(drop));
    let encoding = encoding(&client).map_err(failed).await?;
    if !matches!(encoding.as_str(), "UTF8" | "SQL_ASCII") {
        let reason = format!(
            "its encoding is {encoding}, which cannot hold every name; \
             make it with `create database … encoding 'UTF8'`"
        );
        return Err(StoreError::Open { database, reason });
    }
    let found = begin_migration(&mut client).map_err(failed).await?;
    let pending = migrations::pending(found).map_err(|known| StoreError::Newer {
        database: database.clone(),
        found,
        known,
    })?;
    for migration in pending {
        client.batch_execute(migration.postgres).await.map_err(failed)?;
        let note =
            sql("insert into migrations values ($1, $2)", [migration.number.into(), now.into()]);
        let [number, time] = [&note.values[0], &note.values[1]];
        client.execute(note.sql, &[number, time]).await.map_err(failed)?;
    }
    client.batch_execute("commit").await.map_err(failed)?;
    drop(client);
    drop(connection.await);
    Ok(())
}

/// How the database writes texts. `SQL_ASCII` takes any bytes as they come.
async fn encoding(client: &Client) -> Result<String, tokio_postgres::Error> {
    client.query_one("select current_setting('server_encoding')", &[]).await?.try_get(0)
}

/// The number of this lock is "belfry" in ASCII.
async fn begin_migration(client: &mut Client) -> Result<i64, tokio_postgres::Error> {
    client.batch_execute("begin; select pg_advisory_xact_lock(108170537071225)").await?;
    client.batch_execute(migrations::TABLE).await?;
    let newest = client.query_one("select coalesce(max(number), 0) from migrations", &[]).await?;
    newest.try_get(0)
}

/// TLS when the address says `sslmode=require`, with the certificates that the operating system
/// trusts; otherwise none. To encrypt without checking whom one speaks to helps nobody.
fn tls(config: &mut Config) -> Result<MakeRustlsConnect, String> {
    if config.get_ssl_mode() == SslMode::Require {
        return MakeRustlsConnect::with_native_certs()
            .map(|(connect, _)| connect)
            .map_err(|errors| format!("no trusted certificates were found: {errors:?}"));
    }
    config.ssl_mode(SslMode::Disable);
    let nobody = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
    Ok(MakeRustlsConnect::new(nobody.with_no_client_auth()))
}

/// Whether a failure passes by itself.
fn failure(error: &tokio_postgres::Error) -> StoreError {
    let passing = error.code().is_none_or(|code| {
        // Operator intervention, insufficient resources, connection exceptions, system errors,
        // and a server that has become a read-only standby.
        let class = &code.code()[..2];
        matches!(class, "57" | "53" | "08" | "58") || code.code() == "25006"
    });
    if passing { StoreError::Unavailable(told(error)) } else { StoreError::Failed(told(error)) }
}

/// The error with its cause, since its own text often says only "db error".
fn told(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
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

impl<'a> FromSql<'a> for Value {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Self::Integer),
            Type::INT4 => i32::from_sql(kind, raw).map(i64::from).map(Self::Integer),
            _ => <&str>::from_sql(kind, raw).map(Self::from),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::VOID) || <&str as FromSql>::accepts(kind)
    }
}
