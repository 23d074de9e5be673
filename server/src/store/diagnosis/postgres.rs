//! The diagnosis of a PostgreSQL database.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use super::{Diagnosis, NEWEST_EVENT, SchemaState, TEST_WRITE};
use crate::clock::{Clock, SystemClock};
use crate::random;
use crate::store::postgres::{
    check_encoding, configure, connect, describe, describe_connect_error, schema_version,
};
use crate::store::{Options, SecretUrl, StoreError};

/// Maximum time until a notification arrives.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn diagnose(url: &SecretUrl, options: &Options) -> Result<Diagnosis, StoreError> {
    let database = url.without_password();
    let client = connect(url, options).await?;
    let failed = |error: StoreError| match error {
        StoreError::Failed(reason) | StoreError::Unavailable(reason) => {
            StoreError::Open { database: database.clone(), reason }
        }
        other => other,
    };
    check_encoding(&client).await.map_err(failed)?;
    let found = schema_version(&client).await.map_err(|error| failed(error.into()))?;
    let schema = SchemaState::of(found, &database)?;
    let clock_difference = clock_difference(&client).await.map_err(|error| failed(error.into()))?;
    let notifications = Some(send_notification(url, options, &client).await);
    if schema == SchemaState::Missing {
        let clock_difference = Some(clock_difference);
        return Ok(Diagnosis { notifications, clock_difference, ..Diagnosis::missing() });
    }
    let newest = client.query_opt(NEWEST_EVENT, &[]).await.ok().flatten();
    let newest: Option<i64> = newest.and_then(|row| row.try_get(0).ok().flatten());
    Ok(Diagnosis {
        schema,
        write: Some(try_write(&client).await.map_err(|error| describe(&error))),
        notifications,
        clock_difference: Some(clock_difference),
        newest_event: newest.and_then(|second| Timestamp::from_second(second).ok()),
    })
}

/// Writes and rolls back.
async fn try_write(client: &Client) -> Result<(), tokio_postgres::Error> {
    let statements = format!("begin; set local lock_timeout = '3s'; {TEST_WRITE}; rollback");
    client.batch_execute(&statements).await
}

/// By how much the clock of the server is ahead of ours, which is read in the middle of the query.
async fn clock_difference(client: &Client) -> Result<SignedDuration, tokio_postgres::Error> {
    let (now, start) = (SystemClock.now(), Instant::now());
    let milliseconds = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    let row = client.query_one(milliseconds, &[]).await?;
    let middle = SignedDuration::try_from(start.elapsed() / 2).unwrap_or_default();
    let theirs = SignedDuration::from_millis(row.try_get(0)?);
    Ok(theirs - now.as_duration() - middle)
}

/// Sends a notification from one connection to another, as nodes do.
async fn send_notification(
    url: &SecretUrl,
    options: &Options,
    sender: &Client,
) -> Result<(), String> {
    let (config, tls) = configure(url, options).map_err(|error| error.to_string())?;
    let connected = config.connect(tls).await;
    let (listener, mut connection) = connected.map_err(|error| describe_connect_error(&error))?;
    let channel = format!("belfry_doctor_{:016x}", u64::from_be_bytes(random::bytes()));
    let (arrived, mut notifications) = tokio::sync::mpsc::channel::<()>(1);
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    let _receiver = AbortOnDropHandle::new(tokio::spawn(messages.for_each(move |message| {
        if let Ok(AsyncMessage::Notification(_)) = message {
            let _already_arrived = arrived.try_send(());
        }
        std::future::ready(())
    })));
    let failed = |error: tokio_postgres::Error| describe(&error);
    listener.batch_execute(&format!("listen {channel}")).await.map_err(failed)?;
    sender.batch_execute(&format!("notify {channel}")).await.map_err(failed)?;
    match timeout(NOTIFICATION_TIMEOUT, notifications.recv()).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err("the connection was closed".to_owned()),
        Err(_) => Err("a notification did not arrive".to_owned()),
    }
}
