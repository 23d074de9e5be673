//! Times as limits keep them.

use std::time::Duration;

use jiff::Timestamp;

/// A time in whole microseconds since 1970: one number, which an engine keeps as it is, so that a
/// window is the same when it is read again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub i64);

impl Micros {
    /// Before all times.
    pub const MIN: Self = Self(i64::MIN);

    /// So much later.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time.as_micros().try_into().unwrap_or(i64::MAX)))
    }

    /// How long it is until then; nothing, when that has passed.
    #[must_use]
    pub fn until(self, then: Self) -> Duration {
        Duration::from_micros(then.0.saturating_sub(self.0).try_into().unwrap_or(0))
    }
}

impl From<Timestamp> for Micros {
    fn from(time: Timestamp) -> Self {
        Self(time.as_microsecond())
    }
}

/// What is beyond the calendar is its end.
impl From<Micros> for Timestamp {
    fn from(time: Micros) -> Self {
        let end = if time.0 < 0 { Self::MIN } else { Self::MAX };
        Self::from_microsecond(time.0).unwrap_or(end)
    }
}
