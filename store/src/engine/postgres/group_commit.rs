//! Group commit: the batches that arrive while others are being written are committed together.
//!
//! Callers share the cost of a transaction: its sync to disk, and its notification, during which
//! PostgreSQL blocks the commits of all other notifying transactions. A batch that fails does not
//! affect the others: the group is rolled back, and each of its batches is written alone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use tokio::sync::oneshot;

use super::writer::Writer;
use crate::engine::{Batch, BatchResult, Value};
use crate::error::StoreError;

/// Maximum number of batches in a transaction, to bound its duration.
const MAX_GROUP_BATCHES: usize = 64;

/// Maximum size of the strings in a transaction, to bound its duration. A larger batch is written
/// alone.
const MAX_GROUP_BYTES: usize = 1 << 20;

/// Maximum number of groups that are written concurrently. With more of them, groups would be
/// smaller.
const MAX_CONCURRENT_GROUPS: usize = 4;

/// Maximum number of batches that wait.
const MAX_QUEUED_BATCHES: usize = 16 * 1024;

/// Maximum time for which a group waits for a row that another transaction has locked, unless a
/// tenth of the statement timeout is shorter. It is below PostgreSQL's `deadlock_timeout` of a
/// second, so that groups that wait for each other are soon written batch by batch.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);

/// The queue of batches. Clones share it.
#[derive(Clone)]
pub(super) struct GroupCommit {
    writer: Writer,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    task_count: usize,
}

/// A batch and the channel for its rows.
struct Job {
    batch: Batch,
    bytes: usize,
    queued_at: Instant,
    reply: oneshot::Sender<BatchResult>,
}

