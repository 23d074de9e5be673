//! Deletion of timed rules that have expired. Reads already ignore them, so this only frees space.

use belfry_core::rules::RuleDocument;
use jiff::{SignedDuration, Timestamp};

use super::saturating_add;
use crate::cache::Invalidation;
use crate::engine::{Batch, Row, Statement, sql};
use crate::error::StoreError;
use crate::rules::{SerializedDocument, save_statement};
use crate::store::{Change, Store};

/// Maximum number of documents rewritten in one transaction. Each may have the maximum size of an
/// account's rules. The statement contains it as a literal.
const BATCH_DOCUMENTS: usize = 20;

/// Time between the first expiry of a rule in a document and the rewrite of the document. A rewrite
/// removes all expired rules, so a document is rewritten at most once in this time.
const REWRITE_DELAY: SignedDuration = SignedDuration::from_hours(24);

/// Maximum number of transactions per sweep. Further documents are left to the next sweep.
const MAX_BATCHES: usize = 1000;

/// A document with a rule that expired more than [`REWRITE_DELAY`] ago.
struct DueDocument {
    account: i64,
    scope: String,
    version: i64,
    /// The document without the rules that have expired; `None` if the stored text is unreadable.
    document: Option<SerializedDocument>,
}

impl Store {
    /// Removes the rules that expired before a time, from documents with a rule that expired more
    /// than [`REWRITE_DELAY`] before it. Returns the number of changed documents. A document that
    /// another writer changes concurrently is left to the next sweep.
    pub(super) async fn delete_expired_rules(
        &self,
        before: Timestamp,
    ) -> Result<usize, StoreError> {
        let mut changed_count = 0;
        for _ in 0..MAX_BATCHES {
            let mut documents = self.read_due_documents(before).await?;
            // In the same order as other writers, to avoid deadlocks.
            documents.sort_by(|a, b| (a.account, &a.scope).cmp(&(b.account, &b.scope)));
            let count = documents.len();
            let mut batch = Batch::default();
            for document in documents {
                batch.invalidations.push(Invalidation::Rules(document.account));
                batch.statements.extend(document.into_statement());
            }
            let saved_count: usize = match count {
                0 => 0,
                _ => self.write(Change::unaudited(batch)).await?.iter().map(Vec::len).sum(),
            };
            changed_count += saved_count;
            if count < BATCH_DOCUMENTS || saved_count == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(changed_count)
    }

    /// Reads one batch of due documents, and returns them without the rules that expired before
    /// `before`. Writes nothing.
    async fn read_due_documents(&self, before: Timestamp) -> Result<Vec<DueDocument>, StoreError> {
        let select = sql!(
            r"
                select account_id, scope, version, document
                from rulesets
                where expires_at < $due
                order by expires_at, account_id, scope
                limit 20
            ",
            [due = saturating_add(before, -REWRITE_DELAY)]
        );
        let rows = self.engine.read(select).await?.into_iter();
        // Many large documents would block a worker thread.
        let parse_rows = move || rows.map(|row| DueDocument::new(row, before)).collect();
        let outcome = tokio::task::spawn_blocking(parse_rows).await;
        outcome.map_err(|panic| StoreError::Failed(panic.to_string()))?
    }
}

impl DueDocument {
    fn new(mut row: Row, before: Timestamp) -> Result<Self, StoreError> {
        let (account, scope): (i64, String) = (row.take()?, row.take()?);
        let (version, text): (i64, String) = (row.take()?, row.take()?);
        let parsed_document =
            scope.parse().ok().and_then(|scope| RuleDocument::from_text(scope, &text).ok());
        if parsed_document.is_none() {
            tracing::warn!(%account, scope, "stored ruleset is unreadable");
        }
        let document = parsed_document.map(|mut document| {
            document.remove_expired(before);
            SerializedDocument::new(document)
        });
        Ok(Self { account, scope, version, document })
    }

    /// Returns the statement that saves the document if it still has its version. An unreadable
    /// document stays unchanged, but is no longer due, so that it does not block others.
    fn into_statement(self) -> Option<Statement> {
        let Self { account, scope, version, document } = self;
        match document {
            Some(document) => save_statement(account, Some(version), &document),
            None => Some(sql!(
                r"
                    update rulesets
                    set expires_at = null
                    where account_id = $account
                      and scope = $scope
                      and version = $version
                ",
                [account, scope, version]
            )),
        }
    }
}
