//! Rulesets with the cache epoch of their read, to check later whether they are still current.

use super::StoredRulesets;
use crate::Store;
use crate::epochs::ReadEpoch;

/// The rulesets of an account, and the state of the cache when they were read.
#[derive(Debug, Clone)]
pub struct RulesetsSnapshot {
    /// The rulesets.
    pub rulesets: StoredRulesets,
    /// The state of the cache when they were read.
    pub epoch: SnapshotEpoch,
}

/// The state of the cache when the rulesets of an account were read.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotEpoch {
    pub(super) epoch: ReadEpoch,
    /// Whether the cache was enabled. Otherwise changes cannot be detected.
    enabled: bool,
}

impl SnapshotEpoch {
    /// Whether the cache was enabled and was not invalidated between the two reads.
    pub fn is_same(self, other: Self) -> bool {
        self.enabled && other.enabled && self.epoch.is_same(other.epoch)
    }
}

impl Store {
    /// Whether an account's rulesets were not invalidated since they were read. Writes of this node
    /// invalidate them before they are acknowledged, writes of other nodes by their notification.
    pub fn is_current(&self, account: i64, epoch: SnapshotEpoch) -> bool {
        epoch.is_same(self.snapshot_epoch(account))
    }

    /// The state of the cache, to be taken before the rulesets of an account are read. The epoch is
    /// read before `enabled`: disabling the cache advances the epoch, so an epoch from before a
    /// partition is never current after it.
    pub(super) fn snapshot_epoch(&self, account: i64) -> SnapshotEpoch {
        let epoch = self.cache.rules.epoch(&account);
        SnapshotEpoch { epoch, enabled: self.cache.is_enabled() }
    }
}
