//! Limits how often a log line is repeated.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A log line that is written at most once per second, for errors that every request may cause.
pub(crate) struct LogThrottle {
    /// The time of the last line, and the number of lines suppressed since.
    last: Mutex<Option<(Instant, u64)>>,
}

impl LogThrottle {
    pub(crate) const fn new() -> Self {
        Self { last: Mutex::new(None) }
    }

    /// The number of lines suppressed before this one; `None` if this one must be suppressed too.
    pub(crate) fn admit(&self, now: Instant) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *last {
            Some((time, suppressed))
                if now.saturating_duration_since(*time) < Duration::from_secs(1) =>
            {
                *suppressed += 1;
                None
            }
            other => Some(other.replace((now, 0)).map_or(0, |(_, suppressed)| suppressed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_once_per_second_with_the_number_of_suppressed_ones() {
        let (throttle, start) = (LogThrottle::new(), Instant::now());
        let at = |milliseconds| throttle.admit(start + Duration::from_millis(milliseconds));
        assert_eq!(
            [0, 1, 999, 1000, 1001, 5000].map(at),
            [Some(0), None, None, Some(2), None, Some(1)]
        );
    }
}
