//! The thread that writes: it takes what many callers have queued and commits it as one
//! transaction, then answers each of them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::store::cache::{Cache, Invalidation};
use crate::store::engine::{Batch, Rows, Statement};

/// A batch, and where its rows go.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<Outcome>,
}

type Outcome = rusqlite::Result<Vec<Rows>>;

/// What became of a group.
type Told = Vec<(oneshot::Sender<Outcome>, Outcome)>;

/// Tells callers what became of their batches. It is a task, so that the writer wakes one task for a
/// group, and that wakes the callers without leaving the runtime.
pub(super) async fn tell(mut groups: UnboundedReceiver<Told>) {
    while let Some(group) = groups.recv().await {
        for (reply, outcome) in group {
            // A caller who has gone away need not be told.
            drop(reply.send(outcome));
        }
    }
}

/// How many batches share a transaction at the most, so that the first does not wait for ever.
const GROUP: usize = 1024;

/// How often to look whether another process (a command) has written.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Serves until the queue is closed and empty.
pub(super) fn run(
    connection: &Connection,
    jobs: &Receiver<Job>,
    cache: &Cache,
    told: &UnboundedSender<Told>,
) {
    let mut group = Vec::with_capacity(GROUP);
    let mut last = 1;
    let mut seen = data_version(connection);
    loop {
        match jobs.recv_timeout(LOOK) {
            Ok(job) => {
                group.push(job);
                gather(jobs, &mut group, last);
                last = group.len();
                // Nobody listens only when the runtime is gone, and all callers with it.
                drop(told.send(commit(connection, &mut group, cache)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = data_version(connection);
        if now != seen {
            seen = now;
            cache.invalidate(&[Invalidation::Everything]);
        }
    }
}

/// Takes what is queued. Those who were told together mostly come back together, so as long as they
/// keep coming, up to as many as in the last group, the others are waited for.
fn gather(jobs: &Receiver<Job>, group: &mut Vec<Job>, last: usize) {
    group.extend(jobs.try_iter().take(GROUP - group.len()));
    let mut before = 0;
    while group.len() < last && group.len() > before {
        before = group.len();
        thread::yield_now();
        group.extend(jobs.try_iter().take(GROUP - group.len()));
    }
}

/// A number that changes when another connection has written, and not when this one has.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("pragma data_version").ok()?;
    pragma.query_row([], |row| row.get(0)).ok()
}

/// Writes a group in one transaction, and gives what to tell each caller. A batch that fails is
/// undone alone and told so; when the transaction as a whole fails, nobody is told that anything was
/// written.
fn commit(connection: &Connection, group: &mut Vec<Job>, cache: &Cache) -> Told {
    let mut outcomes = Vec::with_capacity(group.len());
    let written = (|| {
        execute(connection, "begin immediate")?;
        for job in &*group {
            outcomes.push(write(connection, &job.batch.statements)?);
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
            let told = |(job, outcome): (Job, Outcome)| {
                cache.invalidate(&job.batch.invalidations);
                (job.reply, outcome)
            };
            group.drain(..).zip(outcomes).map(told).collect()
        }
        Err(error) => group.drain(..).map(|job| (job.reply, Err(copy(&error)))).collect(),
    }
}

/// Runs the statements of one batch, all or none. It fails when a batch could not be undone: then
/// nothing of the whole group may be kept.
fn write(connection: &Connection, statements: &[Statement]) -> rusqlite::Result<Outcome> {
    if let [statement] = statements {
        // A single statement is atomic by itself.
        return Ok(super::run(connection, statement).map(|rows| vec![rows]));
    }
    execute(connection, "savepoint batch")?;
    let outcome = statements.iter().map(|statement| super::run(connection, statement)).collect();
    if Result::is_err(&outcome) && !connection.is_autocommit() {
        execute(connection, "rollback to batch")?;
    }
    if !connection.is_autocommit() {
        execute(connection, "release batch")?;
    }
    Ok(outcome)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sql;

    /// A connection with an empty table of numbers, each of which fits in once.
    fn numbers() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("create table numbers (number integer primary key)").unwrap();
        connection
    }

    fn insert(number: i64) -> Statement {
        sql("insert into numbers values ($1) returning number", [number.into()])
    }

    fn job(statements: Vec<Statement>) -> Job {
        Job { batch: Batch { statements, invalidations: Vec::new() }, reply: oneshot::channel().0 }
    }

    fn commit_all(connection: &Connection, mut group: Vec<Job>) -> Vec<Outcome> {
        let told = commit(connection, &mut group, &Cache::new(1 << 20, true));
        assert!(group.is_empty());
        told.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn kept(connection: &Connection) -> Vec<i64> {
        let mut select = connection.prepare("select number from numbers order by number").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_batch_that_fails_is_undone_and_the_others_of_its_group_are_kept() {
        let connection = numbers();
        let broken = || sql("insert into nowhere values (1)", []);
        let outcomes = commit_all(
            &connection,
            vec![
                job(vec![insert(1), insert(2)]),
                job(vec![insert(3), insert(1), insert(4)]),
                job(vec![insert(5)]),
                job(vec![insert(5)]),
                job(vec![insert(6), broken()]),
                job(vec![broken()]),
                job(vec![insert(3), insert(7)]),
            ],
        );
        let good: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(good, [true, false, true, false, false, false, true]);
        assert_eq!(kept(&connection), [1, 2, 3, 5, 7]);
        assert!(connection.is_autocommit(), "and the transaction is over");
    }

    #[test]
    fn when_the_transaction_is_lost_nobody_is_told_that_anything_was_written() {
        let connection = numbers();
        // As SQLite does by itself when the disk is full.
        let lost = sql("rollback", []);
        let outcomes = commit_all(
            &connection,
            vec![job(vec![insert(1)]), job(vec![lost]), job(vec![insert(2)])],
        );
        assert!(outcomes.iter().all(Result::is_err));
        assert_eq!(kept(&connection), [0; 0]);
        assert!(commit_all(&connection, vec![job(vec![insert(1)])])[0].is_ok(), "it goes on");
        assert_eq!(kept(&connection), [1]);
    }
}
