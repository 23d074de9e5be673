//! Saving changed documents, unless another writer has changed them.

use belfry_core::rules::{RuleDocument, RuleExpiry, RuleScope};
use belfry_runtime::random;
use jiff::Timestamp;

use super::{RulesetsForUpdate, StoredRulesets, VersionedDocument};
use crate::cache::Invalidation;
use crate::engine::{Batch, Grouping, OnMissingRows, Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    Saved,
    /// Another writer changed a document since it was read; nothing was written.
    Conflict,
    /// The account does not exist or is disabled; nothing was written.
    NoAccount,
}

/// A changed document and its stored text.
#[derive(Debug, Clone)]
pub struct SerializedDocument {
    document: RuleDocument,
    text: String,
}

impl SerializedDocument {
    pub fn new(document: RuleDocument) -> Self {
        let text = if document.is_empty() { String::new() } else { document.to_text() };
        Self { document, text }
    }

    pub(crate) fn scope(&self) -> &RuleScope {
        self.document.scope()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the next time at which a rule expires, in seconds and rounded up, as it is stored.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        self.document.next_expiry().map(RuleExpiry::to_timestamp)
    }

    /// Returns the size of the stored text; 0 if the document is empty and will be deleted.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
}

impl StoredRulesets {
    /// Returns a copy with changed documents, each with its new version.
    fn with_documents(&self, changed_documents: Vec<(SerializedDocument, i64)>) -> Self {
        let mut documents = self.versioned_documents().to_vec();
        for (SerializedDocument { document, text }, version) in changed_documents {
            documents.retain(|existing| existing.document.scope() != document.scope());
            if !text.is_empty() {
                documents.push(VersionedDocument { document, version, bytes: text.len() });
            }
        }
        Self::new(documents)
    }
}

impl Store {
    /// Saves changed documents and deletes empty ones, all or none, unless another writer has
    /// changed one of them since the originals were read.
    pub async fn save_documents(
        &self,
        original: &RulesetsForUpdate,
        mut documents: Vec<SerializedDocument>,
    ) -> Result<SaveOutcome, StoreError> {
        // The same order everywhere, so that concurrent writers of several rows do not deadlock.
        documents.sort_by_cached_key(|document| document.scope().to_string());
        let mut statements = Vec::new();
        let mut saved_documents = Vec::new();
        for document in documents {
            let version =
                original.rulesets.versioned_document(document.scope()).map(|stored| stored.version);
            if let Some(statement) = save_statement(original.account_id, version, &document) {
                statements.push(statement);
                saved_documents.push(document);
            }
        }
        if statements.is_empty() {
            return Ok(SaveOutcome::Saved);
        }
        let on_missing_rows = OnMissingRows::RollBack;
        let grouping = match statements.len() {
            1 => Grouping::Ruleset(original.account_id),
            // Several statements are committed or rolled back depending on their rows.
            _ => Grouping::Alone,
        };
        let batch = Batch { statements, on_missing_rows, grouping, ..Batch::default() };
        let change =
            Change::unaudited(batch).invalidating(Invalidation::Rules(original.account_id));
        let statement_rows = self.write(change).await?;
        let mut versions = Vec::with_capacity(saved_documents.len());
        for rows in statement_rows {
            let Some(mut row) = rows.into_iter().next() else {
                return self.missing_row_outcome(original.account_id).await;
            };
            versions.push(row.take()?);
        }
        let rulesets =
            original.rulesets.with_documents(saved_documents.into_iter().zip(versions).collect());
        // The cache rejects them if another writer invalidated the rulesets since they were read.
        self.cache.rules.insert(original.account_id, rulesets, original.epoch.after_write());
        Ok(SaveOutcome::Saved)
    }

    /// Returns the outcome of a save that found no row to change.
    async fn missing_row_outcome(&self, account_id: i64) -> Result<SaveOutcome, StoreError> {
        let select = sql!(
            r"
                select id
                from accounts
                where id = $account
                  and disabled_at is null
            ",
            [account = account_id]
        );
        let is_account_missing = self.engine.read(select).await?.is_empty();
        Ok(if is_account_missing { SaveOutcome::NoAccount } else { SaveOutcome::Conflict })
    }
}

/// Returns the statement that replaces this version of a document, inserts a new document, or
/// deletes an empty one; `None` if there is nothing to save. The statement returns no row if the
/// stored document has a different version, or a new document has no enabled account.
pub(crate) fn save_statement(
    account_id: i64,
    version: Option<i64>,
    document: &SerializedDocument,
) -> Option<Statement> {
    let scope = document.scope().to_string();
    let expires_at = document.expires_at();
    Some(match (version, document.text()) {
        (None, "") => return None,
        (None, text) => sql!(
            r"
                insert into rulesets (account_id, scope, version, document, expires_at)
                select id, cast($scope as text), cast($first_version as bigint),
                    cast($text as text), cast($expires_at as bigint)
                from accounts
                where id = $account
                  and disabled_at is null
                on conflict do nothing
                returning version
            ",
            [account = account_id, scope, first_version = first_version(), text, expires_at]
        ),
        (Some(version), "") => sql!(
            r"
                delete from rulesets
                where account_id = $account
                  and scope = $scope
                  and version = $version
                returning version
            ",
            [account = account_id, scope, version]
        ),
        (Some(version), text) => sql!(
            r"
                update rulesets
                set version = version + 1, document = $text, expires_at = $expires_at
                where account_id = $account
                  and scope = $scope
                  and version = $version
                returning version
            ",
            [account = account_id, scope, version, text, expires_at]
        ),
    })
}

/// Returns the version of a new document. It is random, so that a recreated document is never
/// mistaken for the deleted one that a slow writer read.
pub(crate) fn first_version() -> i64 {
    i64::from(u32::from_be_bytes(random::bytes())) << 24
}
