//! A call that its limits have no room for.

use std::time::Duration;

use belfry_core::limits::RateLimitDecision;

use crate::config::LimitMode;

/// A call that its limits have no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    wait: Duration,
}

impl LimitExceeded {
    /// The refusal that a verdict means; none unless limits are enforced.
    pub(crate) fn by(decision: &RateLimitDecision, mode: LimitMode) -> Option<Self> {
        let wait = decision.retry_after().filter(|_| mode == LimitMode::Enforce)?;
        Some(Self { wait })
    }

    /// How long the caller has to wait.
    #[must_use]
    pub fn wait(self) -> Duration {
        self.wait
    }
}
