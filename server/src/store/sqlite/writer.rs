//! The thread that writes: it takes what many callers have queued and commits it as one
//! transaction, then answers each of them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::store::cache::{Cache, Change};
use crate::store::engine::{Batch, Rows, Statement};

/// A batch, and where its rows go.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<Outcome>,
}

type Outcome = rusqlite::Result<Vec<Rows>>;

/// How many batches share a transaction at the most, so that the first does not wait for ever.
const GROUP: usize = 1024;

/// How often to look whether another process (a command) has written.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Serves until the queue is closed and empty.
pub(super) fn run(connection: &Connection, jobs: &Receiver<Job>, cache: &Cache) {
    let mut group = Vec::with_capacity(GROUP);
    let mut seen = data_version(connection);
    loop {
        match jobs.recv_timeout(LOOK) {
            Ok(job) => {
                group.push(job);
                group.extend(jobs.try_iter().take(GROUP - 1));
                commit(connection, &mut group, cache);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = data_version(connection);
        if now != seen {
            seen = now;
            cache.forget(&[Change::Everything]);
        }
    }
}

/// A number that changes when another connection has written, and not when this one has.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("pragma data_version").ok()?;
    pragma.query_row([], |row| row.get(0)).ok()
}

/// Writes a group in one transaction. A batch that fails is undone alone and told so; when the
/// transaction as a whole fails, nobody is told that anything was written.
fn commit(connection: &Connection, group: &mut Vec<Job>, cache: &Cache) {
    let mut outcomes = Vec::with_capacity(group.len());
    let written = (|| {
        execute(connection, "begin immediate")?;
        for job in &*group {
            outcomes.push(write(connection, &job.batch.statements));
            if connection.is_autocommit() {
                // SQLite gave up the whole transaction, as it does when the disk is full.
                return Err(took_all(outcomes.pop()));
            }
        }
        execute(connection, "commit")
    })();
    if written.is_err() && !connection.is_autocommit() {
        drop(execute(connection, "rollback"));
    }
    match written {
        Ok(()) => {
            for (job, outcome) in group.drain(..).zip(outcomes) {
                cache.forget(&job.batch.changes);
                drop(job.reply.send(outcome));
            }
        }
        Err(error) => {
            for job in group.drain(..) {
                drop(job.reply.send(Err(copy(&error))));
            }
        }
    }
}

/// Runs the statements of one batch, all or none.
fn write(connection: &Connection, statements: &[Statement]) -> Outcome {
    if let [statement] = statements {
        // A single statement is atomic by itself.
        return Ok(vec![super::run(connection, statement)?]);
    }
    execute(connection, "savepoint batch")?;
    let outcome = statements.iter().map(|statement| super::run(connection, statement)).collect();
    if Result::is_err(&outcome) && !connection.is_autocommit() {
        execute(connection, "rollback to batch")?;
    }
    if !connection.is_autocommit() {
        execute(connection, "release batch")?;
    }
    outcome
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn took_all(outcome: Option<Outcome>) -> rusqlite::Error {
    outcome.and_then(Result::err).unwrap_or(rusqlite::Error::ExecuteReturnedResults)
}

/// The same error for everybody who waited; `rusqlite::Error` cannot be cloned.
fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            rusqlite::Error::SqliteFailure(*code, message.clone())
        }
        other => rusqlite::Error::InvalidPath(other.to_string().into()),
    }
}
