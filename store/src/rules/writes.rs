//! Per-account write queue for rulesets.
//!
//! While one save for an account is in progress, additional changes to its rules are queued and
//! then saved together in order of arrival, in one transaction for all scopes. So clients of one
//! account do not conflict on one node, and a change usually waits for at most two saves: the one
//! in progress and its own. If another node has saved the same rules in the meantime, the changes
//! are applied again to its version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belfry_core::rules::{RuleDocument, RuleError, RuleLimits, RuleScope, UserRuleDocuments};
use belfry_runtime::random;
use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::cache::StoredRulesets;
use crate::error::StoreError;
use crate::rules::save::SaveOutcome;
use crate::rules::{RulesetsForUpdate, SerializedDocument};
use crate::store::Store;

/// A change to an account's documents. It may be applied more than once.
type RuleChange = Box<dyn Fn(&mut UserRuleDocuments<'_>) -> Result<(), RuleError> + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeExtent {
    /// One document. If the change is rejected, it has left the document unchanged.
    OneDocument,
    /// Any of the documents. If the change is rejected, it is undone.
    AllDocuments,
}

/// Number of conflicts with other nodes after which a write fails.
const MAX_CONFLICTS: u32 = 50;

/// The reason rules were not changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RuleWriteError {
    /// The change is not valid for the account's rules.
    #[error(transparent)]
    Rejected(#[from] RuleError),
    /// Other nodes changed the rules too often.
    #[error("the rules were changed concurrently too often; try again")]
    TooManyConflicts,
    /// The account does not exist or is disabled.
    #[error("the account does not exist or is disabled")]
    NoAccount,
    #[error(transparent)]
    Store(#[from] StoreError),
}

type RuleWriteResult = Result<(), RuleWriteError>;

/// Changes rulesets, one save at a time for each account.
#[derive(Clone)]
pub struct RuleWriter {
    store: Store,
    limits: RuleLimits,
    /// Queued changes by account. An account has an entry while one of its saves is in progress.
    queues: Arc<Mutex<HashMap<i64, Vec<QueuedChange>>>>,
}

struct QueuedChange {
    extent: ChangeExtent,
    now: Timestamp,
    change: RuleChange,
    reply: oneshot::Sender<RuleWriteResult>,
}

impl RuleWriter {
    /// Creates a writer that enforces `limits` per account.
    pub fn new(store: Store, limits: RuleLimits) -> Self {
        Self { store, limits, queues: Arc::default() }
    }

    /// Applies a change to one document, and returns when it is durable or rejected. If it is
    /// rejected, it must leave the document unchanged. The same save deletes expired rules.
    /// Dropping the future does not cancel the change, because others may wait for the same save.
    pub async fn change_document(
        &self,
        account_id: i64,
        scope: RuleScope,
        now: Timestamp,
        change: impl Fn(&mut RuleDocument) -> Result<(), RuleError> + Send + Sync + 'static,
    ) -> Result<(), RuleWriteError> {
        let change = move |documents: &mut UserRuleDocuments<'_>| change(documents.get_mut(&scope));
        self.queue_and_wait(account_id, ChangeExtent::OneDocument, now, Box::new(change)).await
    }

    /// Applies a change to any of the account's documents, like [`RuleWriter::change_document`].
    /// The change is saved completely or not at all.
    pub async fn change_documents(
        &self,
        account_id: i64,
        now: Timestamp,
        change: impl Fn(&mut UserRuleDocuments<'_>) -> Result<(), RuleError> + Send + Sync + 'static,
    ) -> Result<(), RuleWriteError> {
        self.queue_and_wait(account_id, ChangeExtent::AllDocuments, now, Box::new(change)).await
    }

    /// Queues a change, starts a task to save it unless there is one, and waits for the outcome.
    async fn queue_and_wait(
        &self,
        account_id: i64,
        extent: ChangeExtent,
        now: Timestamp,
        change: RuleChange,
    ) -> Result<(), RuleWriteError> {
        let (reply, receiver) = oneshot::channel();
        if self.enqueue(account_id, QueuedChange { extent, now, change, reply }) {
            tokio::spawn(AccountSaver { writer: self.clone(), account_id }.run());
        }
        let to_error = |_| Err(StoreError::Failed("a ruleset change panicked".to_owned()).into());
        receiver.await.unwrap_or_else(to_error)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<i64, Vec<QueuedChange>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a change. Returns true if no save for the account is in progress, so the caller must
    /// start one.
    fn enqueue(&self, account_id: i64, change: QueuedChange) -> bool {
        let mut queues = self.queues();
        let is_first = !queues.contains_key(&account_id);
        queues.entry(account_id).or_default().push(change);
        is_first
    }

    /// Takes all of an account's queued changes. If there are none, its entry is removed.
    fn dequeue(&self, account_id: i64) -> Vec<QueuedChange> {
        let mut queues = self.queues();
        let changes = queues.get_mut(&account_id).map(std::mem::take).unwrap_or_default();
        if changes.is_empty() {
            queues.remove(&account_id);
        }
        changes
    }
}

/// The task that saves one account's changes.
struct AccountSaver {
    writer: RuleWriter,
    account_id: i64,
}

/// After a panic the queue is dropped, so that no caller waits forever.
impl Drop for AccountSaver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.writer.queues().remove(&self.account_id);
        }
    }
}

