//! Threads that evaluate push rules, separate from those that serve connections.

use std::sync::Arc;
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::account_memory::{AccountSlot, AccountSlots};
use crate::log::request_context::RequestContext;
use crate::metrics::EvaluationFailures;

/// The maximum number of requests per thread, evaluated or waiting. In a longer queue, clients
/// would time out before they are served.
const SLOTS_PER_THREAD: usize = 64;

/// Limits the requests that evaluate push rules and the threads that they occupy.
#[derive(Debug)]
pub struct EvaluationPool {
    slots: Arc<Semaphore>,
    threads: Arc<Semaphore>,
    /// The accounts that occupy a slot. They can take at most half of the slots, so that they
    /// cannot block application services.
    account_slots: AccountSlots,
    /// The total number of slots.
    pub max_queue_length: usize,
    /// Requests that were not evaluated.
    pub failures: Arc<EvaluationFailures>,
}

/// The reason why a request was not evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    #[error("too many evaluations are waiting")]
    QueueFull,
    #[error("another explanation for this account is running")]
    AccountBusy,
    #[error("the evaluation failed")]
    Panicked,
}

/// A request's slot in the queue.
#[derive(Clone)]
pub struct EvaluationSlot(Arc<SlotState>);

struct SlotState {
    failures: Arc<EvaluationFailures>,
    threads: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
    _account_slot: Option<AccountSlot>,
}

impl Default for EvaluationPool {
    /// Creates a pool that leaves one core for other requests, if there are several.
    fn default() -> Self {
        let core_count = thread::available_parallelism().map_or(1, usize::from);
        let thread_count = (core_count - 1).max(1);
        let slot_count = thread_count * SLOTS_PER_THREAD;
        Self {
            slots: Arc::new(Semaphore::new(slot_count)),
            threads: Arc::new(Semaphore::new(thread_count)),
            account_slots: AccountSlots::default(),
            max_queue_length: slot_count,
            failures: Arc::default(),
        }
    }
}

impl EvaluationPool {
    /// Returns the number of requests being evaluated or waiting.
    pub fn queue_length(&self) -> usize {
        self.max_queue_length - self.slots.available_permits()
    }

    /// Takes a slot for an evaluation for many users.
    pub fn enter(&self) -> Result<EvaluationSlot, EvaluationError> {
        self.take_slot(None)
    }

    /// Takes a slot for an account, which can have only one, so that an account cannot fill the
    /// queue.
    pub fn enter_for_account(&self, account_id: i64) -> Result<EvaluationSlot, EvaluationError> {
        let Ok(account_slot) = self.account_slots.acquire(account_id) else {
            return Err(count_failure(&self.failures, EvaluationError::AccountBusy));
        };
        if self.account_slots.count() > self.max_queue_length / 2 {
            return Err(count_failure(&self.failures, EvaluationError::QueueFull));
        }
        self.take_slot(Some(account_slot))
    }

    fn take_slot(
        &self,
        account_slot: Option<AccountSlot>,
    ) -> Result<EvaluationSlot, EvaluationError> {
        let permit = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| count_failure(&self.failures, EvaluationError::QueueFull))?;
        let threads = Arc::clone(&self.threads);
        let failures = Arc::clone(&self.failures);
        let slot = SlotState { failures, threads, _permit: permit, _account_slot: account_slot };
        Ok(EvaluationSlot(Arc::new(slot)))
    }
}

impl EvaluationSlot {
    /// Runs part of the evaluation on a thread of the pool. If the client disconnects, the slot and
    /// the thread stay occupied until that part is done.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EvaluationError> {
        let slot = self.clone();
        let thread_permit = Arc::clone(&slot.0.threads).acquire_owned().await;
        let work = RequestContext::attach_current(work);
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop((thread_permit, slot));
            result
        });
        task.await.map_err(|_| count_failure(&self.0.failures, EvaluationError::Panicked))
    }
}

fn count_failure(failures: &EvaluationFailures, error: EvaluationError) -> EvaluationError {
    let counter = match error {
        EvaluationError::QueueFull => &failures.queue_full,
        EvaluationError::AccountBusy => &failures.account_busy,
        EvaluationError::Panicked => &failures.panicked,
    };
    counter.inc();
    error
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn slots_are_limited_and_released() {
        let pool = EvaluationPool::default();
        let slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
        assert_eq!(slots.len() % SLOTS_PER_THREAD, 0);
        assert_eq!(pool.enter_for_account(1).err(), Some(EvaluationError::QueueFull));
        // The last request of `from_fn` was rejected as well.
        assert_eq!(pool.failures.queue_full.get(), 2);
        assert_eq!(pool.queue_length(), pool.max_queue_length);
        drop(slots);
        assert_eq!(pool.queue_length(), 0);
        assert!(pool.enter_for_account(1).is_ok());
    }

    #[tokio::test]
    async fn accounts_take_at_most_half_of_the_slots() {
        let pool = EvaluationPool::default();
        let slot_count = pool.slots.available_permits();
        let account_slots: Vec<_> = (0..).map_while(|id| pool.enter_for_account(id).ok()).collect();
        assert_eq!(account_slots.len(), slot_count / 2);
        let service_slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
        assert_eq!(service_slots.len(), slot_count - slot_count / 2);
        drop(account_slots);
        assert!(pool.enter_for_account(0).is_ok());
    }

    #[tokio::test]
    async fn an_account_has_one_slot_until_its_work_is_done() {
        let pool = EvaluationPool::default();
        let slot = pool.enter_for_account(1).unwrap();
        assert_eq!(pool.enter_for_account(1).err(), Some(EvaluationError::AccountBusy));
        assert_eq!(pool.failures.account_busy.get(), 1);
        assert!(pool.enter_for_account(2).is_ok());

        // The client disconnects while its request is evaluated.
        let (finish_sender, finish_receiver) = mpsc::channel::<()>();
        let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
        let request = tokio::spawn(async move {
            let work = move || {
                let _ = started_sender.send(());
                let _ = finish_receiver.recv();
            };
            slot.run(work).await
        });
        started_receiver.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(pool.enter_for_account(1).err(), Some(EvaluationError::AccountBusy));
        drop(finish_sender);
        while pool.enter_for_account(1).is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panic_releases_the_slot_and_the_thread() {
        let pool = EvaluationPool::default();
        for _ in 0..2 * pool.threads.available_permits() {
            let slot = pool.enter_for_account(1).unwrap();
            let result = slot.run(|| panic!("expected by this test")).await;
            assert_eq!(result, Err::<(), _>(EvaluationError::Panicked));
        }
    }
}
