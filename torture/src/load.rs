//! The counters of a load test, and the flag that stops it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// Longer than connections without requests may occupy the server.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_mins(5);

/// A client's action after a failed write. Such a write is not acknowledged, but may have taken
/// effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Stop,
    Continue,
}

/// The counters and the stop flag that all clients of a load test share.
pub(crate) struct Load {
    pub(crate) on_failure: OnFailure,
    pub(crate) is_stopped: AtomicBool,
    pub(crate) acknowledged_writes: AtomicU64,
    pub(crate) failed_writes: AtomicU64,
}

impl Load {
    pub(crate) fn new(on_failure: OnFailure) -> Self {
        Self {
            on_failure,
            is_stopped: AtomicBool::new(false),
            acknowledged_writes: AtomicU64::new(0),
            failed_writes: AtomicU64::new(0),
        }
    }

    /// Waits until this many more writes are acknowledged.
    pub(crate) fn wait_for_acknowledgements(&self, count: u64) -> Result<()> {
        let start = Instant::now();
        let before = self.acknowledged_writes.load(Ordering::Relaxed);
        loop {
            let increase = self.acknowledged_writes.load(Ordering::Relaxed) - before;
            if increase >= count {
                return Ok(());
            }
            if start.elapsed() > ACKNOWLEDGEMENT_TIMEOUT {
                return Err(
                    format!("only {increase} of {count} writes acknowledged in time").into()
                );
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
