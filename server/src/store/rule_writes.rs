//! Per-account write queue for rulesets.
//!
//! While one save of an account is in progress, further changes of that account are queued and then
//! saved together in order of arrival, one scope after another. Clients of one account never
//! conflict, and with one scope each waits for at most two saves. Only other nodes can cause
//! conflicts; then the changes are applied again to the rules of the other node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belfry_core::rules::{Document, RuleError, RuleLimits, RuleScope};
use tokio::sync::oneshot;

use super::{SaveOutcome, SerializedDocument, Store, StoreError, StoredRulesets};
use crate::clock::Clock;
use crate::random;

/// A change of one document. It may be applied more than once; if it is rejected, it must leave the
/// document unchanged.
type Change = Box<dyn Fn(&mut Document) -> Result<(), RuleError> + Send + Sync>;

/// The number of conflicts with other nodes after which a write fails.
const MAX_CONFLICTS: u32 = 50;

/// Why a change of rules was not saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RuleWriteError {
    /// The change is not valid for these rules.
    #[error(transparent)]
    Rejected(#[from] RuleError),
    /// Other nodes changed the rules too often.
    #[error("the rules were changed by others too often")]
    TooManyConflicts,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Outcome = Result<(), RuleWriteError>;

/// Changes rulesets, one save at a time for each account.
#[derive(Clone)]
pub struct RuleWriter {
    store: Store,
    limits: RuleLimits,
    clock: Arc<dyn Clock>,
    /// Queued changes by account. An account has an entry while one of its saves is in progress.
    queues: Arc<Mutex<HashMap<i64, Vec<QueuedChange>>>>,
}

struct QueuedChange {
    scope: RuleScope,
    change: Change,
    reply: oneshot::Sender<Outcome>,
}

impl RuleWriter {
    /// A writer that enforces these limits per account. Rules that have ended are deleted with the
    /// next change.
    pub fn new(store: Store, limits: RuleLimits, clock: Arc<dyn Clock>) -> Self {
        Self { store, limits, clock, queues: Arc::default() }
    }

    /// Applies a change, and returns when it is durable or rejected. Dropping the future does not
    /// cancel it, because others may wait for the same save.
    pub async fn change(
        &self,
        account: i64,
        scope: RuleScope,
        change: impl Fn(&mut Document) -> Result<(), RuleError> + Send + Sync + 'static,
    ) -> Result<(), RuleWriteError> {
        let (reply, outcome) = oneshot::channel();
        if self.enqueue(account, QueuedChange { scope, change: Box::new(change), reply }) {
            tokio::spawn(Saver { writer: self.clone(), account }.run());
        }
        let panicked = |_| Err(StoreError::Failed("a ruleset change panicked".to_owned()).into());
        outcome.await.unwrap_or_else(panicked)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<i64, Vec<QueuedChange>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a change. Returns whether no save of the account is in progress.
    fn enqueue(&self, account: i64, change: QueuedChange) -> bool {
        let mut queues = self.queues();
        let is_first = !queues.contains_key(&account);
        queues.entry(account).or_default().push(change);
        is_first
    }

    /// Takes all queued changes of an account. If there are none, its entry is removed.
    fn dequeue(&self, account: i64) -> Vec<QueuedChange> {
        let mut queues = self.queues();
        let changes = queues.get_mut(&account).map(std::mem::take).unwrap_or_default();
        if changes.is_empty() {
            queues.remove(&account);
        }
        changes
    }
}

/// The task that saves the changes of one account.
struct Saver {
    writer: RuleWriter,
    account: i64,
}

/// After a panic the queue is dropped, so that no caller waits forever.
impl Drop for Saver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.writer.queues().remove(&self.account);
        }
    }
}

impl Saver {
    async fn run(self) {
        loop {
            let mut queued = self.writer.dequeue(self.account);
            if queued.is_empty() {
                return;
            }
            while let Some(first) = queued.first() {
                let scope = first.scope.clone();
                let (group, rest) = queued.into_iter().partition(|other| other.scope == scope);
                self.save_group(&scope, group).await;
                queued = rest;
            }
        }
    }

    async fn save_group(&self, scope: &RuleScope, group: Vec<QueuedChange>) {
        match self.save(scope, &group).await {
            // The changes together exceed the size limit, but some may fit alone.
            Err(RuleWriteError::Rejected(_)) if group.len() > 1 => {
                for change in group {
                    Box::pin(self.save_group(scope, vec![change])).await;
                }
            }
            saved => {
                let outcomes = saved.unwrap_or_else(|error| vec![Err(error); group.len()]);
                for (queued, outcome) in group.into_iter().zip(outcomes) {
                    // Fails only if the caller dropped its future.
                    drop(queued.reply.send(outcome));
                }
            }
        }
    }

    /// Saves changes together. Returns the outcome of each, or the error that they all fail with.
    async fn save(
        &self,
        scope: &RuleScope,
        changes: &[QueuedChange],
    ) -> Result<Vec<Outcome>, RuleWriteError> {
        for conflicts in 1..=MAX_CONFLICTS {
            if let Some(outcomes) = self.try_save(scope, changes).await? {
                return Ok(outcomes);
            }
            // A random pause, so that nodes do not retry at the same time.
            let [random] = random::bytes();
            let micros = u64::from(random) * u64::from(conflicts.min(20)) * 10;
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
        Err(RuleWriteError::TooManyConflicts)
    }

    /// Returns `None` after a conflict with another node.
    async fn try_save(
        &self,
        scope: &RuleScope,
        changes: &[QueuedChange],
    ) -> Result<Option<Vec<Outcome>>, RuleWriteError> {
        let RuleWriter { store, limits, clock, .. } = &self.writer;
        let now = clock.now();
        let mut read = store.rulesets_for_update(self.account, now).await?;
        let (mut document, mut outcomes) = apply_all(&read.rulesets, scope, changes, *limits);
        if outcomes.iter().all(Result::is_err) && read.is_cached {
            // Nothing would be saved, so no conflict would reveal that the cache is stale.
            read = store.reload_rulesets_for_update(self.account, now).await?;
            (document, outcomes) = apply_all(&read.rulesets, scope, changes, *limits);
        }
        if outcomes.iter().all(Result::is_err) {
            return Ok(Some(outcomes));
        }
        let document = SerializedDocument::new(document);
        let before = read.rulesets.bytes();
        let after = before - read.rulesets.bytes_of(scope) + document.bytes();
        limits.check_bytes(before, after)?;
        let saved = store.save_ruleset(&read, document).await?;
        Ok((saved == SaveOutcome::Saved).then_some(outcomes))
    }
}

/// Applies the changes in order, except those that would exceed the number of rules. Returns the
/// changed document and the outcome of each.
fn apply_all(
    rulesets: &StoredRulesets,
    scope: &RuleScope,
    changes: &[QueuedChange],
    limits: RuleLimits,
) -> (Document, Vec<Outcome>) {
    let stored = rulesets.document(scope);
    let mut document = stored.cloned().unwrap_or_else(|| Document::new(scope.clone()));
    let other_scopes = rulesets.len() - document.len();
    let mut apply = |queued: &QueuedChange| {
        let before = other_scopes + document.len();
        // A copy is needed only if the change may have to be undone.
        let copy = (before >= limits.rules).then(|| document.clone());
        (queued.change)(&mut document)?;
        let allowed = limits.check_rules(before, other_scopes + document.len());
        if let (Err(_), Some(copy)) = (&allowed, copy) {
            document = copy;
        }
        Ok(allowed?)
    };
    let outcomes = changes.iter().map(&mut apply).collect();
    (document, outcomes)
}
