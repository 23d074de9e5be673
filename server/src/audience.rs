//! The rules of those whom events were judged for, indexed together and kept between calls.
//!
//! What is kept is never believed: whoever asks brings the rules that the store has now, and what
//! differs is replaced before anything is judged. So an event after a change of rules is judged by
//! the changed rules, on every node, and this file needs to hear of no change.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockWriteGuard, Weak};

use belfry_core::rules::audience::Audience;
use belfry_core::rules::matching::Member;

use crate::store::Rulesets;

/// An audience of users who come as they are asked about.
pub struct KeptAudience {
    /// How many bytes the rules in it may be stored in.
    most: usize,
    kept: RwLock<Kept>,
}

/// A user who is asked about.
pub struct Listener<'a> {
    /// The user's id.
    pub user_id: &'a str,
    /// What is known of the user in the room.
    pub member: Member<'a>,
    /// The rules that the user has now.
    pub rulesets: Arc<Rulesets>,
}

#[derive(Default)]
struct Kept {
    audience: Audience,
    /// Those who have rules of their own.
    users: HashMap<Box<str>, Known>,
    bytes: usize,
}

/// Which rules a user has in the audience.
struct Known {
    /// As long as this is here no other rules can be at the same address.
    rulesets: Weak<Rulesets>,
    bytes: usize,
}

impl KeptAudience {
    /// An audience whose rules are stored in at most so many bytes, or are those of one call.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, kept: RwLock::default() }
    }

    /// Asks the audience something while these listeners have exactly the rules that they bring.
    pub fn with<T>(&self, listeners: &[Listener<'_>], ask: impl FnOnce(&Audience) -> T) -> T {
        if let Ok(kept) = self.kept.read()
            && listeners.iter().all(|listener| kept.has(listener))
        {
            return ask(&kept.audience);
        }
        let mut kept = self.write();
        let new = listeners.iter().filter(|listener| !kept.has(listener));
        let new: usize = new.map(|listener| listener.rulesets.bytes()).sum();
        if kept.bytes.saturating_add(new) > self.most {
            *kept = Kept::default();
        }
        for listener in listeners {
            if !kept.has(listener) {
                kept.put(listener);
            }
        }
        // Nobody comes between: another call may have read older rules than this one.
        ask(&RwLockWriteGuard::downgrade(kept).audience)
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
    fn has(&self, listener: &Listener<'_>) -> bool {
        match self.users.get(listener.user_id) {
            Some(known) => known.rulesets.as_ptr() == Arc::as_ptr(&listener.rulesets),
            None => listener.rulesets.is_empty(),
        }
    }

    fn put(&mut self, listener: &Listener<'_>) {
        let Listener { user_id, rulesets, .. } = listener;
        if let Some(known) = self.users.remove(*user_id) {
            self.bytes -= known.bytes;
        }
        if rulesets.is_empty() {
            self.audience.remove(user_id);
            return;
        }
        self.audience.put(user_id, rulesets.documents());
        let known = Known { rulesets: Arc::downgrade(rulesets), bytes: rulesets.bytes() };
        self.bytes += known.bytes;
        self.users.insert((*user_id).into(), known);
    }
}
