//! The lanes that a node works on concurrently.
//!
//! Half of them are reserved for lanes whose server has recently been fast. Otherwise, users who
//! register many slow servers could delay the messages of everyone else.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Maximum number of lanes that a node works on concurrently.
pub(super) const MAX_LANES: usize = 256;
/// Maximum number of these lanes whose server is unknown or has recently been slow.
const MAX_UNPROVEN_LANES: usize = MAX_LANES / 2;
/// Time after a slow or failed attempt until a lane counts as fast again.
const PROBATION: Duration = Duration::from_mins(10);
/// Maximum number of servers that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The reactions of a server in a series of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// It has accepted messages quickly.
    Fast,
    /// An attempt was slow or failed.
    Slow,
    /// No message was accepted, and none was slow.
    Unknown,
}

/// The lanes in work, and what is known about the servers of all lanes.
#[derive(Debug, Default)]
pub(super) struct LaneSlots {
    active: HashSet<String>,
    unproven: HashSet<String>,
    /// When a lane counts as fast, by origin.
    fast_from: HashMap<String, Instant>,
}

impl LaneSlots {
    /// Returns whether a lane may be worked on now, and if so, occupies a slot.
    pub(super) fn take(&mut self, origin: &str, now: Instant) -> bool {
        if self.is_full() || self.active.contains(origin) {
            return false;
        }
        if self.fast_from.get(origin).is_none_or(|&fast_from| fast_from > now) {
            if self.unproven.len() >= MAX_UNPROVEN_LANES {
                return false;
            }
            self.unproven.insert(origin.to_owned());
        }
        self.active.insert(origin.to_owned())
    }

    /// Frees the slot of a lane.
    pub(super) fn release(&mut self, origin: &str, conduct: Conduct, now: Instant) {
        self.active.remove(origin);
        self.unproven.remove(origin);
        if self.fast_from.len() >= MAX_REMEMBERED && conduct != Conduct::Unknown {
            self.fast_from.clear();
        }
        match conduct {
            Conduct::Fast => drop(self.fast_from.entry(origin.to_owned()).or_insert(now)),
            Conduct::Slow => drop(self.fast_from.insert(origin.to_owned(), now + PROBATION)),
            Conduct::Unknown => {}
        }
    }

    /// Returns whether no lane can be added.
    pub(super) fn is_full(&self) -> bool {
        self.active.len() >= MAX_LANES
    }

    /// Returns the number of lanes in work.
    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(index: usize) -> String {
        format!("https://{index}.example")
    }

    #[test]
    fn half_of_the_slots_are_reserved_for_fast_lanes() {
        let (mut slots, now) = (LaneSlots::default(), Instant::now());
        for index in 0..MAX_LANES {
            assert!(slots.take(&origin(index), now) == (index < MAX_LANES / 2), "{index}");
        }
        for index in 0..MAX_LANES / 2 {
            slots.release(&origin(index), Conduct::Fast, now);
        }
        let taken = (0..2 * MAX_LANES).filter(|&index| slots.take(&origin(index), now));
        assert_eq!(taken.count(), MAX_LANES, "128 fast lanes and 128 others");
        assert!(slots.is_full());
        assert!(!slots.take(&origin(0), now), "already in work");
    }

    #[test]
    fn a_slow_lane_counts_as_fast_again_after_ten_minutes_without_a_failure() {
        let (mut slots, start) = (LaneSlots::default(), Instant::now());
        for index in 0..MAX_LANES / 2 {
            assert!(slots.take(&origin(index), start));
        }
        let minutes = |count: u64| start + Duration::from_mins(count);
        slots.release("https://push.example", Conduct::Fast, start);
        slots.release("https://push.example", Conduct::Slow, minutes(1));
        slots.release("https://push.example", Conduct::Fast, minutes(2));
        assert!(!slots.take("https://push.example", minutes(10)));
        assert!(slots.take("https://push.example", minutes(11)));
        slots.release("https://push.example", Conduct::Unknown, minutes(11));
        assert!(slots.take("https://push.example", minutes(11)), "still fast");
    }

    #[test]
    fn the_memory_about_servers_is_bounded() {
        let (mut slots, now) = (LaneSlots::default(), Instant::now());
        for index in 0..3 * MAX_REMEMBERED {
            slots.release(&origin(index), Conduct::Fast, now);
        }
        assert!(slots.fast_from.len() <= MAX_REMEMBERED);
    }
}