impl GroupCommit {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, queue: Arc::default() }
    }

    /// Writes a batch, alone or together with others. Dropping the future does not cancel it.
    pub(super) fn write(&self, batch: Batch) -> BoxFuture<'static, BatchResult> {
        let (reply, receiver) = oneshot::channel();
        let bytes = text_bytes(&batch);
        {
            let mut queue = self.queue();
            if queue.jobs.len() >= MAX_QUEUED_BATCHES {
                let error = StoreError::Unavailable("too many writes are waiting".to_owned());
                return ready(Err(error)).boxed();
            }
            queue.jobs.push_back(Job { batch, bytes, queued_at: Instant::now(), reply });
            self.writer.metrics().waiting_operations.inc();
            if queue.task_count < MAX_CONCURRENT_GROUPS {
                queue.task_count += 1;
                tokio::spawn(self.clone().write_groups());
            }
        }
        let to_error = |_| Err(StoreError::Failed("the write panicked".to_owned()));
        receiver.map(move |outcome| outcome.unwrap_or_else(to_error)).boxed()
    }

    /// Writes groups until the queue is empty.
    async fn write_groups(self) {
        while let Some(group) = self.next_group() {
            self.write_group(group).await;
        }
    }

    /// Takes the next batches from the queue, in order of arrival. If there are none, the caller's
    /// task is no longer counted and must end.
    fn next_group(&self) -> Option<Vec<Job>> {
        let mut queue = self.queue();
        let mut group = Vec::new();
        let mut bytes = 0;
        while group.len() < MAX_GROUP_BATCHES {
            let Some(next_job) = queue.jobs.front() else { break };
            bytes += next_job.bytes;
            if bytes > MAX_GROUP_BYTES && !group.is_empty() {
                break;
            }
            group.extend(queue.jobs.pop_front());
        }
        if group.is_empty() {
            queue.task_count -= 1;
            return None;
        }
        self.writer.metrics().waiting_operations.dec_by(group.len());
        Some(group)
    }

    /// Writes a group and sends the replies. Batches that have waited for longer than the timeout
    /// fail instead.
    async fn write_group(&self, mut group: Vec<Job>) {
        let timeout = self.writer.timeout();
        for job in group.extract_if(.., |job| job.queued_at.elapsed() > timeout) {
            let error = StoreError::Unavailable("the write was queued for too long".to_owned());
            job.send_reply(Err(error));
        }
        // Groups that lock the same rows must do so in the same order.
        group.sort_by_key(|job| job.batch.grouping);
        for job in &group {
            self.writer.begin_bypass(&job.batch);
        }
        if group.len() < 2 {
            for job in group {
                let outcome = self.writer.write(&job.batch).await;
                job.send_reply(outcome);
            }
            return;
        }
        let batches: Vec<&Batch> = group.iter().map(|job| &job.batch).collect();
        match self.writer.write_group(&batches, LOCK_TIMEOUT.min(timeout / 10)).await {
            Ok(Some(rows)) => {
                for (job, rows) in group.into_iter().zip(rows) {
                    let outcome = self.writer.end_bypass(&job.batch, Ok(rows));
                    job.send_reply(outcome);
                }
            }
            Ok(None) => {
                for job in group {
                    let writer = self.writer.clone();
                    tokio::spawn(async move {
                        let outcome = writer.write(&job.batch).await;
                        job.send_reply(outcome);
                    });
                }
            }
            Err(error) => {
                for job in group {
                    let outcome = self.writer.end_bypass(&job.batch, Err(error.clone()));
                    job.send_reply(outcome);
                }
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn send_reply(self, outcome: BatchResult) {
        // Fails only if the caller dropped its future.
        drop(self.reply.send(outcome));
    }
}

/// Returns the size of a batch's strings.
fn text_bytes(batch: &Batch) -> usize {
    let values = batch.statements.iter().flat_map(|statement| &statement.values);
    values.map(|value| if let Value::Text(text) = value { text.len() } else { 0 }).sum()
}

#[cfg(test)]
mod tests {
    use super::super::connections::Connections;
    use super::super::hosts::Hosts;
    use super::super::listen::NodeNotifier;
    use super::*;
    use crate::cache::Cache;
    use crate::engine::options::Options;
    use crate::engine::{Grouping, sql};

    /// Returns a queue for a database that cannot be reached.
    fn unreachable_group_commit() -> GroupCommit {
        let url = "postgres://127.0.0.1:1/belfry".parse().unwrap();
        let options = Options::default();
        let hosts = Hosts::new(&url, true).unwrap();
        let connections = Connections::new(hosts, &options).unwrap();
        let cache = Arc::new(Cache::new(1 << 20, true));
        GroupCommit::new(Writer::new(connections, cache, Arc::new(NodeNotifier::new())))
    }

    fn batch(text: &str) -> Batch {
        Batch { grouping: Grouping::NewRows, ..sql!("select $text", [text]).into() }
    }

    /// Returns the sizes of the groups that these batches form, without writing them.
    fn group_sizes(batches: impl Iterator<Item = Batch>) -> Vec<usize> {
        let group_commit = unreachable_group_commit();
        group_commit.queue().task_count = MAX_CONCURRENT_GROUPS;
        for batch in batches {
            drop(group_commit.write(batch));
        }
        std::iter::from_fn(|| group_commit.next_group()).map(|group| group.len()).collect()
    }

    fn is_unavailable(outcome: &BatchResult) -> bool {
        matches!(outcome, Err(StoreError::Unavailable(_)))
    }

    #[test]
    fn a_group_is_bounded_in_number_and_size() {
        let small_batches = |count| (0..count).map(|_| batch("small"));
        assert_eq!(group_sizes(small_batches(0)), [0; 0]);
        assert_eq!(group_sizes(small_batches(1)), [1]);
        assert_eq!(
            group_sizes(small_batches(2 * MAX_GROUP_BATCHES + 1)),
            [MAX_GROUP_BATCHES, MAX_GROUP_BATCHES, 1]
        );
        let large_text = "x".repeat(MAX_GROUP_BYTES / 2 + 1);
        assert_eq!(
            group_sizes([&*large_text, "y", &*large_text, "y", "y"].map(batch).into_iter()),
            [2, 3]
        );
        let oversized = "x".repeat(MAX_GROUP_BYTES + 1);
        assert_eq!(group_sizes(["y", &*oversized, "y"].map(batch).into_iter()), [1, 1, 1]);
    }

    #[tokio::test]
    async fn a_full_queue_rejects_writes_immediately() {
        // The tasks that write run only when this one waits.
        let group_commit = unreachable_group_commit();
        let queued_writes: Vec<_> =
            (0..MAX_QUEUED_BATCHES).map(|_| group_commit.write(batch("x"))).collect();
        let rejected_write = group_commit.write(batch("x")).now_or_never();
        assert!(rejected_write.is_some_and(|outcome| is_unavailable(&outcome)));
        for write in queued_writes {
            assert!(is_unavailable(&write.await));
        }
        assert_eq!(group_commit.queue().task_count, 0);
        assert_eq!(group_commit.writer.metrics().waiting_operations.get(), 0);
    }

    #[tokio::test]
    async fn a_batch_that_waited_longer_than_the_timeout_is_not_written() {
        let group_commit = unreachable_group_commit();
        let job = |age| {
            let (reply, receiver) = oneshot::channel();
            let queued_at = Instant::now().checked_sub(age).unwrap();
            (Job { batch: batch("x"), bytes: 1, queued_at, reply }, receiver)
        };
        let (old_job, old_outcome) = job(group_commit.writer.timeout() + Duration::from_secs(1));
        let (new_job, new_outcome) = job(Duration::ZERO);
        group_commit.write_group(vec![old_job, new_job]).await;
        let reason = |outcome: BatchResult| outcome.unwrap_err().to_string();
        assert!(reason(old_outcome.await.unwrap()).contains("queued for too long"));
        assert!(!reason(new_outcome.await.unwrap()).contains("queued for too long"));
    }
}
