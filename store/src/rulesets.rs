//! Push rulesets: one versioned document for each of an account's rule scopes.

mod bulk;
mod expiry;
mod save;

use std::sync::{Arc, OnceLock};

use belfry_core::json;
use belfry_core::rules::{
    Document, RuleExpiry, RuleScope, RulesetsResponse, User, default_response,
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
pub struct StoredRulesets(Option<Arc<Documents>>);

#[derive(Debug)]
struct Documents {
    all: Vec<VersionedDocument>,
    /// The next time at which a rule expires.
    next_expiry: Option<RuleExpiry>,
    response: OnceLock<Bytes>,
}

/// A stored document and its version.
#[derive(Debug, Clone)]
struct VersionedDocument {
    document: Document,
    /// A write succeeds only if the stored document still has this version.
    version: i64,
    /// Size of the stored text.
    bytes: usize,
}

/// An account's rulesets, read to be changed.
pub struct RulesetsForUpdate {
    /// The rulesets to change.
    pub rulesets: StoredRulesets,
    account: i64,
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
        let document = Document::from_text(scope, &text).map_err(|_| UNREADABLE)?;
        Ok(Self { document, version, bytes: text.len() })
    }
}

impl StoredRulesets {
    fn new(all: Vec<VersionedDocument>) -> Self {
        if all.is_empty() {
            return Self(None);
        }
        let next_expiry = all.iter().filter_map(|one| one.document.next_expiry()).min();
        Self(Some(Arc::new(Documents { all, next_expiry, response: OnceLock::new() })))
    }

    fn all(&self) -> &[VersionedDocument] {
        self.0.as_deref().map_or(&[], |documents| &documents.all)
    }

    /// Returns all documents of the account.
    pub fn documents(&self) -> impl Iterator<Item = &Document> + Clone {
        self.all().iter().map(|versioned| &versioned.document)
    }

    /// Returns the document for a scope, if there is one.
    pub fn document(&self, scope: &RuleScope) -> Option<&Document> {
        self.versioned(scope).map(|versioned| &versioned.document)
    }

    /// Returns the tags of the device profiles that have rules, in order.
    pub fn profile_tags(&self) -> Vec<&str> {
        let has_rules = |document: &&Document| document.user_rules().iter().next().is_some();
        let with_rules = self.documents().filter(has_rules);
        let mut tags: Vec<&str> = with_rules
            .filter_map(|document| match document.scope() {
                RuleScope::Device(tag) => Some(tag.as_str()),
                RuleScope::Global => None,
            })
            .collect();
        tags.sort_unstable();
        tags
    }

    fn versioned(&self, scope: &RuleScope) -> Option<&VersionedDocument> {
        self.all().iter().find(|versioned| versioned.document.scope() == scope)
    }

    /// Returns the number of rules in all documents.
    pub fn len(&self) -> usize {
        self.documents().map(Document::len).sum()
    }

    /// Returns whether the account has no document.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the size of the stored text of all documents.
    pub fn bytes(&self) -> usize {
        self.all().iter().map(|versioned| versioned.bytes).sum()
    }

    /// Returns the size of the stored text for one scope.
    pub fn bytes_of(&self, scope: &RuleScope) -> usize {
        self.versioned(scope).map_or(0, |versioned| versioned.bytes)
    }

    /// Returns the response that lists all rules, serialised once.
    pub fn response(&self, owner: User<'_>) -> Bytes {
        let Some(documents) = &self.0 else { return default_response(owner).into() };
        let serialize = || json::to_bytes(&RulesetsResponse::new(self.documents(), owner)).into();
        documents.response.get_or_init(serialize).clone()
    }

    /// Returns the estimated size in memory. A parsed document takes about four times its text; the
    /// response, which may be added later, repeats the text and lists the built-in rules.
    pub(super) fn bytes_in_memory(&self) -> usize {
        let builtin_bytes = 6 * 1024;
        if self.is_empty() { 0 } else { size_of::<Documents>() + builtin_bytes + 5 * self.bytes() }
    }
}

impl Store {
    /// Returns an account's rulesets, without the rules that have expired; empty if it has no
    /// documents.
    pub async fn rulesets(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<StoredRulesets, StoreError> {
        if let Some(cached) = self.cached_rulesets(account, now) {
            return Ok(cached);
        }
        let epoch = self.cache.rules.epoch(&account);
        let select = sql!(
            "select scope, version, document from rulesets where account_id = $account \
             order by scope",
            [account]
        );
        let rulesets = StoredRulesets::new(self.read_all(select).await?).without_expired(now);
        self.cache.rules.insert(account, rulesets.clone(), epoch);
        Ok(rulesets)
    }

    /// Returns an account's rulesets for a change, without the rules that have expired. The next
    /// save of a document also deletes its expired rules.
    pub async fn rulesets_for_update(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<RulesetsForUpdate, StoreError> {
        let epoch = self.cache.rules.epoch(&account);
        let cached = self.cached_rulesets(account, now);
        let is_cached = cached.is_some();
        let rulesets = match cached {
            Some(rulesets) => rulesets,
            None => self.rulesets(account, now).await?,
        };
        Ok(RulesetsForUpdate { rulesets, account, epoch, is_cached })
    }

    /// Returns an account's rulesets for a change, like [`Store::rulesets_for_update`], but
    /// invalidates the cached ones first, so that they are read from the database.
    pub async fn reload_rulesets_for_update(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<RulesetsForUpdate, StoreError> {
        self.cache.invalidate(&[Invalidation::Rules(account)]);
        let rulesets = self.rulesets_for_update(account, now).await?;
        Ok(RulesetsForUpdate { is_cached: false, ..rulesets })
    }
}
