//! The source of the current time: the system clock, or a clock that a test controls.

use jiff::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only source of the current time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
