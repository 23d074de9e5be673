//! Cached rulesets.

use std::sync::{Arc, OnceLock};

use belfry_core::json;
use belfry_core::rules::{
    RuleDocument, RuleExpiry, RuleScope, RulesetsResponse, User, default_response,
};
use bytes::Bytes;
use jiff::Timestamp;

use super::entry::CacheValue;
use super::subjects::CacheSubject;

/// One account's documents, without the rules that had expired when they were read, and the cached
/// response that lists them. Accounts without documents need no allocation.
#[derive(Debug, Clone, Default)]
pub struct StoredRulesets(Option<Arc<DocumentSet>>);

/// An account's documents; at least one.
#[derive(Debug)]
struct DocumentSet {
    documents: Vec<VersionedDocument>,
    next_expiry: Option<RuleExpiry>,
    response: OnceLock<Bytes>,
}

#[derive(Debug, Clone)]
pub(crate) struct VersionedDocument {
    pub(crate) document: RuleDocument,
    /// A write succeeds only if the stored document still has this version.
    pub(crate) version: i64,
    /// Size of the stored text.
    pub(crate) bytes: usize,
}

impl StoredRulesets {
    pub(crate) fn new(documents: Vec<VersionedDocument>) -> Self {
        if documents.is_empty() {
            return Self(None);
        }
        let expiries = documents.iter().filter_map(|versioned| versioned.document.next_expiry());
        let next_expiry = expiries.min();
        Self(Some(Arc::new(DocumentSet { documents, next_expiry, response: OnceLock::new() })))
    }

    pub(crate) fn versioned_documents(&self) -> &[VersionedDocument] {
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

    pub(crate) fn versioned_document(&self, scope: &RuleScope) -> Option<&VersionedDocument> {
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
    pub(crate) fn bytes_in_memory(&self) -> usize {
        let builtin_bytes = 6 * 1024;
        if self.is_empty() {
            0
        } else {
            size_of::<DocumentSet>() + builtin_bytes + 5 * self.bytes()
        }
    }

    /// Returns the next time at which a rule expires. From then on these documents are out of date.
    pub fn next_expiry(&self) -> Option<RuleExpiry> {
        self.0.as_ref()?.next_expiry
    }

    pub(crate) fn has_expired_rule(&self, now: Timestamp) -> bool {
        self.next_expiry().is_some_and(|expiry| expiry.is_reached(now))
    }

    /// Returns the documents without the rules that have expired. A document that became empty
    /// stays, because it has a version in the database.
    pub(crate) fn without_expired_rules(self, now: Timestamp) -> Self {
        if !self.has_expired_rule(now) {
            return self;
        }
        let mut documents = self.versioned_documents().to_vec();
        for VersionedDocument { document, bytes, .. } in &mut documents {
            if document.remove_expired(now) {
                *bytes = document.to_text().len();
            }
        }
        Self::new(documents)
    }
}

impl CacheValue<i64> for StoredRulesets {
    fn subjects(&self, account: &i64) -> [CacheSubject; 2] {
        [CacheSubject::Account(*account); 2]
    }

    fn heap_bytes(&self, _: &i64) -> usize {
        self.bytes_in_memory()
    }
}
