//! The state of a load test that all clients share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// A client's action after a failed write. Such a write is not acknowledged, but may have taken
/// effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Stop,
    Continue,
}

/// The state of a load test that all clients share.
pub(crate) struct Load {
    pub(crate) on_failure: OnFailure,
    pub(crate) stop: AtomicBool,
    pub(crate) acknowledged: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Load {
    pub(crate) fn new(on_failure: OnFailure) -> Self {
        Self {
            on_failure,
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    pub(crate) fn wait_for_acknowledged(&self, more: u64) -> Result<()> {
        wait_for_more(&self.acknowledged, more, "acknowledged")
    }

    pub(crate) fn wait_for_failed(&self, more: u64) -> Result<()> {
        wait_for_more(&self.failed, more, "failed")
    }
}

fn wait_for_more(count: &AtomicU64, more: u64, name: &str) -> Result<()> {
    let (start, before) = (Instant::now(), count.load(Ordering::Relaxed));
    loop {
        let reached = count.load(Ordering::Relaxed) - before;
        if reached >= more {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(90) {
            return Err(format!("only {reached} of {more} writes {name} in 90 s").into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}
