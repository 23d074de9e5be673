//! Bulk reads: account ids by name, account names by id, and rulesets by account.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{StoredRulesets, VersionedDocument};
use crate::cache::ReadEpoch;
use crate::engine::{CHUNK_LEN, FromRow, list_sql};
use crate::error::StoreError;
use crate::store::Store;

/// An account's rulesets, and the state of the cache when they were read.
#[derive(Debug, Clone)]
pub struct RulesetsSnapshot {
    pub rulesets: StoredRulesets,
    /// The state of the cache when they were read.
    pub epoch: ReadEpoch,
}

impl Store {
    /// Returns the ids of the accounts with these names, in the same order; `None` for a name
    /// without an enabled account.
    pub async fn account_ids(&self, names: &[&str]) -> Result<Vec<Option<i64>>, StoreError> {
        let mut ids: Vec<Option<i64>> =
            names.iter().map(|name| self.cache.accounts.get(*name)).collect();
        // A NUL in one name would reject the whole statement; no account has such a name.
        let uncached_indexes: Vec<usize> = (0..names.len())
            .filter(|&index| ids[index].is_none() && !names[index].contains('\0'))
            .collect();
        for chunk in uncached_indexes.chunks(CHUNK_LEN) {
            let uncached_names: Vec<&str> = chunk.iter().map(|&index| names[index]).collect();
            let epochs: Vec<ReadEpoch> =
                uncached_names.iter().map(|name| self.cache.accounts.epoch(*name)).collect();
            let select = list_sql!(
                &uncached_names,
                "select name, id from accounts where disabled_at is null and name in ({list})",
                []
            );
            let ids_by_name: HashMap<String, i64> =
                self.read_all(select).await?.into_iter().collect();
            for (&index, epoch) in chunk.iter().zip(epochs) {
                if let Some(&id) = ids_by_name.get(names[index]) {
                    self.cache.accounts.insert(names[index].into(), id, epoch);
                    ids[index] = Some(id);
                }
            }
        }
        Ok(ids)
    }

    /// Returns the names of the enabled accounts with these ids, by id.
    pub async fn account_names(&self, ids: &[i64]) -> Result<HashMap<i64, String>, StoreError> {
        let mut names = HashMap::new();
        for chunk in ids.chunks(CHUNK_LEN) {
            let select = list_sql!(
                chunk,
                "select id, name from accounts where disabled_at is null and id in ({list})",
                []
            );
            names.extend(self.read_all::<(i64, String)>(select).await?);
        }
        Ok(names)
    }

    /// Returns the rulesets of these accounts by account id, without the rules that have expired.
    pub async fn rulesets_for_accounts(
        &self,
        accounts: &[i64],
        now: Timestamp,
    ) -> Result<HashMap<i64, RulesetsSnapshot>, StoreError> {
        let mut snapshots = HashMap::with_capacity(accounts.len());
        let mut uncached_accounts: Vec<(i64, ReadEpoch)> = Vec::new();
        for &account in accounts {
            let epoch = self.cache.rules.epoch(&account);
            match self.cached_rulesets(account, now) {
                Some(rulesets) => {
                    drop(snapshots.insert(account, RulesetsSnapshot { rulesets, epoch }));
                }
                None => uncached_accounts.push((account, epoch)),
            }
        }
        for chunk in uncached_accounts.chunks(CHUNK_LEN) {
            let ids: Vec<i64> = chunk.iter().map(|(account, _)| *account).collect();
            let select = list_sql!(
                &ids,
                r"
                    select account_id, scope, version, document
                    from rulesets
                    where account_id in ({list})
                    order by account_id, scope
                ",
                []
            );
            let mut documents_by_account: HashMap<i64, Vec<VersionedDocument>> = HashMap::new();
            for mut row in self.engine.read(select).await? {
                let account = row.take()?;
                documents_by_account
                    .entry(account)
                    .or_default()
                    .push(VersionedDocument::from_row(row)?);
            }
            for &(account, epoch) in chunk {
                // An account listed twice already has its documents.
                let snapshot = snapshots.entry(account).or_insert_with(|| {
                    let documents = documents_by_account.remove(&account).unwrap_or_default();
                    let rulesets = StoredRulesets::new(documents).without_expired_rules(now);
                    RulesetsSnapshot { rulesets, epoch }
                });
                self.cache.rules.insert(account, snapshot.rulesets.clone(), epoch);
            }
        }
        Ok(snapshots)
    }

    /// Returns whether an account's rulesets are current: they were not invalidated since they were
    /// read, and the cache was and is enabled. A write by this node invalidates them before it is
    /// acknowledged, a write by another node when its notification arrives.
    pub fn are_rulesets_current(&self, account_id: i64, epoch: ReadEpoch) -> bool {
        epoch.is_same(self.cache.rules.epoch(&account_id))
    }
}
