//! Transactions whose statements are pipelined: sent together, before the first response arrives.

use std::future::poll_fn;
use std::task::Poll;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Column, Error};

use super::connections::Object;
use super::listen::NodeNotifier;
use crate::engine::{Batch, OnMissingRows, Row, Rows, Statement, Value};

/// The end of a transaction, as reported by the server.
pub(super) enum End {
    /// It is durable, and its statements returned these rows.
    Committed(Vec<Rows>),
    /// It was rolled back because a statement failed with this error.
    RolledBack(Error),
}

/// Runs a batch in a separate transaction: begin, statements, notifications, commit. A single
/// statement without notifications needs no explicit transaction.
pub(super) async fn write(
    client: &Object,
    batch: &Batch,
    notifier: &NodeNotifier,
) -> Result<Vec<Rows>, Error> {
    if let ([statement], []) = (&*batch.statements, &*batch.invalidations) {
        return Ok(vec![read(client, statement).await?]);
    }
    let notification = notifier.notify_statement(batch.invalidations.iter());
    // A single statement without rows has changed nothing.
    if batch.on_missing_rows == OnMissingRows::RollBack && batch.statements.len() > 1 {
        return write_in_two_steps(client, batch, notification.as_ref()).await;
    }
    let statements: Vec<&Statement> = batch.statements.iter().chain(&notification).collect();
    match run(client, "begin", &statements).await? {
        End::Committed(mut rows) => {
            rows.truncate(batch.statements.len());
            Ok(rows)
        }
        End::RolledBack(error) => Err(error),
    }
}

/// Runs a transaction in one round trip. When a statement fails, PostgreSQL turns the commit into a
/// rollback. An error means that the outcome is unknown.
pub(super) async fn run(
    client: &Object,
    begin: &str,
    statements: &[&Statement],
) -> Result<End, Error> {
    let prepared = prepare(client, statements).await?;
    let begin_response = send(client.batch_execute(begin)).await;
    let queries = send_all(client, statements, &prepared).await;
    let commit_response = send(client.batch_execute("commit")).await;
    let begin_outcome = begin_response.await;
    let rows = receive_all(queries).await;
    let commit_outcome = commit_response.await;
    match begin_outcome.and(rows) {
        Ok(rows) => commit_outcome.map(|()| End::Committed(rows)),
        Err(error) if commit_outcome.is_ok() => Ok(End::RolledBack(error)),
        Err(error) => Err(error),
    }
}

/// Runs a batch that is committed or rolled back depending on its rows, so the commit cannot be
/// sent together with the statements.
async fn write_in_two_steps(
    client: &Object,
    batch: &Batch,
    notification: Option<&Statement>,
) -> Result<Vec<Rows>, Error> {
    let statements: Vec<&Statement> = batch.statements.iter().collect();
    let notification: Vec<&Statement> = notification.into_iter().collect();
    let prepared = prepare(client, &statements).await?;
    let prepared_notification = prepare(client, &notification).await?;
    let begin_response = send(client.batch_execute("begin")).await;
    let queries = send_all(client, &statements, &prepared).await;
    let begin_outcome = begin_response.await;
    let rows = begin_outcome.and(receive_all(queries).await);
    if !rows.as_ref().is_ok_and(|rows| !batch.is_rolled_back(rows)) {
        // Done even after an error, because the connection returns to the pool.
        let rollback_outcome = client.batch_execute("rollback").await;
        return rows.and_then(|rows| rollback_outcome.map(|()| rows));
    }
    let queries = send_all(client, &notification, &prepared_notification).await;
    let commit_response = send(client.batch_execute("commit")).await;
    let notification_outcome = receive_all(queries).await;
    let commit_outcome = commit_response.await;
    notification_outcome.and(commit_outcome).and(rows)
}

/// Prepares statements, once per connection. This waits for responses, so it must not happen while
/// a transaction is being sent.
async fn prepare(
    client: &Object,
    statements: &[&Statement],
) -> Result<Vec<tokio_postgres::Statement>, Error> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        prepared.push(client.prepare_cached(statement.sql).await?);
    }
    Ok(prepared)
}

/// Sends a request now, and returns the future of its response. `tokio-postgres` sends a request
/// when its future is polled for the first time, and `join_all` does not guarantee the order.
async fn send<F: Future>(request: F) -> impl Future<Output = F::Output> {
    let mut request = Box::pin(request);
    let first = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
    async move {
        match first {
            Poll::Ready(response) => response,
            Poll::Pending => request.await,
        }
    }
}

/// Sends the statements in their order.
async fn send_all(
    client: &Object,
    statements: &[&Statement],
    prepared: &[tokio_postgres::Statement],
) -> Vec<impl Future<Output = Result<Rows, Error>>> {
    let mut responses = Vec::with_capacity(statements.len());
    for (statement, prepared) in statements.iter().zip(prepared) {
        responses.push(send(query(client, prepared, statement)).await);
    }
    responses
}

/// Waits for all responses. Returns the rows of each, or the first error: the errors of later
/// statements say only that the transaction is aborted.
async fn receive_all(
    responses: Vec<impl Future<Output = Result<Rows, Error>>>,
) -> Result<Vec<Rows>, Error> {
    let mut all = Ok(Vec::with_capacity(responses.len()));
    for response in responses {
        let response = response.await;
        all = all.and_then(|mut all: Vec<Rows>| {
            all.push(response?);
            Ok(all)
        });
    }
    all
}

/// Runs one statement without a transaction around it.
pub(super) async fn read(client: &Object, statement: &Statement) -> Result<Rows, Error> {
    let prepared = client.prepare_cached(statement.sql).await?;
    query(client, &prepared, statement).await
}

/// Runs a prepared statement and returns its rows, or an empty row for each change if it counts
/// changes.
async fn query(
    client: &Object,
    prepared: &tokio_postgres::Statement,
    statement: &Statement,
) -> Result<Rows, Error> {
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    if statement.counts_changes {
        let changes = client.execute(prepared, &values).await?;
        return Ok((0..changes).map(|_| Row::new(Vec::new())).collect());
    }
    client.query(prepared, &values).await?.iter().map(read_row).collect()
}

fn read_row(row: &tokio_postgres::Row) -> Result<Row, Error> {
    let read_value = |(index, column): (usize, &Column)| match *column.type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(index).map(Value::from),
        Type::INT4 => row.try_get::<_, Option<i32>>(index).map(|i| i.map(i64::from).into()),
        _ => row.try_get::<_, Option<String>>(index).map(Value::from),
    };
    row.columns().iter().enumerate().map(read_value).collect::<Result<_, _>>().map(Row::new)
}
