//! An index over the push rules of many users. It finds the members of a room whose rules an event
//! can match, so that the rules of all others need not be evaluated.
//!
//! Identical rules of different users are stored and evaluated once. An index key is a value or a
//! word that an event must have for a rule to match; a rule whose key the event lacks is skipped.

mod evaluate;
mod key;
mod members;
mod position_index;
mod result;
mod rule_table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use members::Members;
pub use result::{MemberGroup, RoomEvaluation};
use rule_table::{RuleTable, SubscribedRule};
use slab::Slab;

use super::Document;
use super::evaluate::{BuiltinOverrides, Member, split_scopes};

/// The push rules of many users.
#[derive(Debug, Default)]
pub struct RuleIndex {
    users_by_id: HashMap<Box<str>, usize>,
    users: Slab<IndexedUser>,
    rules: RuleTable,
}

#[derive(Debug)]
struct IndexedUser {
    overrides: BuiltinOverrides,
    /// The user's enabled rules in evaluation order: those of devices, then the global ones.
    rules: Box<[SubscribedRule]>,
}

impl RuleIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of users.
    #[must_use]
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there are no users.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Adds a user with their documents of all scopes, or replaces the user's rules.
    pub fn insert<'d>(&mut self, user_id: &str, documents: impl IntoIterator<Item = &'d Document>) {
        self.remove(user_id);
        let (global, devices) = split_scopes(documents);
        let overrides = global.map(BuiltinOverrides::new).unwrap_or_default();
        let mut rules = Vec::new();
        for document in devices.into_iter().chain(global) {
            for (kind, rule) in document.user_rules().iter().filter(|(_, rule)| rule.enabled) {
                rules.extend(self.rules.subscribe(document.scope(), kind, rule));
            }
        }
        let user = self.users.insert(IndexedUser { overrides, rules: rules.into() });
        self.users_by_id.insert(user_id.into(), user);
    }

    /// Removes a user, who is then evaluated with unchanged built-in rules.
    pub fn remove(&mut self, user_id: &str) {
        let Some(user) = self.users_by_id.remove(user_id) else { return };
        for rule in self.users.remove(user).rules {
            self.rules.unsubscribe(rule.number);
        }
    }

    /// The members of a room, whose rules can then be evaluated against its events. Members that
    /// are not in the index have unchanged built-in rules. A user with several devices may be
    /// listed once for each.
    pub fn members<'a>(
        &'a self,
        members: impl IntoIterator<Item = (&'a str, Member<'a>)>,
    ) -> Members<'a> {
        Members::new(self, members)
    }
}
