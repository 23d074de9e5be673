//! The lanes that a node works on concurrently.
//!
//! Half of the slots are reserved for proven lanes, and each account gets few of the others.
//! Otherwise, users who register many dead servers could delay the messages of everyone else.

use std::collections::HashMap;

/// Maximum number of lanes that a node works on concurrently.
const MAX_LANES: usize = 256;
/// Maximum number of these lanes that are not proven.
const MAX_UNPROVEN_LANES: usize = MAX_LANES / 2;
/// The same for one account.
const MAX_UNPROVEN_LANES_PER_ACCOUNT: usize = 2;

/// The origins of the lanes in work.
#[derive(Debug, Default)]
pub struct LaneSlots {
    /// For each origin, the account that occupies an unproven lane's slot.
    active: HashMap<String, Option<i64>>,
}

impl LaneSlots {
    /// Returns whether a lane may be worked on now, and if so, occupies a slot. `account_id` is one
    /// of the accounts with messages in the lane.
    pub fn take(&mut self, origin: &str, account_id: i64, is_proven: bool) -> bool {
        if self.is_full() || self.active.contains_key(origin) {
            return false;
        }
        if !is_proven {
            let unproven = self.active.values().flatten();
            let count_of_account = unproven.clone().filter(|id| **id == account_id).count();
            if count_of_account >= MAX_UNPROVEN_LANES_PER_ACCOUNT
                || unproven.count() >= MAX_UNPROVEN_LANES
            {
                return false;
            }
        }
        self.active.insert(origin.to_owned(), (!is_proven).then_some(account_id));
        true
    }

    /// Frees the slot of a lane.
    pub fn release(&mut self, origin: &str) {
        self.active.remove(origin);
    }

    /// Returns whether no lane can be added.
    pub fn is_full(&self) -> bool {
        self.active.len() >= MAX_LANES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_slots_are_reserved_for_proven_lanes() {
        let mut slots = LaneSlots::default();
        let origins: Vec<String> =
            (0..1000).map(|index| format!("https://{index}.example")).collect();
        let take_all = |slots: &mut LaneSlots, is_proven, account_of: fn(i64) -> i64| {
            let numbered = (0..).zip(&origins);
            numbered
                .filter(|(number, origin)| slots.take(origin, account_of(*number), is_proven))
                .count()
        };
        assert_eq!(take_all(&mut slots, false, |_| 1), 2, "the share of an account");
        assert_eq!(take_all(&mut slots, false, |number| number / 4), 126, "of other accounts");
        assert!(!slots.is_full());
        assert_eq!(take_all(&mut slots, true, |_| 1), 128);
        assert!(slots.is_full());
        for origin in &origins {
            slots.release(origin);
        }
        assert_eq!(take_all(&mut slots, true, |_| 1), 256);
        slots.release(&origins[0]);
        assert!(!slots.take(&origins[1], 1, true), "in work already");
        assert!(slots.take(&origins[0], 1, false));
    }
}
