//! Changes of rules, saved together: while one change of an account is being made durable, those
//! that come after it wait, and then are saved as one, in the order in which they came.
//!
//! So clients of one account never come into each other's way, and each of them waits for two
//! saves at the most. Only other nodes can come first; then the changes are made again, upon what
//! the other node wrote.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use belfry_core::rules::{Document, RuleError, RuleLimits, RuleScope};
use tokio::sync::oneshot;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::random;
use crate::store::{Draft, StoreError, StoredRulesets};

/// A change of one document. It may be made more than once, and changes nothing if it is refused.
pub(crate) type Change = Box<dyn Fn(&mut Document) -> Result<(), RuleError> + Send + Sync>;

/// How often other nodes may come first before the caller is told to come back.
const TRIES: u32 = 50;

/// The changes that wait, by account. An account is here while one of its changes is being saved.
#[derive(Default)]
pub struct Changes(Mutex<HashMap<i64, Vec<Waiting>>>);

struct Waiting {
    scope: RuleScope,
    change: Change,
    reply: oneshot::Sender<Result<(), MatrixError>>,
}

/// Makes a change, and answers when it is durable or refused. A caller who goes away does not
/// stop it: others may wait for the same save.
pub(crate) async fn make(
    state: &Arc<AppState>,
    account: i64,
    scope: RuleScope,
    change: Change,
) -> Result<(), MatrixError> {
    let (reply, outcome) = oneshot::channel();
    if state.changes.wait(account, Waiting { scope, change, reply }) {
        tokio::spawn(save_all(Saver { state: Arc::clone(state), account }));
    }
    // Nobody replies only if a change panicked.
    outcome.await.unwrap_or_else(|_| Err(CommonError::Internal.into()))
}

impl Changes {
    /// Lets a change wait. Whether it is the first, so that somebody must begin to save.
    fn wait(&self, account: i64, change: Waiting) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = false;
        let waiting = all.entry(account).or_insert_with(|| {
            first = true;
            Vec::new()
        });
        waiting.push(change);
        first
    }

    /// What waits now; when nothing does, the account is left.
    fn take(&self, account: i64) -> Vec<Waiting> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = all.get_mut(&account).map(std::mem::take).unwrap_or_default();
        if taken.is_empty() {
            all.remove(&account);
        }
        taken
    }
}

/// Who saves the changes of an account. Should it panic, those who wait must not wait for ever.
struct Saver {
    state: Arc<AppState>,
    account: i64,
}

impl Drop for Saver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut all = self.state.changes.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.remove(&self.account);
        }
    }
}

async fn save_all(saver: Saver) {
    loop {
        let mut waiting = saver.state.changes.take(saver.account);
        if waiting.is_empty() {
            return;
        }
        while let Some(first) = waiting.first() {
            let scope = first.scope.clone();
            let (these, others) = waiting.into_iter().partition(|other| other.scope == scope);
            saver.save_scope(&scope, these).await;
            waiting = others;
        }
    }
}

/// What became of changes that were saved together.
enum Saved {
    /// Each has its own outcome.
    Each(Vec<Result<(), MatrixError>>),
    /// All together would be too large; one after the other, some may not be.
    TooLarge(RuleError),
}

impl Saver {
    async fn save_scope(&self, scope: &RuleScope, waiting: Vec<Waiting>) {
        let changes: Vec<&Change> = waiting.iter().map(|waiting| &waiting.change).collect();
        let outcomes = match self.save(scope, &changes).await {
            Saved::Each(outcomes) => outcomes,
            Saved::TooLarge(refusal) if changes.len() == 1 => vec![Err(refusal.into())],
            Saved::TooLarge(_) => {
                let mut outcomes = Vec::with_capacity(changes.len());
                for change in changes {
                    match self.save(scope, &[change]).await {
                        Saved::Each(outcome) => outcomes.extend(outcome),
                        Saved::TooLarge(refusal) => outcomes.push(Err(refusal.into())),
                    }
                }
                outcomes
            }
        };
        for (waiting, outcome) in waiting.into_iter().zip(outcomes) {
            // Who went away need not be told.
            drop(waiting.reply.send(outcome));
        }
    }

    async fn save(&self, scope: &RuleScope, changes: &[&Change]) -> Saved {
        for conflicts in 1..=TRIES {
            match self.try_to_save(scope, changes).await {
                Ok(Some(saved)) => return saved,
                Ok(None) => tokio::time::sleep(pause(conflicts)).await,
                Err(error) => return all(changes, &CommonError::from(error)),
            }
        }
        all(changes, &CommonError::Unavailable("Others keep changing these rules; try again soon"))
    }

    /// `None` when another node came first.
    async fn try_to_save(
        &self,
        scope: &RuleScope,
        changes: &[&Change],
    ) -> Result<Option<Saved>, StoreError> {
        let store = &self.state.store;
        let settings = self.state.config.rules;
        let bounds = RuleLimits { rules: settings.max_rules, bytes: settings.max_bytes };
        let mut read = store.rulesets_for_update(self.account).await?;
        let (mut document, mut outcomes) = made(&read.rulesets, scope, changes, bounds);
        if outcomes.iter().all(Result::is_err) && read.is_cached() {
            // What is refused is not saved, so that no conflict would tell of another node's write.
            read = store.reload_rulesets_for_update(self.account).await?;
            (document, outcomes) = made(&read.rulesets, scope, changes, bounds);
        }
        if outcomes.iter().all(Result::is_err) {
            return Ok(Some(Saved::Each(outcomes)));
        }
        let draft = Draft::new(document);
        let before = read.rulesets.bytes();
        let after = before - read.rulesets.bytes_of(scope) + draft.bytes();
        if let Err(refusal) = bounds.check_bytes(before, after) {
            return Ok(Some(Saved::TooLarge(refusal)));
        }
        let saved = store.save_ruleset(&read, draft).await?;
        Ok(saved.then_some(Saved::Each(outcomes)))
    }
}

/// Makes the changes, and gives the changed document and what became of each.
fn made(
    rulesets: &StoredRulesets,
    scope: &RuleScope,
    changes: &[&Change],
    bounds: RuleLimits,
) -> (Document, Vec<Result<(), MatrixError>>) {
    let old = rulesets.document(scope);
    let mut document = old.cloned().unwrap_or_else(|| Document::new(scope.clone()));
    let elsewhere = rulesets.len() - document.len();
    let make = |change: &&Change| {
        apply(change, &mut document, elsewhere, bounds).map_err(MatrixError::from)
    };
    let outcomes = changes.iter().map(make).collect();
    (document, outcomes)
}

/// Makes one change, unless the account would then have too many rules.
fn apply(
    change: &Change,
    document: &mut Document,
    elsewhere: usize,
    bounds: RuleLimits,
) -> Result<(), RuleError> {
    let before = elsewhere + document.len();
    // A copy is needed only where the change may have to be undone.
    let undone = (before >= bounds.rules).then(|| document.clone());
    change(document)?;
    let allowed = bounds.check_rules(before, elsewhere + document.len());
    if let (Err(_), Some(undone)) = (&allowed, undone) {
        *document = undone;
    }
    allowed
}

fn all(changes: &[&Change], problem: &CommonError) -> Saved {
    Saved::Each(changes.iter().map(|_| Err(problem.clone().into())).collect())
}

/// How long to wait after so many conflicts: by chance, so that nodes do not keep step.
fn pause(conflicts: u32) -> Duration {
    let [chance] = random::bytes();
    Duration::from_micros(u64::from(chance) * u64::from(conflicts.min(20)) * 10)
}
