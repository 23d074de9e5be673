//! Limits how often a log line is repeated, for lines that every request can cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of lines of one kind in a window. Several, because the causes may differ.
const MAX_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// A kind of log line that is written at most ten times per minute.
pub(crate) struct LogThrottle {
    /// The message of the line.
    message: &'static str,
    state: Mutex<State>,
}

/// The state of the current window.
struct State {
    start: Option<Instant>,
    written: u32,
    suppressed: u64,
    /// The number of suppressed lines of earlier windows that has not been logged yet.
    unreported: u64,
}

pub(crate) static DATABASE_ERROR: LogThrottle = LogThrottle::new("database error");
pub(crate) static DATABASE_AVAILABLE: LogThrottle = LogThrottle::new("database available again");
pub(crate) static POSTGRES_LOST: LogThrottle = LogThrottle::new("connection to PostgreSQL lost");
pub(crate) static POSTGRES_CHANGED: LogThrottle =
    LogThrottle::new("using another PostgreSQL server");
pub(crate) static CACHE_DISABLED: LogThrottle =
    LogThrottle::new("cache disabled, notifications cannot be received");
pub(crate) static CACHE_ENABLED: LogThrottle =
    LogThrottle::new("cache enabled, receiving notifications of other nodes");
pub(crate) static NOT_READY: LogThrottle = LogThrottle::new("not ready");
pub(crate) static READY: LogThrottle = LogThrottle::new("ready again");
pub(crate) static REDIS_UNAVAILABLE: LogThrottle =
    LogThrottle::new("Redis unavailable, using local counters");
pub(crate) static REDIS_CONNECTED: LogThrottle =
    LogThrottle::new("connected to Redis, using shared counters");
pub(crate) static PANIC: LogThrottle = LogThrottle::new("panic");
pub(crate) static PAGE_ERROR: LogThrottle = LogThrottle::new("template rendering failed");
pub(crate) static REHASH_ERROR: LogThrottle = LogThrottle::new("failed to rehash a password");
pub(crate) static CODE_REJECTED: LogThrottle =
    LogThrottle::new("rejected the redemption of a code");
pub(crate) static ACCEPT_ERROR: LogThrottle = LogThrottle::new("accepting a connection failed");

const ALL: [&LogThrottle; 15] = [
    &DATABASE_ERROR,
    &DATABASE_AVAILABLE,
    &POSTGRES_LOST,
    &POSTGRES_CHANGED,
    &CACHE_DISABLED,
    &CACHE_ENABLED,
    &NOT_READY,
    &READY,
    &REDIS_UNAVAILABLE,
    &REDIS_CONNECTED,
    &PANIC,
    &PAGE_ERROR,
    &REHASH_ERROR,
    &CODE_REJECTED,
    &ACCEPT_ERROR,
];

impl LogThrottle {
    const fn new(message: &'static str) -> Self {
        let state = State { start: None, written: 0, suppressed: 0, unreported: 0 };
        Self { message, state: Mutex::new(state) }
    }

    /// Whether a line may be written now. If not, it is counted as suppressed.
    pub(crate) fn admits(&self) -> bool {
        self.admits_at(Instant::now())
    }

    fn admits_at(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.has_ended(now) {
            state.end_window();
            (state.start, state.written) = (Some(now), 0);
        }
        let is_admitted = state.written < MAX_LINES;
        if is_admitted {
            state.written += 1;
        } else {
            state.suppressed += 1;
        }
        is_admitted
    }

    /// The number of lines suppressed in the windows that have ended, since the last call.
    fn take_suppressed(&self, now: Instant) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.has_ended(now) {
            state.end_window();
        }
        std::mem::take(&mut state.unreported)
    }

    /// Ends the current window.
    fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).end_window();
    }
}

impl State {
    fn has_ended(&self, now: Instant) -> bool {
        self.start.is_none_or(|start| now.saturating_duration_since(start) >= WINDOW)
    }

    fn end_window(&mut self) {
        self.unreported += std::mem::take(&mut self.suppressed);
    }
}

/// Logs how many lines were suppressed in the windows that have ended, once for each kind.
pub(crate) fn report_suppressed() {
    for throttle in ALL {
        let suppressed = throttle.take_suppressed(Instant::now());
        if suppressed > 0 {
            tracing::warn!(suppressed, line = throttle.message, "repeated log lines suppressed");
        }
    }
}

/// Logs how many lines were suppressed, before the process ends.
pub(crate) fn report_all_suppressed() {
    for throttle in ALL {
        throttle.close();
    }
    report_suppressed();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_are_written_per_minute_and_the_others_are_counted() {
        let (throttle, start) = (LogThrottle::new("test"), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let written =
            |seconds, lines: usize| (0..lines).filter(|_| throttle.admits_at(at(seconds))).count();
        assert_eq!(throttle.take_suppressed(at(0)), 0);
        assert_eq!(written(0, 4), 4);
        assert_eq!(written(30, 1000), 6);
        assert_eq!(throttle.take_suppressed(at(59)), 0, "the window has not ended");
        // A new window begins before the old one is reported.
        assert_eq!(written(60, 12), 10);
        assert_eq!(throttle.take_suppressed(at(61)), 994);
        assert_eq!(throttle.take_suppressed(at(119)), 0);
        assert_eq!(throttle.take_suppressed(at(120)), 2);
        assert_eq!(throttle.take_suppressed(at(500)), 0);
        assert_eq!(written(500, 11), 10);
        throttle.close();
        assert_eq!(throttle.take_suppressed(at(501)), 1);
    }
}
