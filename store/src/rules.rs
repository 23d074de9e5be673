//! Push rulesets: one versioned document for each of an account's rule scopes.

mod bulk;
pub(crate) mod save;
pub(crate) mod writes;

use belfry_core::rules::RuleDocument;
use jiff::Timestamp;

pub use self::bulk::RulesetsSnapshot;
pub use self::save::{SaveOutcome, SerializedDocument};
pub(crate) use self::save::{first_version, save_statement};
use crate::cache::{Invalidation, ReadEpoch, StoredRulesets, VersionedDocument};
use crate::engine::{FromRow, Row, sql};
use crate::error::StoreError;
use crate::store::Store;

/// An account's rulesets, read to be changed.
pub struct RulesetsForUpdate {
    pub rulesets: StoredRulesets,
    account_id: i64,
    epoch: ReadEpoch,
    /// True if the rulesets come from the cache, which may not reflect the last write of a
    /// different node yet.
    pub(crate) is_cached: bool,
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
            r"
                select scope, version, document
                from rulesets
                where account_id = $account
                order by scope
            ",
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

    /// Returns an account's cached rulesets. When a rule has expired, the entry is replaced by one
    /// without it, so the rule expires on every node without a database read.
    pub(crate) fn cached_rulesets(
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
