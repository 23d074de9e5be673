//! Reader threads, each with its own connection.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::engine::{Rows, Statement};
use crate::error::StoreError;
use crate::metrics::SqliteMetrics;

/// A statement and the channel for its rows.
pub(super) struct ReadJob {
    pub(super) statement: Statement,
    pub(super) reply: oneshot::Sender<Result<Rows, StoreError>>,
}

/// The queue for the reader threads, and the threads.
type Readers = (mpsc::Sender<ReadJob>, Vec<JoinHandle<()>>);

pub(super) fn thread_count() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

/// Starts a thread for each connection. The threads end when the sender is dropped.
pub(super) fn start_threads(
    connections: impl IntoIterator<Item = rusqlite::Result<Connection>>,
    metrics: &Arc<SqliteMetrics>,
) -> Result<Readers, Box<dyn std::error::Error>> {
    let (sender, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    let mut threads = Vec::new();
    for connection in connections {
        let connection = connection?;
        let jobs = Arc::clone(&jobs);
        let metrics = Arc::clone(metrics);
        let builder = thread::Builder::new().name("sqlite-reader".to_owned());
        threads.push(builder.spawn(move || run_jobs(&connection, &jobs, &metrics))?);
    }
    Ok((sender, threads))
}

fn run_jobs(
    connection: &Connection,
    jobs: &Mutex<mpsc::Receiver<ReadJob>>,
    metrics: &SqliteMetrics,
) {
    // The lock serializes waiting for a job, not running it.
    let next_job = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next_job() {
        metrics.read_queue.dec_by(1);
        let rows = super::run_statement(connection, &job.statement);
        // Fails only if the caller dropped its future.
        drop(job.reply.send(rows.map_err(|error| super::store_error(connection, &error))));
    }
}
