//! The writer thread: commits all queued batches as one transaction (group commit), then replies to
//! each caller.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::wal::{self, Wal};
use crate::cache::{Cache, Invalidation};
use crate::engine::{Batch, BatchResult, Rows};
use crate::metrics::SqliteMetrics;

/// A batch and the channel for its rows.
pub(super) struct WriteJob {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<BatchResult>,
}

/// Maximum number of batches in a transaction, to bound the latency of the first.
const MAX_GROUP_BATCHES: usize = 1024;

/// Interval at which writes of other processes are detected.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Interval between calls of [`maintain_files`].
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// Number of pages that are returned to the file system in one transaction: 4 MiB.
const VACUUM_PAGES: i64 = 1024;

/// Writes queued batches, detects writes of other processes, and maintains the files until the
/// queue is closed and empty.
pub(super) fn run(
    connection: &Connection,
    mut wal: Wal,
    jobs: &Receiver<WriteJob>,
    cache: &Cache,
    metrics: &SqliteMetrics,
) {
    let mut group = Vec::with_capacity(MAX_GROUP_BATCHES);
    let mut last_version = data_version(connection);
    let mut last_maintenance = Instant::now();
    loop {
        match jobs.recv_timeout(POLL_INTERVAL) {
            Ok(job) => {
                group.push(job);
                group.extend(jobs.try_iter().take(MAX_GROUP_BATCHES - 1));
                metrics.write_queue.dec_by(group.len());
                metrics.commit_writes.observe(group.len() as u64);
                let start = Instant::now();
                let replies = commit_group(connection, &mut group, cache);
                metrics.commit_durations.observe_since(start);
                for (reply, outcome) in replies {
                    // Fails only if the caller dropped its future.
                    drop(reply.send(outcome));
                }
                // Fails only if writing fails, which is reported to the next caller.
                drop(wal.mark_generation(connection));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let version = data_version(connection);
        if version != last_version {
            last_version = version;
            cache.invalidate(&[Invalidation::Everything]);
        }
        if last_maintenance.elapsed() >= MAINTENANCE_INTERVAL {
            drop(maintain_files(connection, &mut wal));
            last_maintenance = Instant::now();
        }
    }
}

/// Keeps the files small: empties a large WAL, and returns free pages to the file system when they
/// are more than a quarter of the database. Then marks the WAL's generation.
fn maintain_files(connection: &Connection, wal: &mut Wal) -> rusqlite::Result<()> {
    if wal.bytes() > u64::from(wal::TRUNCATE_ABOVE_BYTES) {
        wal::truncate(connection)?;
    }
    let page_count =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if page_count("freelist_count")? > VACUUM_PAGES.max(page_count("page_count")? / 4) {
        connection.execute_batch(&format!("pragma incremental_vacuum({VACUUM_PAGES})"))?;
    }
    wal.mark_generation(connection)
}

/// Returns a number that changes when another connection has written, but not when this one has.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("pragma data_version").ok()?;
    pragma.query_row([], |row| row.get(0)).ok()
}

/// Writes a group in one transaction and returns the reply for each caller. A batch that fails is
/// rolled back alone; if the whole transaction fails, every batch fails.
fn commit_group(
    connection: &Connection,
    group: &mut Vec<WriteJob>,
    cache: &Cache,
) -> Vec<(oneshot::Sender<BatchResult>, BatchResult)> {
    for job in &*group {
        cache.begin_write(&job.batch.invalidations);
    }
    let mut outcomes = Vec::with_capacity(group.len());
    let transaction_outcome = (|| {
        execute(connection, "begin immediate")?;
        for job in &*group {
            let outcome = write_batch(connection, &job.batch)?;
            if connection.is_autocommit() {
                // SQLite rolled back the whole transaction, as it does when the disk is full.
                return Err(outcome.err().unwrap_or(rusqlite::Error::ExecuteReturnedResults));
            }
            outcomes.push(outcome.map_err(|error| super::store_error(connection, &error)));
        }
        execute(connection, "commit")
    })();
    if transaction_outcome.is_err() && !connection.is_autocommit() {
        drop(execute(connection, "rollback"));
    }
    // Done even after an error, because the commit may take effect when the file is reopened.
    for job in &*group {
        cache.end_write(&job.batch.invalidations);
    }
    match transaction_outcome {
        Ok(()) => group.drain(..).map(|job| job.reply).zip(outcomes).collect(),
        Err(error) => {
            let error = super::store_error(connection, &error);
            group.drain(..).map(|job| (job.reply, Err(error.clone()))).collect()
        }
    }
}

/// Runs the statements of one batch, all or none. An outer error means that the batch could not be
/// rolled back, so nothing of the group may be committed.
fn write_batch(
    connection: &Connection,
    batch: &Batch,
) -> rusqlite::Result<rusqlite::Result<Vec<Rows>>> {
    if let [statement] = &*batch.statements {
        // A single statement is atomic without a savepoint.
        return Ok(super::run_statement(connection, statement).map(|rows| vec![rows]));
    }
    execute(connection, "savepoint batch")?;
    let outcome: rusqlite::Result<Vec<Rows>> = batch
        .statements
        .iter()
        .map(|statement| super::run_statement(connection, statement))
        .collect();
    let is_rolled_back = outcome.as_ref().map_or(true, |rows| batch.should_roll_back(rows));
    if is_rolled_back && !connection.is_autocommit() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{OnMissingRows, Statement, sql};

    /// Returns a connection with an empty table of unique numbers.
    fn open_numbers_table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("create table numbers (number integer primary key)").unwrap();
        connection
    }

    fn insert_statement(number: i64) -> Statement {
        sql!("insert into numbers values ($number) returning number", [number])
    }

    fn job(statements: Vec<Statement>) -> WriteJob {
        WriteJob { batch: Batch { statements, ..Batch::default() }, reply: oneshot::channel().0 }
    }

    fn commit_jobs(connection: &Connection, mut group: Vec<WriteJob>) -> Vec<BatchResult> {
        let replies = commit_group(connection, &mut group, &Cache::new(1 << 20, true));
        assert!(group.is_empty());
        replies.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn stored_numbers(connection: &Connection) -> Vec<i64> {
        let mut select = connection.prepare("select number from numbers order by number").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_failed_batch_is_rolled_back_alone() {
        let connection = open_numbers_table();
        let failing_statement = || sql!("insert into nowhere values (1)");
        let outcomes = commit_jobs(
            &connection,
            vec![
                job(vec![insert_statement(1), insert_statement(2)]),
                job(vec![insert_statement(3), insert_statement(1), insert_statement(4)]),
                job(vec![insert_statement(5)]),
                job(vec![insert_statement(5)]),
                job(vec![insert_statement(6), failing_statement()]),
                job(vec![failing_statement()]),
                job(vec![insert_statement(3), insert_statement(7)]),
            ],
        );
        let successes: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(successes, [true, false, true, false, false, false, true]);
        assert_eq!(stored_numbers(&connection), [1, 2, 3, 5, 7]);
        assert!(connection.is_autocommit(), "the transaction ended");
    }

    #[test]
    fn a_batch_that_requires_rows_is_rolled_back_if_a_statement_returns_none() {
        let connection = open_numbers_table();
        let delete = |number: i64| {
            sql!("delete from numbers where number = $number returning number", [number])
        };
        let job_requiring_rows = |statements| {
            let batch =
                Batch { statements, on_missing_rows: OnMissingRows::RollBack, ..Batch::default() };
            WriteJob { batch, reply: oneshot::channel().0 }
        };
        let outcomes = commit_jobs(
            &connection,
            vec![
                job_requiring_rows(vec![insert_statement(1), insert_statement(2)]),
                job_requiring_rows(vec![insert_statement(3), delete(9), insert_statement(4)]),
                job_requiring_rows(vec![insert_statement(5), delete(1)]),
                job(vec![insert_statement(6), delete(9)]),
                job_requiring_rows(vec![insert_statement(7), insert_statement(7)]),
            ],
        );
        let row_counts = |outcome: BatchResult| -> Option<Vec<usize>> {
            Some(outcome.ok()?.iter().map(Rows::len).collect())
        };
        let expected =
            [Some(vec![1, 1]), Some(vec![1, 0, 1]), Some(vec![1, 1]), Some(vec![1, 0]), None];
        assert!(outcomes.into_iter().map(row_counts).eq(expected));
        assert_eq!(stored_numbers(&connection), [2, 5, 6]);
    }

    #[test]
    fn a_failed_transaction_fails_every_batch() {
        let connection = open_numbers_table();
        // SQLite rolls back the transaction in the same way when the disk is full.
        let rollback = sql!("rollback");
        let outcomes = commit_jobs(
            &connection,
            vec![
                job(vec![insert_statement(1)]),
                job(vec![rollback]),
                job(vec![insert_statement(2)]),
            ],
        );
        assert!(outcomes.iter().all(Result::is_err));
        assert_eq!(stored_numbers(&connection), [0; 0]);
        assert!(
            commit_jobs(&connection, vec![job(vec![insert_statement(1)])])[0].is_ok(),
            "the writer continues"
        );
        assert_eq!(stored_numbers(&connection), [1]);
    }

    /// The commit may have reached the disk although it reported an error.
    #[test]
    fn a_failed_transaction_invalidates_the_cache_like_a_successful_one() {
        let connection = open_numbers_table();
        let cache = Cache::new(1 << 20, true);
        for (statement, is_ok) in [(insert_statement(1), true), (sql!("rollback"), false)] {
            let epoch = cache.accounts.epoch("alice");
            cache.accounts.insert("alice".into(), 7, epoch);
            assert_eq!(cache.accounts.get("alice"), Some(7));
            let mut job = job(vec![statement]);
            job.batch.invalidations.push(Invalidation::Everything);
            let outcomes = commit_group(&connection, &mut vec![job], &cache);
            assert_eq!(outcomes[0].1.is_ok(), is_ok);
            assert_eq!(cache.accounts.get("alice"), None);
            cache.accounts.insert("alice".into(), 7, epoch);
            let cached_id = cache.accounts.get("alice");
            assert_eq!(cached_id, None, "a value read before the write is not cached");
        }
    }

    #[test]
    fn an_error_contains_the_sqlite_message() {
        let error = rusqlite::Error::InvalidParameterName("$9".to_owned());
        let message = super::super::store_error(&open_numbers_table(), &error).to_string();
        assert!(message.contains(&error.to_string()));
        assert!(!message.contains("path"));
    }
}
