//! The rules of those whom events were judged for, indexed together and kept between calls.
//!
//! With the rules of a user it is kept when they were read, and they are believed as long as the
//! store has heard of no change since. Everybody else must bring their rules. So an event after a
//! change of rules is judged by the changed rules, on every node, this file needs to hear of no
//! change, and the rules of those who were judged before are not read again.

use std::collections::HashMap;
use std::sync::{RwLock, RwLockWriteGuard};

use belfry_core::rules::evaluate::Member;
use belfry_core::rules::index::RuleIndex;

use crate::store::{RulesetsSnapshot, SnapshotEpoch, Store};

/// An audience of users who come as they are asked about.
pub struct RuleIndexCache {
    /// How many bytes it may have, as they are counted in `Kept`.
    most: usize,
    kept: RwLock<Kept>,
}

/// A user who is asked about.
pub struct EvaluatedMember<'a> {
    /// The user's id.
    pub user_id: &'a str,
    /// What is known of the user in the room.
    pub member: Member<'a>,
    /// The user's account. A user has one account at a time, and an account one user.
    pub account: i64,
    /// The rules that the user brings; those who are known need not bring any.
    pub brought: Option<RulesetsSnapshot>,
}

#[derive(Default)]
struct Kept {
    /// Those who have rules of their own.
    audience: RuleIndex,
    /// Everybody whose rules were read, by account.
    known: HashMap<i64, Known>,
    /// The bytes that the rules are stored in, and a place for everybody.
    bytes: usize,
}

/// Which rules a user has in the audience.
struct Known {
    epoch: SnapshotEpoch,
    bytes: usize,
}

/// About what somebody takes who has no rules.
const PLACE: usize = 64;

impl RuleIndexCache {
    /// An audience of at most so many bytes of rules as they are stored, or of those of one call.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, kept: RwLock::default() }
    }

    /// For each of these accounts, how many bytes its rules are stored in if they are known now.
    pub fn known(&self, store: &Store, accounts: &[i64]) -> Vec<Option<usize>> {
        let Ok(kept) = self.kept.read() else { return vec![None; accounts.len()] };
        accounts.iter().map(|account| Some(kept.current(store, *account)?.bytes)).collect()
    }

    /// Asks the audience something while these listeners have the rules that they bring or, if they
    /// bring none, those that the store has now.
    ///
    /// # Errors
    /// The positions of those who must bring their rules after all: they changed meanwhile, or the
    /// audience was full and has been emptied.
    pub fn with<T>(
        &self,
        store: &Store,
        listeners: &[EvaluatedMember<'_>],
        ask: impl FnOnce(&RuleIndex) -> T,
    ) -> Result<T, Vec<usize>> {
        if let Ok(kept) = self.kept.read()
            && listeners.iter().all(|listener| kept.has(store, listener))
        {
            return Ok(ask(&kept.audience));
        }
        let mut kept = self.write();
        let new = listeners.iter().filter(|listener| !kept.has(store, listener));
        let new = new.filter_map(|listener| listener.brought.as_ref());
        let new: usize = new.map(|brought| PLACE + brought.rulesets.bytes()).sum();
        if kept.bytes.saturating_add(new) > self.most {
            *kept = Kept::default();
        }
        let mut missing = Vec::new();
        for (at, listener) in listeners.iter().enumerate() {
            match &listener.brought {
                _ if kept.has(store, listener) => {}
                Some(brought) => kept.put(listener, brought),
                None => missing.push(at),
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        // Nobody comes between: another call may have read older rules than this one.
        Ok(ask(&RwLockWriteGuard::downgrade(kept).audience))
    }

    /// After a panic nothing is known of what is kept.
    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(|poisoned| {
            let mut kept = poisoned.into_inner();
            *kept = Kept::default();
            self.kept.clear_poison();
            kept
        })
    }
}

impl Kept {
    /// What is known of an account, if nothing has changed since.
    fn current(&self, store: &Store, account: i64) -> Option<&Known> {
        self.known.get(&account).filter(|known| store.is_current(account, known.epoch))
    }

    fn has(&self, store: &Store, listener: &EvaluatedMember<'_>) -> bool {
        match &listener.brought {
            None => self.current(store, listener.account).is_some(),
            Some(brought) => {
                let known = self.known.get(&listener.account);
                known.is_some_and(|known| known.epoch.is_same(brought.epoch))
            }
        }
    }

    fn put(&mut self, listener: &EvaluatedMember<'_>, brought: &RulesetsSnapshot) {
        let RulesetsSnapshot { rulesets, epoch } = brought;
        if rulesets.is_empty() {
            self.audience.remove(listener.user_id);
        } else {
            self.audience.put(listener.user_id, rulesets.documents());
        }
        let known = Known { epoch: *epoch, bytes: rulesets.bytes() };
        self.bytes += PLACE + known.bytes;
        if let Some(before) = self.known.insert(listener.account, known) {
            self.bytes -= PLACE + before.bytes;
        }
    }
}
