//! The source of the current time: the system clock, or a fake one in tests.

#[cfg(any(test, feature = "test-support"))]
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only source of the current time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that tests advance by hand.
#[cfg(any(test, feature = "test-support"))]
#[derive(Debug)]
pub struct FakeClock(AtomicI64);

#[cfg(any(test, feature = "test-support"))]
impl FakeClock {
    /// A clock at this second since the Unix epoch.
    pub fn at(second: i64) -> Self {
        Self(AtomicI64::new(second * 1000))
    }

    /// Advances the clock; a negative number moves it back.
    pub fn advance(&self, seconds: i64) {
        self.advance_millis(seconds * 1000);
    }

    /// Advances the clock by milliseconds.
    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "test-support"))]
impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }
}
