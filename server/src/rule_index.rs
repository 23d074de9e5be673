//! Cache of the rule index: the rules of the users that events were evaluated for.
//!
//! Each user's rules are stored with the epoch at which they were read, and are used only while the
//! store reports that epoch as current. So an evaluation after a change of rules uses the changed
//! rules, on every node, without a notification to this cache.

use std::collections::HashMap;
use std::sync::{RwLock, RwLockWriteGuard};

use belfry_core::rules::evaluate::Member;
use belfry_core::rules::index::RuleIndex;

use crate::store::{RulesetsSnapshot, SnapshotEpoch, Store};

/// A bounded [`RuleIndex`] that is filled on demand.
pub struct RuleIndexCache {
    max_bytes: usize,
    state: RwLock<CacheState>,
}

/// A user to evaluate an event for.
pub struct EvaluatedMember<'a> {
    /// The user ID.
    pub user_id: &'a str,
    /// The user as a member of the room.
    pub member: Member<'a>,
    /// The user's account.
    pub account: i64,
    /// The user's rules; not needed if they are cached.
    pub rulesets: Option<RulesetsSnapshot>,
}

#[derive(Default)]
struct CacheState {
    /// The users with user-defined rules or changed built-in rules.
    index: RuleIndex,
    /// All users whose rules were read, by account.
    entries: HashMap<i64, CacheEntry>,
    /// The stored size of all rules, plus [`ENTRY_BYTES`] per user.
    bytes: usize,
}

struct CacheEntry {
    epoch: SnapshotEpoch,
    bytes: usize,
}

/// The approximate size of an entry without rules.
const ENTRY_BYTES: usize = 64;

impl RuleIndexCache {
    /// An empty cache. `max_bytes` limits the stored size of the rules; a single evaluation may
    /// exceed it.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: RwLock::default() }
    }

    /// For each of these accounts the stored size of its rules, if they are cached and current.
    pub fn cached_bytes(&self, store: &Store, accounts: &[i64]) -> Vec<Option<usize>> {
        let Ok(state) = self.state.read() else { return vec![None; accounts.len()] };
        accounts.iter().map(|account| Some(state.current(store, *account)?.bytes)).collect()
    }

    /// Runs an evaluation on an index with the given rules of these members, or the current rules
    /// of the store for members without.
    ///
    /// # Errors
    /// The positions of the members whose rules must be read: they changed meanwhile, or the cache
    /// was full and has been cleared.
    pub fn with_members<T>(
        &self,
        store: &Store,
        members: &[EvaluatedMember<'_>],
        evaluate: impl FnOnce(&RuleIndex) -> T,
    ) -> Result<T, Vec<usize>> {
        if let Ok(state) = self.state.read()
            && members.iter().all(|member| state.contains(store, member))
        {
            return Ok(evaluate(&state.index));
        }
        let mut state = self.write();
        let new = members.iter().filter(|member| !state.contains(store, member));
        let new = new.filter_map(|member| member.rulesets.as_ref());
        let new: usize = new.map(|snapshot| ENTRY_BYTES + snapshot.rulesets.bytes()).sum();
        if state.bytes.saturating_add(new) > self.max_bytes {
            *state = CacheState::default();
        }
        let mut missing = Vec::new();
        for (position, member) in members.iter().enumerate() {
            match &member.rulesets {
                _ if state.contains(store, member) => {}
                Some(snapshot) => state.insert(member, snapshot),
                None => missing.push(position),
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        // Downgraded instead of unlocked: another evaluation may insert older rules in between.
        Ok(evaluate(&RwLockWriteGuard::downgrade(state).index))
    }

    /// Locks for writing. After a panic the state may be inconsistent, so it is cleared.
    fn write(&self) -> RwLockWriteGuard<'_, CacheState> {
        self.state.write().unwrap_or_else(|poisoned| {
            let mut state = poisoned.into_inner();
            *state = CacheState::default();
            self.state.clear_poison();
            state
        })
    }
}

impl CacheState {
    /// The entry of an account, if its rules have not changed since.
    fn current(&self, store: &Store, account: i64) -> Option<&CacheEntry> {
        self.entries.get(&account).filter(|entry| store.is_current(account, entry.epoch))
    }

    fn contains(&self, store: &Store, member: &EvaluatedMember<'_>) -> bool {
        match &member.rulesets {
            None => self.current(store, member.account).is_some(),
            Some(snapshot) => {
                let entry = self.entries.get(&member.account);
                entry.is_some_and(|entry| entry.epoch.is_same(snapshot.epoch))
            }
        }
    }

    fn insert(&mut self, member: &EvaluatedMember<'_>, snapshot: &RulesetsSnapshot) {
        let RulesetsSnapshot { rulesets, epoch } = snapshot;
        if rulesets.is_empty() {
            self.index.remove(member.user_id);
        } else {
            self.index.insert(member.user_id, rulesets.documents());
        }
        let entry = CacheEntry { epoch: *epoch, bytes: rulesets.bytes() };
        self.bytes += ENTRY_BYTES + entry.bytes;
        if let Some(old) = self.entries.insert(member.account, entry) {
            self.bytes -= ENTRY_BYTES + old.bytes;
        }
    }
}
