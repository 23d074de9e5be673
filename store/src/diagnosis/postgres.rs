//! The diagnosis of a PostgreSQL database.

use std::time::{Duration, Instant};

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::random;
use futures_util::{FutureExt, StreamExt, stream};
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use super::{Diagnosis, Durability};
use crate::migrations::{SchemaPolicy, SchemaVersion, TEST_INSERT};
use crate::postgres::{
    Hosts, MessageReceiver, check_encoding, describe_error, pooler, schema_version,
};
use crate::{Options, SecretUrl, StoreError};

/// Maximum time until a notification arrives.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn diagnose(url: &SecretUrl, options: &Options) -> Result<Diagnosis, StoreError> {
    let database = url.without_password();
    let hosts = Hosts::new(url, false)?;
    let to_error = |error: StoreError| match error {
        StoreError::Failed(reason) | StoreError::Unavailable(reason) => {
            StoreError::Open { database: database.clone(), reason }
        }
        error => error,
    };
    let (client, connection, _) = hosts.connect(options.timeout).await.map_err(to_error)?;
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection.map(drop)));
    let (listener, receiver, _) = hosts.connect(options.timeout).await.map_err(to_error)?;
    let (arrivals, notifications) = mpsc::channel(1);
    let _receiver = AbortOnDropHandle::new(tokio::spawn(forward_notifications(receiver, arrivals)));
    pooler::check_pool_mode(&client, &listener).await.map_err(to_error)?;
    check_encoding(&client).await.map_err(to_error)?;
    let version = schema_version(&client).await.map_err(|error| to_error(error.into()))?;
    options.migrations.pending(SchemaPolicy::Migrate, &database, version)?;
    let clock_difference =
        measure_clock_difference(&client).await.map_err(|error| to_error(error.into()))?;
    let notifications = check_notifications(&client, &listener, notifications).await;
    let mut diagnosis = Diagnosis {
        supported_schema_version: options.migrations.newest(),
        notifications: Some(notifications),
        // A different server with PostgreSQL's protocol may not report these settings.
        durability: read_durability(&client, hosts.has_several()).await.ok(),
        clock_difference: Some(clock_difference),
        ..Diagnosis::default()
    };
    if version != SchemaVersion::NONE {
        diagnosis.schema_version = Some(version.number);
        diagnosis.write_outcome =
            Some(try_write(&client).await.map_err(|error| describe_error(&error)));
    }
    Ok(diagnosis)
}

/// Writes a row and rolls back.
async fn try_write(client: &Client) -> Result<(), tokio_postgres::Error> {
    let statements = format!("begin; set local lock_timeout = '3s'; {TEST_INSERT}; rollback");
    client.batch_execute(&statements).await
}

/// Reads the settings that allow acknowledged writes to be lost. With several servers a standby may
/// be promoted, so commits must wait for one.
async fn read_durability(
    client: &Client,
    has_several_hosts: bool,
) -> Result<Durability, tokio_postgres::Error> {
    let select = "select current_setting('fsync'), current_setting('full_page_writes'),
        current_setting('synchronous_commit'), current_setting('synchronous_standby_names')";
    let row = client.query_one(select, &[]).await?;
    let mut disabled_settings = Vec::new();
    for (column, name) in
        ["fsync", "full_page_writes", "synchronous_commit"].into_iter().enumerate()
    {
        if row.try_get::<_, &str>(column)? == "off" {
            disabled_settings.push(name);
        }
    }
    let (synchronous_commit, standby_names): (&str, &str) = (row.try_get(2)?, row.try_get(3)?);
    let waits_for_standby =
        !standby_names.is_empty() && !matches!(synchronous_commit, "local" | "off");
    Ok(Durability {
        disabled_settings,
        is_standby_asynchronous: has_several_hosts && !waits_for_standby,
    })
}

/// Returns the time by which the server's clock is ahead of ours, assuming that the server reads it
/// halfway through the query.
async fn measure_clock_difference(
    client: &Client,
) -> Result<SignedDuration, tokio_postgres::Error> {
    let (now, start) = (SystemClock.now(), Instant::now());
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
    mut notifications: mpsc::Receiver<()>,
) -> Result<(), String> {
    let channel = format!("belfry_doctor_{:016x}", u64::from_be_bytes(random::bytes()));
    let to_error = |error: tokio_postgres::Error| describe_error(&error);
    listener.batch_execute(&format!("listen {channel}")).await.map_err(to_error)?;
    sender.batch_execute(&format!("notify {channel}")).await.map_err(to_error)?;
    match timeout(NOTIFICATION_TIMEOUT, notifications.recv()).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err("the connection was closed".to_owned()),
        Err(_) => Err("a notification did not arrive".to_owned()),
    }
}

/// Sends a message for each notification until the connection is closed.
async fn forward_notifications(mut receiver: MessageReceiver, arrivals: mpsc::Sender<()>) {
    let mut messages = stream::poll_fn(move |context| receiver.poll_message(context));
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(_) = message {
            let _already_arrived = arrivals.try_send(());
        }
    }
}
