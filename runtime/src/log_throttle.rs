//! Limits how often a log line is repeated, for lines that every request can cause.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of lines of one kind in a window. Several, because the causes may differ.
const MAX_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// A kind of log line that is written at most ten times per minute.
pub struct LogThrottle {
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
    /// True if the throttle is in the registry.
    is_registered: bool,
}

/// The throttles that have suppressed a line since the process started.
static REGISTRY: Mutex<Vec<&'static LogThrottle>> = Mutex::new(Vec::new());

/// Writes a log line with this level, message and fields, if its throttle admits it:
/// `log_throttled!(warn, "connection lost", %error)`.
#[macro_export]
macro_rules! log_throttled {
    ($level:ident, $message:literal $(, $($fields:tt)+)?) => {{
        use $crate::log_throttle::LogThrottle;
        static LINES: LogThrottle = LogThrottle::new($message);
        if LINES.admits() {
            tracing::$level!($($($fields)+,)? $message);
        }
    }};
}

impl LogThrottle {
    /// Creates a throttle of the lines with this message.
    pub const fn new(message: &'static str) -> Self {
        let state =
            State { start: None, written: 0, suppressed: 0, unreported: 0, is_registered: false };
        Self { message, state: Mutex::new(state) }
    }

    /// Returns whether a line may be written now. If not, it is counted as suppressed.
    pub fn admits(&'static self) -> bool {
        self.admits_at(Instant::now())
    }

    fn admits_at(&'static self, now: Instant) -> bool {
        let mut state = lock(&self.state);
        if state.has_ended(now) {
            state.end_window();
            (state.start, state.written) = (Some(now), 0);
        }
        let is_admitted = state.written < MAX_LINES;
        if is_admitted {
            state.written += 1;
        } else {
            state.suppressed += 1;
            if !std::mem::replace(&mut state.is_registered, true) {
                lock(&REGISTRY).push(self);
            }
        }
        is_admitted
    }

    /// Returns the number of lines suppressed in the windows that have ended, since the last call.
    fn take_suppressed(&self, now: Instant) -> u64 {
        let mut state = lock(&self.state);
        if state.has_ended(now) {
            state.end_window();
        }
        std::mem::take(&mut state.unreported)
    }

    /// Ends the current window.
    fn close(&self) {
        lock(&self.state).end_window();
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
pub fn report_suppressed() {
    let throttles = lock(&REGISTRY).clone();
    for throttle in throttles {
        let suppressed = throttle.take_suppressed(Instant::now());
        if suppressed > 0 {
            tracing::warn!(suppressed, line = throttle.message, "repeated log lines suppressed");
        }
    }
}

/// Logs how many lines were suppressed, before the process ends.
pub fn report_all_suppressed() {
    for throttle in &*lock(&REGISTRY) {
        throttle.close();
    }
    report_suppressed();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_are_written_per_minute_and_the_others_are_counted() {
        static THROTTLE: LogThrottle = LogThrottle::new("test");
        let (throttle, start) = (&THROTTLE, Instant::now());
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
