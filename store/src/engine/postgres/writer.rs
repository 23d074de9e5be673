//! Writes by this node: to the database, with notifications to other nodes, and invalidation of its
//! own cache.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connections::{ConnectionGuard, Connections};
use super::errors::is_temporary;
use super::listen::NodeNotifier;
use super::transaction::{self, TransactionOutcome};
use crate::cache::Cache;
use crate::engine::{Batch, BatchResult, Rows, Statement, sql};
use crate::error::StoreError;
use crate::metrics::PostgresMetrics;

/// Writes batches. Clones share the connections.
#[derive(Clone)]
pub(super) struct Writer {
    connections: Connections,
    cache: Arc<Cache>,
    notifier: Arc<NodeNotifier>,
}

impl Writer {
    pub(super) fn new(
        connections: Connections,
        cache: Arc<Cache>,
        notifier: Arc<NodeNotifier>,
    ) -> Self {
        Self { connections, cache, notifier }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.connections.timeout
    }

    pub(super) fn metrics(&self) -> &PostgresMetrics {
        &self.connections.metrics
    }

    /// Bypasses the cache for the entries that the batch changes. Call [`Writer::end_bypass`] or
    /// [`Writer::write`] afterwards.
    pub(super) fn begin_bypass(&self, batch: &Batch) {
        self.cache.begin_write(&batch.invalidations);
    }

    /// Ends the bypass of the cache, and returns the outcome. After an error, the node id is
    /// replaced first.
    pub(super) fn end_bypass(&self, batch: &Batch, outcome: BatchResult) -> BatchResult {
        // After an error the outcome of the commit is unknown; the commit may even happen later.
        // With a new node id, its notification is processed like one from another node.
        if outcome.is_err() {
            self.notifier.rotate_id();
        }
        self.cache.end_write(&batch.invalidations);
        outcome
    }

    /// Writes a batch in a separate transaction, and ends the bypass of the cache. After a deadlock,
    /// in which PostgreSQL rolled this transaction back in favour of another one, it is run again.
    pub(super) async fn write(&self, batch: &Batch) -> BatchResult {
        self.metrics().commit_writes.observe(1);
        let write = async |client: &ConnectionGuard| {
            let outcome = transaction::write_batch(client, batch, &self.notifier).await;
            match outcome {
                Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                    transaction::write_batch(client, batch, &self.notifier).await
                }
                outcome => outcome,
            }
        };
        let outcome = self.run_timed(write).await;
        self.end_bypass(batch, outcome)
    }

    /// Writes batches in one transaction, in the given order, and returns the rows of each. Returns
    /// `None` if they were rolled back because one of them failed, or waited for a lock longer than
    /// `lock_timeout`. Fails if every batch would fail, or if the outcome is unknown. The caller
    /// ends the bypass of the cache.
    pub(super) async fn write_group(
        &self,
        batches: &[&Batch],
        lock_timeout: Duration,
    ) -> Result<Option<Vec<Vec<Rows>>>, StoreError> {
        self.metrics().commit_writes.observe(batches.len() as u64);
        let begin = format!("begin; set local lock_timeout = {}", lock_timeout.as_millis().max(1));
        let invalidations = batches.iter().flat_map(|batch| &batch.invalidations);
        // `lock_timeout` does not apply to the commit: commits with notifications wait for each
        // other, which takes long if the disk is slow. The group holds no lock that such a commit
        // waits for.
        let with_timeout_reset = |notify| [notify, sql!("set local lock_timeout to default")];
        let notification = self.notifier.notify_statement(invalidations).map(with_timeout_reset);
        let statements: Vec<&Statement> = batches
            .iter()
            .flat_map(|batch| &batch.statements)
            .chain(notification.iter().flatten())
            .collect();
        let write = async |client: &ConnectionGuard| match transaction::run_transaction(
            client,
            &begin,
            &statements,
        )
        .await?
        {
            TransactionOutcome::Committed(rows) => Ok(Some(rows)),
            TransactionOutcome::RolledBack(error) if is_caused_by_server(&error) => Err(error),
            TransactionOutcome::RolledBack(_) => Ok(None),
        };
        let Some(rows) = self.run_timed(write).await? else { return Ok(None) };
        let mut rows = rows.into_iter();
        let take_rows = |batch: &&Batch| rows.by_ref().take(batch.statements.len()).collect();
        Ok(Some(batches.iter().map(take_rows).collect()))
    }

    /// Runs a transaction on a connection, and records its duration. A panic becomes an error.
    async fn run_timed<T>(
        &self,
        write: impl AsyncFnOnce(&ConnectionGuard) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let timed_write = async |client: &ConnectionGuard| {
            let start = Instant::now();
            let outcome = write(client).await;
            self.metrics().commit_durations.observe_since(start);
            outcome
        };
        let outcome = AssertUnwindSafe(self.connections.run(timed_write)).catch_unwind().await;
        outcome.unwrap_or_else(|_| Err(StoreError::Failed("the write panicked".to_owned())))
    }
}

/// Returns whether an error is caused by the server's state, so that every batch would fail with
/// it: all temporary errors except conflicts and unavailable locks.
fn is_caused_by_server(error: &Error) -> bool {
    let is_caused_by_batch =
        |code: &SqlState| code.code().starts_with("40") || *code == SqlState::LOCK_NOT_AVAILABLE;
    error.code().is_none_or(|code| is_temporary(code) && !is_caused_by_batch(code))
}
