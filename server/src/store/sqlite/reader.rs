//! The threads that read, each with a connection of its own.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::store::engine::{Rows, Statement};

/// A statement, and where its rows go.
pub(super) struct Job {
    pub(super) statement: Statement,
    pub(super) reply: oneshot::Sender<rusqlite::Result<Rows>>,
}

/// Starts the threads. They end when the sender is gone.
pub(super) fn start(
    open: impl Fn() -> rusqlite::Result<Connection>,
) -> Result<mpsc::Sender<Job>, Box<dyn std::error::Error>> {
    let (sender, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    let threads = thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    for _ in 0..threads {
        let connection = open()?;
        let jobs = Arc::clone(&jobs);
        thread::Builder::new()
            .name("sqlite-reader".to_owned())
            .spawn(move || run(&connection, &jobs))?;
    }
    Ok(sender)
}

fn run(connection: &Connection, jobs: &Mutex<mpsc::Receiver<Job>>) {
    // One thread waits for the next job while the others work or wait for their turn to wait.
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        // A caller who has gone away is no reason to stop.
        drop(job.reply.send(super::run(connection, &job.statement)));
    }
}
