//! Transactions whose statements are pipelined: sent together, before the first response arrives.

use std::future::poll_fn;
use std::task::Poll;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Column, Error};

use super::connections::ConnectionGuard;
use super::listen::NodeNotifier;
use crate::engine::{Batch, OnMissingRows, Row, Rows, Statement, Value};

/// The end of a transaction, as reported by the server.
pub(super) enum TransactionOutcome {
    /// It is durable, and its statements returned these rows.
    Committed(Vec<Rows>),
    /// It was rolled back because a statement failed with this error.
    RolledBack(Error),
}

/// Runs a batch in a separate transaction: begin, statements, notifications, commit. A single
/// statement without notifications needs no explicit transaction.
pub(super) async fn write_batch(
    client: &ConnectionGuard,
    batch: &Batch,
    notifier: &NodeNotifier,
) -> Result<Vec<Rows>, Error> {
    if let ([statement], []) = (&*batch.statements, &*batch.invalidations) {
        return Ok(vec![run_statement(client, statement).await?]);
    }
    let notification = notifier.notify_statement(batch.invalidations.iter());
    // A single statement without rows has changed nothing, so there is nothing to roll back.
    if batch.on_missing_rows == OnMissingRows::RollBack && batch.statements.len() > 1 {
        return write_in_two_steps(client, batch, notification.as_ref()).await;
    }
    let statements: Vec<&Statement> = batch.statements.iter().chain(&notification).collect();
    match run_transaction(client, "begin", &statements).await? {
        TransactionOutcome::Committed(mut rows) => {
            rows.truncate(batch.statements.len());
            Ok(rows)
        }
        TransactionOutcome::RolledBack(error) => Err(error),
    }
}

/// Sends a transaction in one round trip, once its statements are prepared. When a statement fails,
/// PostgreSQL turns the commit into a rollback. After an error from a later step the outcome is
/// unknown.
pub(super) async fn run_transaction(
    client: &ConnectionGuard,
    begin: &str,
    statements: &[&Statement],
) -> Result<TransactionOutcome, Error> {
    let prepared = prepare(client, statements).await?;
    let begin_response = send_request(client.batch_execute(begin)).await;
    let responses = send_statements(client, statements, &prepared).await;
    let commit_response = send_request(client.batch_execute("commit")).await;
    let begin_outcome = begin_response.await;
    let rows = receive_rows(responses).await;
    let commit_outcome = commit_response.await;
    match begin_outcome.and(rows) {
        Ok(rows) => commit_outcome.map(|()| TransactionOutcome::Committed(rows)),
        Err(error) if commit_outcome.is_ok() => Ok(TransactionOutcome::RolledBack(error)),
        Err(error) => Err(error),
    }
}

/// Runs a batch that is committed or rolled back depending on its rows, so the commit cannot be
/// sent together with the statements.
async fn write_in_two_steps(
    client: &ConnectionGuard,
    batch: &Batch,
    notification: Option<&Statement>,
) -> Result<Vec<Rows>, Error> {
    let statements: Vec<&Statement> = batch.statements.iter().collect();
    let notification: Vec<&Statement> = notification.into_iter().collect();
    let prepared = prepare(client, &statements).await?;
    let prepared_notification = prepare(client, &notification).await?;
    let begin_response = send_request(client.batch_execute("begin")).await;
    let responses = send_statements(client, &statements, &prepared).await;
    let begin_outcome = begin_response.await;
    let rows = begin_outcome.and(receive_rows(responses).await);
    if rows.as_ref().map_or(true, |rows| batch.should_roll_back(rows)) {
        // Done even after an error, because the connection returns to the pool.
        let rollback_outcome = client.batch_execute("rollback").await;
        return rows.and_then(|rows| rollback_outcome.map(|()| rows));
    }
    let responses = send_statements(client, &notification, &prepared_notification).await;
    let commit_response = send_request(client.batch_execute("commit")).await;
    let notification_outcome = receive_rows(responses).await;
    let commit_outcome = commit_response.await;
    notification_outcome.and(commit_outcome).and(rows)
}

/// Prepares statements, once per connection. This waits for responses, so it must not happen while
/// a transaction is being sent.
async fn prepare(
    client: &ConnectionGuard,
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
async fn send_request<F: Future>(request: F) -> impl Future<Output = F::Output> {
    let mut request = Box::pin(request);
    let first_poll = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
    async move {
        match first_poll {
            Poll::Ready(response) => response,
            Poll::Pending => request.await,
        }
    }
}

async fn send_statements(
    client: &ConnectionGuard,
    statements: &[&Statement],
    prepared: &[tokio_postgres::Statement],
) -> Vec<impl Future<Output = Result<Rows, Error>>> {
    let mut responses = Vec::with_capacity(statements.len());
    for (statement, prepared) in statements.iter().zip(prepared) {
        responses.push(send_request(run_prepared(client, prepared, statement)).await);
    }
    responses
}

/// Waits for all responses. Returns the rows of each, or the first error: the errors of later
/// statements say only that the transaction is aborted.
async fn receive_rows(
    responses: Vec<impl Future<Output = Result<Rows, Error>>>,
) -> Result<Vec<Rows>, Error> {
    let mut all_rows = Ok(Vec::with_capacity(responses.len()));
    for response in responses {
        let response = response.await;
        all_rows = all_rows.and_then(|mut rows: Vec<Rows>| {
            rows.push(response?);
            Ok(rows)
        });
    }
    all_rows
}

/// Runs one statement without a transaction around it.
pub(super) async fn run_statement(
    client: &ConnectionGuard,
    statement: &Statement,
) -> Result<Rows, Error> {
    let prepared = client.prepare_cached(statement.sql).await?;
    run_prepared(client, &prepared, statement).await
}

/// Runs a prepared statement and returns its rows, or one empty row per changed row if the
/// statement counts changes.
async fn run_prepared(
    client: &ConnectionGuard,
    prepared: &tokio_postgres::Statement,
    statement: &Statement,
) -> Result<Rows, Error> {
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    if statement.counts_changes {
        let change_count = client.execute(prepared, &values).await?;
        return Ok((0..change_count).map(|_| Row::new(Vec::new())).collect());
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
