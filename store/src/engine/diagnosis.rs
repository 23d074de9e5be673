//! Database checks of `belfry doctor`, which create and change nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::random;
use futures_util::{FutureExt, StreamExt, stream};
use jiff::SignedDuration;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use crate::engine::database::{Database, SecretUrl};
use crate::engine::migrations::{MIGRATIONS, SchemaPolicy, SchemaVersion, TEST_INSERT};
use crate::engine::options::Options;
use crate::engine::postgres::{
    ConnectionDriver, Hosts, check_encoding, describe_error, pooler, schema_version,
};
use crate::engine::sqlite::{self, BUSY_TIMEOUT, ExistingDatabase, database_exists, open_existing};
use crate::error::StoreError;

/// Maximum time until a notification arrives.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(3);

/// The state of a database that can be opened.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// The database's schema version; `None` if the database does not exist or is empty.
    pub schema_version: Option<i64>,
    pub supported_schema_version: i64,
    /// The outcome of a write that is rolled back; `None` without a schema.
    pub write_outcome: Option<Result<(), String>>,
    /// The outcome of a notification like those between nodes; `None` with SQLite.
    pub notifications: Option<Result<(), String>>,
    /// The database server's clock minus this machine's; `None` with SQLite.
    pub clock_offset: Option<SignedDuration>,
}

impl Diagnosis {
    pub async fn run(database: &Database, options: &Options) -> Result<Self, StoreError> {
        match database {
            Database::Postgres(url) => diagnose_postgres(url, options).await,
            Database::Sqlite(path) => {
                let path = path.clone();
                let task = tokio::task::spawn_blocking(move || diagnose_sqlite(&path));
                task.await.map_err(|panic| StoreError::Failed(panic.to_string()))?
            }
        }
    }
}

async fn diagnose_postgres(url: &SecretUrl, options: &Options) -> Result<Diagnosis, StoreError> {
    let database = url.without_password();
    let hosts = Hosts::new(url, false)?;
    let to_open_error = |error: StoreError| match error {
        StoreError::Failed(reason) | StoreError::Unavailable(reason) => {
            StoreError::Open { database: database.clone(), reason }
        }
        error => error,
    };
    let (client, connection, _) = hosts.connect(options.timeout).await.map_err(to_open_error)?;
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection.map(drop)));
    let (listener, driver, _) = hosts.connect(options.timeout).await.map_err(to_open_error)?;
    let (arrival_sender, arrivals) = mpsc::channel(1);
    let forward = forward_notifications(driver, arrival_sender);
    let _forwarder = AbortOnDropHandle::new(tokio::spawn(forward));
    pooler::check_pool_mode(&client, &listener).await.map_err(to_open_error)?;
    check_encoding(&client).await.map_err(to_open_error)?;
    let version = schema_version(&client).await.map_err(|error| to_open_error(error.into()))?;
    // Fails if the schema is too new.
    MIGRATIONS.pending(SchemaPolicy::Migrate, &database, version)?;
    let clock_offset =
        measure_clock_offset(&client).await.map_err(|error| to_open_error(error.into()))?;
    let notification_outcome = check_notifications(&client, &listener, arrivals).await;
    let mut diagnosis = Diagnosis {
        supported_schema_version: MIGRATIONS.newest(),
        notifications: Some(notification_outcome),
        clock_offset: Some(clock_offset),
        ..Diagnosis::default()
    };
    if version != SchemaVersion::NONE {
        diagnosis.schema_version = Some(version.number);
        diagnosis.write_outcome =
            Some(try_postgres_write(&client).await.map_err(|error| describe_error(&error)));
    }
    Ok(diagnosis)
}

/// Writes a row and rolls back.
async fn try_postgres_write(client: &Client) -> Result<(), tokio_postgres::Error> {
    let statements = format!("begin; set local lock_timeout = '3s'; {TEST_INSERT}; rollback");
    client.batch_execute(&statements).await
}

/// Returns the lead of the server's clock over this machine's, assuming that the server reads it
/// halfway through the query.
async fn measure_clock_offset(client: &Client) -> Result<SignedDuration, tokio_postgres::Error> {
    let now = SystemClock.now();
    let start = Instant::now();
    let select = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    let row = client.query_one(select, &[]).await?;
    let half_duration = SignedDuration::try_from(start.elapsed() / 2).unwrap_or_default();
    let server_time = SignedDuration::from_millis(row.try_get(0)?);
    Ok(server_time - now.as_duration() - half_duration)
}

/// Checks that a notification from one connection arrives at another, as between nodes.
async fn check_notifications(
    sender: &Client,
    listener: &Client,
    mut arrivals: mpsc::Receiver<()>,
) -> Result<(), String> {
    let channel = format!("belfry_doctor_{:016x}", u64::from_be_bytes(random::bytes()));
    let describe = |error: tokio_postgres::Error| describe_error(&error);
    listener.batch_execute(&format!("listen {channel}")).await.map_err(describe)?;
    sender.batch_execute(&format!("notify {channel}")).await.map_err(describe)?;
    match timeout(NOTIFICATION_TIMEOUT, arrivals.recv()).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err("the connection was closed".to_owned()),
        Err(_) => Err("no notification arrived within 3 seconds".to_owned()),
    }
}

/// Signals that a notification has arrived. Ends when the connection is closed.
async fn forward_notifications(mut driver: ConnectionDriver, arrival_sender: mpsc::Sender<()>) {
    let mut messages = stream::poll_fn(move |context| driver.poll_message(context));
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(_) = message {
            let _ = arrival_sender.try_send(()); // One signal is enough.
        }
    }
}

fn diagnose_sqlite(path: &Path) -> Result<Diagnosis, StoreError> {
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
            Some(try_sqlite_write(path).map_err(|error| sqlite::describe_error(path, &error)));
    }
    Ok(diagnosis)
}

/// Writes a row and rolls back, so nothing reaches the file.
fn try_sqlite_write(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("begin immediate")?;
    connection.execute_batch(TEST_INSERT)?;
    connection.execute_batch("rollback")
}
