//! The rules of many users, indexed together, so that an event finds the users whose own rules it
//! could match; all others share the verdict of the built-in rules.
//!
//! Equal rules of different users are one rule here, with a list of those who hold it, and it is
//! asked once. It is looked for by a mark: something that an event must have for the rule to match.

mod evaluate;
mod interner;
mod key;
mod lookup;
mod members;
mod result;
mod rule_table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use interner::{Digest, Interner};
pub use members::Members;
pub use result::{MemberGroup, RoomEvaluation};
use rule_table::{RuleTable, Subscriber};

use super::Document;
use super::evaluate::{BuiltinOverrides, ByScope, Member};

/// The rules of many users.
#[derive(Debug, Default)]
pub struct RuleIndex {
    by_id: HashMap<Box<str>, u32>,
    users: Vec<User>,
    /// Places in `users` that nobody has.
    free: Vec<u32>,
    shelf: RuleTable,
    standings: Interner<BuiltinOverrides>,
}

/// What is known of a user.
#[derive(Debug, Default)]
struct User {
    /// What they made of the built-in rules.
    standing: u32,
    /// Their own rules that are enabled, in the order of evaluation: of devices, then the global.
    own: Box<[Slot]>,
}

/// A rule of a user.
#[derive(Debug, Clone, Copy)]
struct Slot {
    rule: u32,
    /// Where in the list of the rule's holders this user is.
    at: u32,
}

impl RuleIndex {
    /// An audience of nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds a user with the documents of the global scope and of devices, or replaces all that is
    /// known of them. The time it takes depends on these rules alone, not on the other users.
    pub fn put<'d>(&mut self, user_id: &str, documents: impl IntoIterator<Item = &'d Document>) {
        let documents = ByScope::of(documents);
        self.remove(user_id);
        let user = self.free.pop().unwrap_or_else(|| {
            self.users.push(User::default());
            number(self.users.len() - 1)
        });
        let standing = documents.global.map(BuiltinOverrides::of).unwrap_or_default();
        let digest = Digest::of(&standing);
        let standing = self.standings.take(digest, || standing);
        let mut own = Vec::new();
        for document in documents.devices.into_iter().chain(documents.global) {
            for (kind, rule) in document.user_rules().iter().filter(|(_, rule)| rule.enabled) {
                let holder = Subscriber { user, slot: number(own.len()) };
                own.extend(self.shelf.take(document.scope(), kind, rule, holder));
            }
        }
        self.users[user as usize] = User { standing, own: own.into() };
        self.by_id.insert(user_id.into(), user);
    }

    /// Forgets a user, who then has the built-in rules like everybody.
    pub fn remove(&mut self, user_id: &str) {
        let Some(user) = self.by_id.remove(user_id) else { return };
        for slot in 0..self.users[user as usize].own.len() {
            let slot = self.users[user as usize].own[slot];
            if let Some((moved, at)) = self.shelf.release(slot) {
                self.users[moved.user as usize].own[moved.slot as usize].at = at;
            }
        }
        self.standings.release(self.users[user as usize].standing);
        self.users[user as usize] = User::default();
        self.free.push(user);
    }

    /// The members of a room, to be asked about its events. A member who is not in the audience
    /// has the built-in rules; one with several devices may be named once for each.
    pub fn members<'a>(
        &'a self,
        members: impl IntoIterator<Item = (&'a str, Member<'a>)>,
    ) -> Members<'a> {
        Members::new(self, members)
    }
}

/// A position as it is kept.
///
/// # Panics
/// When there are more than 2^32 of something, which no memory holds.
fn number(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 users, and rules, and holders of a rule")
}
