//! The bounds of the queue.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_store::{Admission, QueueStatus, Store, StoreError};

use super::EnqueueError;
use super::outgoing::DeliveryTarget;

/// Limits the number of waiting deliveries, in total and for each origin.
#[derive(Debug)]
pub(super) struct Backlog {
    /// Maximum number of waiting deliveries; at most half of them for one origin.
    max_waiting: u64,
    counts: Mutex<Counts>,
}

/// The waiting deliveries of all nodes when they were last counted, and those that this node has
/// accepted since then.
#[derive(Debug, Default)]
struct Counts {
    status: QueueStatus,
    by_origin: HashMap<String, u64>,
}

impl Backlog {
    pub(super) fn new(max_waiting: u64) -> Self {
        Self { max_waiting, counts: Mutex::default() }
    }

    /// Returns whether the queue has space for all of these targets.
    pub(super) fn has_space_for(&self, targets: &[DeliveryTarget]) -> bool {
        let counts = self.lock();
        let has_space =
            |(origin, count): (&str, u64)| counts.of_origin(origin) + count <= self.max_of_origin();
        counts.status.waiting + targets.len() as u64 <= self.max_waiting
            && count_by_origin(targets.iter()).into_iter().all(has_space)
    }

    /// Reserves space in the queue for these targets, and returns which of them get the message.
    /// Those whose origin has no space are removed, so that a dead push service affects only its own
    /// devices.
    pub(super) fn reserve(
        &self,
        targets: &mut Vec<DeliveryTarget>,
    ) -> Result<Admission, EnqueueError> {
        let mut counts = self.lock();
        let mut new_by_origin: HashMap<String, u64> = HashMap::new();
        targets.retain(|DeliveryTarget { origin, .. }| {
            let new_count = new_by_origin.entry(origin.clone()).or_default();
            let has_space = counts.of_origin(origin) + *new_count < self.max_of_origin();
            *new_count += u64::from(has_space);
            has_space
        });
        let count = targets.len() as u64;
        if counts.status.waiting + count > self.max_waiting {
            return Err(EnqueueError::QueueFull);
        }
        counts.status.waiting += count;
        for (origin, new_count) in new_by_origin {
            *counts.by_origin.entry(origin).or_default() += new_count;
        }
        let is_crowded = counts.status.waiting > self.max_waiting.div_ceil(2);
        Ok(if is_crowded { Admission::Working } else { Admission::All })
    }

    /// Releases the space of targets for which no delivery was added to the queue.
    pub(super) fn release<'a>(&self, targets: impl Iterator<Item = &'a DeliveryTarget>) {
        let mut counts = self.lock();
        for (origin, count) in count_by_origin(targets) {
            counts.status.waiting = counts.status.waiting.saturating_sub(count);
            if let Some(waiting) = counts.by_origin.get_mut(origin) {
                *waiting = waiting.saturating_sub(count);
            }
        }
    }

    pub(super) async fn count(&self, store: &Store) -> Result<(), StoreError> {
        let status = store.queue_status().await?;
        // Origins with a small share of the queue do not count individually.
        let min_backlog = i64::try_from(self.max_waiting.div_ceil(1000)).unwrap_or(i64::MAX);
        let origin_backlogs = store.lane_backlogs(min_backlog).await?.into_iter();
        let by_origin = origin_backlogs
            .map(|(origin, waiting)| (origin, u64::try_from(waiting).unwrap_or_default()))
            .collect();
        *self.lock() = Counts { status, by_origin };
        Ok(())
    }

    /// Returns the state of the queue when it was last counted.
    pub(super) fn status(&self) -> QueueStatus {
        self.lock().status.clone()
    }

    fn max_of_origin(&self) -> u64 {
        self.max_waiting.div_ceil(2)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn of_origin(&self, origin: &str) -> u64 {
        self.by_origin.get(origin).copied().unwrap_or_default()
    }
}

fn count_by_origin<'a>(targets: impl Iterator<Item = &'a DeliveryTarget>) -> HashMap<&'a str, u64> {
    let mut counts = HashMap::new();
    for target in targets {
        *counts.entry(&*target.origin).or_default() += 1;
    }
    counts
}
