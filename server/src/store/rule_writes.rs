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
use crate::random;

/// A change of one document. It may be applied more than once; if it is rejected, it must leave the
/// document unchanged.
type Change = Box<dyn Fn(&mut Document) -> Result<(), RuleError> + Send + Sync>;

/// Conflicts with other nodes before a write fails.
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
    /// Queued changes by account. An account has an entry while one of its saves is in progress.
    queues: Arc<Mutex<HashMap<i64, Vec<QueuedChange>>>>,
}

struct QueuedChange {
    scope: RuleScope,
    change: Change,
    reply: oneshot::Sender<Outcome>,
}

impl RuleWriter {
    /// A writer that enforces these limits per account.
    #[must_use]
    pub fn new(store: Store, limits: RuleLimits) -> Self {
        Self { store, limits, queues: Arc::default() }
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

/// The result of saving changes together.
enum GroupOutcome {
    /// One outcome per change.
    Each(Vec<Outcome>),
    /// The changes exceed the size limit together; some may fit alone.
    TooLarge(RuleError),
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
        let changes: Vec<&Change> = group.iter().map(|queued| &queued.change).collect();
        let outcomes = match self.save(scope, &changes).await {
            GroupOutcome::Each(outcomes) => outcomes,
            GroupOutcome::TooLarge(error) if changes.len() == 1 => vec![Err(error.into())],
            GroupOutcome::TooLarge(_) => {
                let mut outcomes = Vec::with_capacity(changes.len());
                for change in changes {
                    match self.save(scope, &[change]).await {
                        GroupOutcome::Each(outcome) => outcomes.extend(outcome),
                        GroupOutcome::TooLarge(error) => outcomes.push(Err(error.into())),
                    }
                }
                outcomes
            }
        };
        for (queued, outcome) in group.into_iter().zip(outcomes) {
            // Fails only if the caller dropped its future.
            drop(queued.reply.send(outcome));
        }
    }

    async fn save(&self, scope: &RuleScope, changes: &[&Change]) -> GroupOutcome {
        let fail_all = |error: &RuleWriteError| {
            GroupOutcome::Each(changes.iter().map(|_| Err(error.clone())).collect())
        };
        for conflicts in 1..=MAX_CONFLICTS {
            match self.try_save(scope, changes).await {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => tokio::time::sleep(backoff(conflicts)).await,
                Err(error) => return fail_all(&error.into()),
            }
        }
        fail_all(&RuleWriteError::TooManyConflicts)
    }

    /// Returns `None` after a conflict with another node.
    async fn try_save(
        &self,
        scope: &RuleScope,
        changes: &[&Change],
    ) -> Result<Option<GroupOutcome>, StoreError> {
        let RuleWriter { store, limits, .. } = &self.writer;
        let mut read = store.rulesets_for_update(self.account).await?;
        let (mut document, mut outcomes) = apply_all(&read.rulesets, scope, changes, *limits);
        if outcomes.iter().all(Result::is_err) && read.is_cached() {
            // Nothing would be saved, so no conflict would reveal that the cache is stale.
            read = store.reload_rulesets_for_update(self.account).await?;
            (document, outcomes) = apply_all(&read.rulesets, scope, changes, *limits);
        }
        if outcomes.iter().all(Result::is_err) {
            return Ok(Some(GroupOutcome::Each(outcomes)));
        }
        let draft = SerializedDocument::new(document);
        let before = read.rulesets.bytes();
        let after = before - read.rulesets.bytes_of(scope) + draft.bytes();
        if let Err(error) = limits.check_bytes(before, after) {
            return Ok(Some(GroupOutcome::TooLarge(error)));
        }
        match store.save_ruleset(&read, draft).await? {
            SaveOutcome::Saved => Ok(Some(GroupOutcome::Each(outcomes))),
            SaveOutcome::Conflict => Ok(None),
        }
    }
}

/// Applies the changes in order. Returns the changed document and the outcome of each.
fn apply_all(
    rulesets: &StoredRulesets,
    scope: &RuleScope,
    changes: &[&Change],
    limits: RuleLimits,
) -> (Document, Vec<Outcome>) {
    let stored = rulesets.document(scope);
    let mut document = stored.cloned().unwrap_or_else(|| Document::new(scope.clone()));
    let other_scopes = rulesets.len() - document.len();
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        outcomes.push(apply(change, &mut document, other_scopes, limits).map_err(Into::into));
    }
    (document, outcomes)
}

/// Applies one change, unless the account would exceed the number of rules.
fn apply(
    change: &Change,
    document: &mut Document,
    other_scopes: usize,
    limits: RuleLimits,
) -> Result<(), RuleError> {
    let before = other_scopes + document.len();
    // A copy is needed only if the change may have to be undone.
    let copy = (before >= limits.rules).then(|| document.clone());
    change(document)?;
    let allowed = limits.check_rules(before, other_scopes + document.len());
    if let (Err(_), Some(copy)) = (&allowed, copy) {
        *document = copy;
    }
    allowed
}

/// A random pause that grows with the conflicts, so that nodes do not stay in step.
fn backoff(conflicts: u32) -> Duration {
    let [random] = random::bytes();
    Duration::from_micros(u64::from(random) * u64::from(conflicts.min(20)) * 10)
}
