//! Push rulesets: one versioned document for each of an account's rule scopes.

mod bulk;
mod expiry;
mod save;

use std::sync::{Arc, OnceLock};

use belfry_core::json;
use belfry_core::rules::{
    RuleDocument, RuleExpiry, RuleScope, RulesetsResponse, User, default_response,
};
use bytes::Bytes;
use jiff::Timestamp;

pub use self::bulk::RulesetsSnapshot;
pub use self::save::{SaveOutcome, SerializedDocument};
pub(super) use self::save::{first_version, save_statement};
use super::engine::{FromRow, Row, sql};
use super::epochs::ReadEpoch;
use super::invalidation::Invalidation;
use super::{Store, StoreError};

/// One account's documents, without the rules that had expired when they were read, and the cached
/// response that lists them. Accounts without documents need no allocation.
#[derive(Debug, Clone, Default)]
pub struct StoredRulesets(Option<Arc<DocumentSet>>);

/// An account's documents; at least one.
#[derive(Debug)]
struct DocumentSet {
    documents: Vec<VersionedDocument>,
    /// The next time at which a rule expires.
    next_expiry: Option<RuleExpiry>,
    response: OnceLock<Bytes>,
}

/// A stored document and its version.
#[derive(Debug, Clone)]
struct VersionedDocument {
    document: RuleDocument,
    /// A write succeeds only if the stored document still has this version.
    version: i64,
    /// Size of the stored text.
    bytes: usize,
}

/// An account's rulesets, read to be changed.
pub struct RulesetsForUpdate {
    /// The rulesets to change.
    pub rulesets: StoredRulesets,
    account_id: i64,
    epoch: ReadEpoch,
    /// True if the rulesets come from the cache, which may not reflect the last write of a
    /// different node yet.
    pub(super) is_cached: bool,
}

impl FromRow for VersionedDocument {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        const UNREADABLE: StoreError = StoreError::Unreadable("ruleset");
        let scope = row.take::<String>()?.parse().map_err(|_| UNREADABLE)?;
        let version = row.take()?;
        let text = row.take::<String>()?;
        let document = RuleDocument::from_text(scope, &text).map_err(|_| UNREADABLE)?;
        Ok(Self { document, version, bytes: text.len() })
    }
}

impl StoredRulesets {
    fn new(documents: Vec<VersionedDocument>) -> Self {
        if documents.is_empty() {
            return Self(None);
        }
        let expiries = documents.iter().filter_map(|versioned| versioned.document.next_expiry());
        let next_expiry = expiries.min();
        Self(Some(Arc::new(DocumentSet { documents, next_expiry, response: OnceLock::new() })))
    }

    fn versioned_documents(&self) -> &[VersionedDocument] {
        self.0.as_deref().map_or(&[], |set| &set.documents)
    }

    /// Returns all of the account's documents.
    pub fn documents(&self) -> impl Iterator<Item = &RuleDocument> + Clone {
        self.versioned_documents().iter().map(|versioned| &versioned.document)
    }

    /// Returns the document for a scope, if there is one.
    pub fn document(&self, scope: &RuleScope) -> Option<&RuleDocument> {
        self.versioned_document(scope).map(|versioned| &versioned.document)
    }

    /// Returns the tags of the device profiles that have rules, in order.
    pub fn profile_tags(&self) -> Vec<&str> {
        let has_rules = |document: &&RuleDocument| document.user_rules().iter().next().is_some();
        let documents_with_rules = self.documents().filter(has_rules);
        let mut tags: Vec<&str> = documents_with_rules
            .filter_map(|document| match document.scope() {
                RuleScope::Device(tag) => Some(tag.as_str()),
                RuleScope::Global => None,
            })
            .collect();
        tags.sort_unstable();
        tags
    }

    fn versioned_document(&self, scope: &RuleScope) -> Option<&VersionedDocument> {
        self.versioned_documents().iter().find(|versioned| versioned.document.scope() == scope)
    }

    /// Returns the number of rules in all documents.
    pub fn rule_count(&self) -> usize {
        self.documents().map(RuleDocument::rule_count).sum()
    }

    /// Returns whether the account has no document.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the size of the stored text of all documents.
    pub fn bytes(&self) -> usize {
        self.versioned_documents().iter().map(|versioned| versioned.bytes).sum()
    }

    /// Returns the size of the stored text for one scope.
    pub fn scope_bytes(&self, scope: &RuleScope) -> usize {
        self.versioned_document(scope).map_or(0, |versioned| versioned.bytes)
    }

    /// Returns the response that lists all rules, serialized once.
    pub fn response(&self, owner: User<'_>) -> Bytes {
        let Some(set) = &self.0 else { return default_response(owner).into() };
        let serialize = || json::to_bytes(&RulesetsResponse::new(self.documents(), owner)).into();
        set.response.get_or_init(serialize).clone()
    }

    /// Returns the estimated size in memory. A parsed document takes about four times its text; the
    /// response, which may be added later, repeats the text and lists the built-in rules.
    pub(super) fn bytes_in_memory(&self) -> usize {
        let builtin_bytes = 6 * 1024;
        if self.is_empty() {
            0
        } else {
            size_of::<DocumentSet>() + builtin_bytes + 5 * self.bytes()
        }
    }
}

impl Store {
    /// Returns an account's rulesets, without the rules that have expired; empty if it has no
    /// documents.
    pub async fn rulesets(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<StoredRulesets, StoreError> {
        if let Some(rulesets) = self.cached_rulesets(account_id, now) {
            return Ok(rulesets);
        }
        let epoch = self.cache.rules.epoch(&account_id);
        let select = sql!(
            "select scope, version, document from rulesets where account_id = $account \
             order by scope",
            [account = account_id]
        );
        let rulesets = StoredRulesets::new(self.read_all(select).await?).without_expired_rules(now);
        self.cache.rules.insert(account_id, rulesets.clone(), epoch);
        Ok(rulesets)
    }

    /// Returns an account's rulesets for a change, without the rules that have expired. The next
    /// save of a document also deletes its expired rules.
    pub async fn rulesets_for_update(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<RulesetsForUpdate, StoreError> {
        let epoch = self.cache.rules.epoch(&account_id);
        let cached_rulesets = self.cached_rulesets(account_id, now);
        let is_cached = cached_rulesets.is_some();
        let rulesets = match cached_rulesets {
            Some(rulesets) => rulesets,
            None => self.rulesets(account_id, now).await?,
        };
        Ok(RulesetsForUpdate { rulesets, account_id, epoch, is_cached })
    }

    /// Returns an account's rulesets for a change, like [`Store::rulesets_for_update`], but
    /// invalidates the cached ones first, so that they are read from the database.
    pub async fn reload_rulesets_for_update(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<RulesetsForUpdate, StoreError> {
        self.cache.invalidate(&[Invalidation::Rules(account_id)]);
        let rulesets = self.rulesets_for_update(account_id, now).await?;
        Ok(RulesetsForUpdate { is_cached: false, ..rulesets })
    }
}
