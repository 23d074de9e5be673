//! A clock for tests.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use crate::clock::Clock;

#[derive(Debug)]
pub struct FakeClock(AtomicI64);

impl FakeClock {
    /// Creates a clock at this Unix time, in seconds.
    pub fn at_second(second: i64) -> Self {
        Self(AtomicI64::new(second * 1000))
    }

    /// Advances the clock; a negative number moves it back.
    pub fn advance(&self, seconds: i64) {
        self.advance_millis(seconds * 1000);
    }

    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }
}