impl AccountSaver {
    async fn run(self) {
        loop {
            let group = self.writer.dequeue(self.account_id);
            if group.is_empty() {
                return;
            }
            self.save_group(group).await;
        }
    }

    /// Saves changes together, or one by one if they are rejected together, and sends the replies.
    async fn save_group(&self, group: Vec<QueuedChange>) {
        match self.save(&group).await {
            // The changes together exceed the size limit, but some may fit alone.
            Err(RuleWriteError::Rejected(_)) if group.len() > 1 => {
                for change in group {
                    Box::pin(self.save_group(vec![change])).await;
                }
            }
            result => {
                let outcomes = result.unwrap_or_else(|error| vec![Err(error); group.len()]);
                for (queued, outcome) in group.into_iter().zip(outcomes) {
                    // Fails only if the caller dropped its future.
                    drop(queued.reply.send(outcome));
                }
            }
        }
    }

    /// Saves changes together. Returns the outcome of each, or the error that makes all of
    /// them fail.
    async fn save(&self, changes: &[QueuedChange]) -> Result<Vec<RuleWriteResult>, RuleWriteError> {
        for conflicts in 1..=MAX_CONFLICTS {
            if let Some(outcomes) = self.try_save(changes).await? {
                return Ok(outcomes);
            }
            // A random pause, so that nodes do not retry at the same time.
            let [random_byte] = random::bytes();
            let micros = u64::from(random_byte) * u64::from(conflicts.min(20)) * 10;
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
        Err(RuleWriteError::TooManyConflicts)
    }

    /// Saves changes together once. Returns `None` after a conflict with another node.
    async fn try_save(
        &self,
        changes: &[QueuedChange],
    ) -> Result<Option<Vec<RuleWriteResult>>, RuleWriteError> {
        let RuleWriter { store, limits, .. } = &self.writer;
        let now = changes.iter().map(|queued| queued.now).max().unwrap_or_default();
        let mut original = self.read_rulesets(changes, now).await?;
        let (mut documents, mut outcomes) = apply_all(&original.rulesets, changes, *limits);
        // A stale cache is detected by the version of a document when the document is written. If a
        // change was rejected or a document is not written, the rulesets are read again.
        let is_written = |document: &RuleDocument| {
            !document.is_empty() || original.rulesets.document(document.scope()).is_some()
        };
        let are_written = outcomes.iter().all(Result::is_ok) && documents.iter().all(is_written);
        if original.is_cached && !are_written {
            original = store.reload_rulesets_for_update(self.account_id, now).await?;
            (documents, outcomes) = apply_all(&original.rulesets, changes, *limits);
        }
        if outcomes.iter().all(Result::is_err) {
            return Ok(Some(outcomes));
        }
        let documents: Vec<_> = documents.into_iter().map(SerializedDocument::new).collect();
        let old_bytes = original.rulesets.bytes();
        let replaced_bytes: usize =
            documents.iter().map(|document| original.rulesets.scope_bytes(document.scope())).sum();
        let new_bytes: usize = documents.iter().map(SerializedDocument::bytes).sum();
        limits.check_bytes(old_bytes, old_bytes - replaced_bytes + new_bytes)?;
        match store.save_documents(&original, documents).await? {
            SaveOutcome::Saved => Ok(Some(outcomes)),
            SaveOutcome::Conflict => Ok(None),
            SaveOutcome::NoAccount => Err(RuleWriteError::NoAccount),
        }
    }

    /// Reads the rulesets to which the changes apply. For a change to all documents they are read
    /// from the database, because another node may have added a document that the cache does not
    /// have yet.
    async fn read_rulesets(
        &self,
        changes: &[QueuedChange],
        now: Timestamp,
    ) -> Result<RulesetsForUpdate, StoreError> {
        let store = &self.writer.store;
        if changes.iter().any(|queued| queued.extent == ChangeExtent::AllDocuments) {
            return store.reload_rulesets_for_update(self.account_id, now).await;
        }
        store.rulesets_for_update(self.account_id, now).await
    }
}

/// Applies the changes in order, except those that are rejected or would exceed the maximum
/// number of rules. Returns the changed documents and the outcome of each change.
fn apply_all(
    rulesets: &StoredRulesets,
    changes: &[QueuedChange],
    limits: RuleLimits,
) -> (Vec<RuleDocument>, Vec<RuleWriteResult>) {
    let mut documents = UserRuleDocuments::new(rulesets.documents());
    let apply = |queued: &QueuedChange| {
        let is_atomic = queued.extent == ChangeExtent::OneDocument;
        Ok(documents.apply(&queued.change, is_atomic, limits)?)
    };
    let outcomes = changes.iter().map(apply).collect();
    (documents.into_changed().collect(), outcomes)
}
