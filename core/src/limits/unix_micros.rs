//! Timestamps in whole microseconds.

use std::time::Duration;

use jiff::Timestamp;

/// Microseconds since 1970: the precision in which engines store the end of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixMicros(pub i64);

impl UnixMicros {
    /// Adds a duration; saturates.
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time.as_micros().try_into().unwrap_or(i64::MAX)))
    }

    /// The duration until `then`; zero if `then` has passed.
    pub fn until(self, then: Self) -> Duration {
        Duration::from_micros(then.0.saturating_sub(self.0).try_into().unwrap_or(0))
    }
}

impl From<Timestamp> for UnixMicros {
    fn from(time: Timestamp) -> Self {
        Self(time.as_microsecond())
    }
}

/// Times outside the range of `Timestamp` are clamped.
impl From<UnixMicros> for Timestamp {
    fn from(time: UnixMicros) -> Self {
        let end = if time.0 < 0 { Self::MIN } else { Self::MAX };
        Self::from_microsecond(time.0).unwrap_or(end)
    }
}
