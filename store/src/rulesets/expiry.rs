//! Removes expired timed rules from rulesets in memory.

use belfry_core::rules::RuleExpiry;
use jiff::Timestamp;

use super::{StoredRulesets, VersionedDocument};
use crate::Store;

impl StoredRulesets {
    /// Returns the next time at which a rule expires. From then on these documents are out of date.
    pub fn next_expiry(&self) -> Option<RuleExpiry> {
        self.0.as_ref()?.next_expiry
    }

    /// Returns whether one of the rules has expired.
    fn has_expired_rule(&self, now: Timestamp) -> bool {
        self.next_expiry().is_some_and(|expiry| expiry.is_reached(now))
    }

    /// Returns the documents without the rules that have expired. A document that became empty
    /// stays, because it has a version in the database.
    pub(super) fn without_expired_rules(self, now: Timestamp) -> Self {
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

impl Store {
    /// Returns an account's cached rulesets. When a rule has expired, the entry is replaced by one
    /// without it, so the rule expires on every node without a database read.
    pub(super) fn cached_rulesets(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Option<StoredRulesets> {
        let rulesets = self.cache.rules.get(&account_id)?;
        if !rulesets.has_expired_rule(now) {
            return Some(rulesets);
        }
        // The entry may have changed since it was read, so it is read again after the epoch.
        let epoch = self.cache.rules.epoch(&account_id);
        let current_rulesets = self.cache.rules.get(&account_id)?.without_expired_rules(now);
        self.cache.rules.insert(account_id, current_rulesets.clone(), epoch);
        Some(current_rulesets)
    }
}
