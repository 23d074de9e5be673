//! The lanes that a node works on concurrently.
//!
//! Half of them are reserved for lanes whose server was fast the last time. Otherwise, users who
//! register many slow servers could delay the messages of everyone else.

use std::collections::HashSet;
use std::time::Duration;

/// Maximum number of lanes that a node works on concurrently.
pub(super) const MAX_LANES: usize = 256;
/// Maximum number of these lanes whose server is unknown, or was slow the last time.
const MAX_UNPROVEN_LANES: usize = MAX_LANES / 2;
/// Maximum number of fast servers that are remembered.
const MAX_FAST: usize = 10_000;
/// Maximum mean time until the responses of a fast server.
const MAX_FAST_RESPONSE: Duration = Duration::from_secs(1);

/// The reactions of a server in a series of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// It has accepted messages quickly.
    Fast,
    /// It was slow, or an attempt failed.
    Slow,
    /// No message was accepted, and none was slow.
    Unknown,
}

impl Conduct {
    /// Returns the conduct of a server that has accepted messages, with this mean time until its
    /// responses.
    pub(super) fn from_response_time(mean_time: Duration) -> Self {
        if mean_time <= MAX_FAST_RESPONSE { Self::Fast } else { Self::Slow }
    }
}

/// The origins of the lanes in work, and of the servers that were fast the last time.
#[derive(Debug, Default)]
pub(super) struct LaneSlots {
    active: HashSet<String>,
    /// The active lanes whose server was not known to be fast when they began.
    unproven: HashSet<String>,
    fast: HashSet<String>,
}

impl LaneSlots {
    /// Returns whether a lane may be worked on now, and if so, occupies a slot.
    pub(super) fn take(&mut self, origin: &str) -> bool {
        if self.is_full() || self.active.contains(origin) {
            return false;
        }
        if !self.fast.contains(origin) {
            if self.unproven.len() >= MAX_UNPROVEN_LANES {
                return false;
            }
            self.unproven.insert(origin.to_owned());
        }
        self.active.insert(origin.to_owned())
    }

    pub(super) fn release(&mut self, origin: &str, conduct: Conduct) {
        self.active.remove(origin);
        self.unproven.remove(origin);
        match conduct {
            Conduct::Fast => {
                if self.fast.len() >= MAX_FAST {
                    self.fast.clear();
                }
                self.fast.insert(origin.to_owned());
            }
            Conduct::Slow => drop(self.fast.remove(origin)),
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
        let mut slots = LaneSlots::default();
        for index in 0..MAX_LANES {
            assert!(slots.take(&origin(index)) == (index < MAX_LANES / 2), "{index}");
        }
        for index in 0..MAX_LANES / 2 {
            slots.release(&origin(index), Conduct::Fast);
        }
        let taken = (0..2 * MAX_LANES).filter(|&index| slots.take(&origin(index)));
        assert_eq!(taken.count(), MAX_LANES, "128 fast lanes and 128 others");
        assert!(slots.is_full());
        assert!(!slots.take(&origin(0)), "already in work");
    }

    /// Servers just below the limit for a pause must not occupy the reserved slots.
    #[test]
    fn a_server_is_fast_if_it_responds_within_a_second_on_average() {
        for (milliseconds, conduct) in [
            (0, Conduct::Fast),
            (1000, Conduct::Fast),
            (1001, Conduct::Slow),
            (4900, Conduct::Slow),
        ] {
            let mean_time = Duration::from_millis(milliseconds);
            assert_eq!(Conduct::from_response_time(mean_time), conduct, "{milliseconds}");
        }
    }

    #[test]
    fn a_slow_lane_counts_as_fast_again_after_a_fast_series() {
        let mut slots = LaneSlots::default();
        for index in 0..MAX_LANES / 2 {
            assert!(slots.take(&origin(index)));
        }
        for (conduct, is_fast) in [
            (Conduct::Unknown, false),
            (Conduct::Fast, true),
            (Conduct::Unknown, true),
            (Conduct::Slow, false),
            (Conduct::Unknown, false),
            (Conduct::Fast, true),
        ] {
            slots.release("https://push.example", conduct);
            assert_eq!(slots.take("https://push.example"), is_fast, "{conduct:?}");
        }
    }

    #[test]
    fn the_number_of_remembered_servers_is_bounded() {
        let mut slots = LaneSlots::default();
        for index in 0..3 * MAX_FAST {
            slots.release(&origin(index), Conduct::Fast);
        }
        assert!(slots.fast.len() <= MAX_FAST);
    }
}
