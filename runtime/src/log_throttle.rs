//! Limits how often a log line is repeated, for lines that every request can cause.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of lines of one kind and key in a window. Several, because the causes may differ.
const MAX_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// A kind of log line that is written at most ten times per minute, or ten times for each key.
pub struct LogThrottle {
    message: &'static str,
    state: Mutex<ThrottleState>,
}

struct ThrottleState {
    /// A window for each key. Keys are constants in the code, so their number is bounded.
    windows: Vec<(&'static str, Window)>,
    /// The number of suppressed lines that were not reported yet.
    suppressed_lines: u64,
    /// True if the throttle is in the registry.
    is_registered: bool,
}

#[derive(Default)]
struct Window {
    start: Option<Instant>,
    written_lines: u32,
}

/// The throttles that have suppressed a line since the process started.
static REGISTRY: Mutex<Vec<&'static LogThrottle>> = Mutex::new(Vec::new());

/// Writes a log line with this level, message and fields, if its throttle admits it:
/// `log_throttled!(warn, "connection lost", %error)`. With a key, which is `&'static str`, the
/// lines of each key are throttled separately: `log_throttled!(info, by cause, "rejected", cause)`.
#[macro_export]
macro_rules! log_throttled {
    ($level:ident, by $key:expr, $message:literal $(, $($fields:tt)+)?) => {{
        use $crate::log_throttle::LogThrottle;
        static THROTTLE: LogThrottle = LogThrottle::new($message);
        if THROTTLE.admits_key($key) {
            tracing::$level!($($($fields)+,)? $message);
        }
    }};
    ($level:ident, $message:literal $(, $($fields:tt)+)?) => {
        $crate::log_throttled!($level, by "", $message $(, $($fields)+)?)
    };
}

impl LogThrottle {
    pub const fn new(message: &'static str) -> Self {
        let state =
            ThrottleState { windows: Vec::new(), suppressed_lines: 0, is_registered: false };
        Self { message, state: Mutex::new(state) }
    }

    /// Returns whether a line may be written now. If not, it is counted as suppressed.
    pub fn admits(&'static self) -> bool {
        self.admits_key("")
    }

    /// Returns whether a line with `key` may be written now. If not, it is counted as suppressed.
    pub fn admits_key(&'static self, key: &'static str) -> bool {
        self.admits_at(key, Instant::now())
    }

    fn admits_at(&'static self, key: &'static str, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let is_admitted = state.window_mut(key).admits(now);
        if !is_admitted {
            state.suppressed_lines += 1;
            if !std::mem::replace(&mut state.is_registered, true) {
                lock(&REGISTRY).push(self);
            }
        }
        is_admitted
    }

    /// Returns the number of lines suppressed since the last call.
    fn take_suppressed(&self) -> u64 {
        std::mem::take(&mut lock(&self.state).suppressed_lines)
    }
}

impl ThrottleState {
    fn window_mut(&mut self, key: &'static str) -> &mut Window {
        let position = self.windows.iter().position(|(window_key, _)| *window_key == key);
        let index = position.unwrap_or_else(|| {
            self.windows.push((key, Window::default()));
            self.windows.len() - 1
        });
        &mut self.windows[index].1
    }
}

impl Window {
    fn admits(&mut self, now: Instant) -> bool {
        if self.start.is_none_or(|start| now.saturating_duration_since(start) >= WINDOW) {
            *self = Self { start: Some(now), written_lines: 0 };
        }
        let is_admitted = self.written_lines < MAX_LINES;
        self.written_lines += u32::from(is_admitted);
        is_admitted
    }
}

/// Logs how many lines were suppressed since the last call, once for each kind. Call it once a
/// minute and before the process exits.
pub fn report_suppressed() {
    let throttles = lock(&REGISTRY).clone();
    for throttle in throttles {
        let suppressed = throttle.take_suppressed();
        if suppressed > 0 {
            tracing::warn!(suppressed, line = throttle.message, "repeated log lines suppressed");
        }
    }
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
        let throttle = &THROTTLE;
        let start = Instant::now();
        let time_at = |seconds| start + Duration::from_secs(seconds);
        let count_admitted = |seconds, lines: usize| {
            (0..lines).filter(|_| throttle.admits_at("", time_at(seconds))).count()
        };
        assert_eq!(count_admitted(0, 4), 4);
        assert_eq!(throttle.take_suppressed(), 0);
        assert_eq!(count_admitted(30, 1000), 6);
        assert_eq!(throttle.take_suppressed(), 994);
        assert_eq!(count_admitted(59, 2), 0);
        assert_eq!(count_admitted(60, 12), 10);
        assert_eq!(throttle.take_suppressed(), 4);
        assert_eq!(count_admitted(500, 11), 10);
        assert_eq!(throttle.take_suppressed(), 1);
    }

    #[test]
    fn lines_with_one_key_do_not_suppress_those_with_a_different_key() {
        static THROTTLE: LogThrottle = LogThrottle::new("test");
        let now = Instant::now();
        let count_admitted =
            |key, lines: usize| (0..lines).filter(|_| THROTTLE.admits_at(key, now)).count();
        assert_eq!(
            [count_admitted("a", 15), count_admitted("b", 12), count_admitted("a", 1)],
            [10, 10, 0]
        );
        assert_eq!(THROTTLE.take_suppressed(), 8, "the lines of all keys are counted");
    }
}
