//! The rejection of a request that exceeds a rate limit.

use std::time::Duration;

use belfry_core::limits::RateLimitDecision;

use crate::config::LimitMode;

/// A request exceeds a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    retry_after: Duration,
}

impl LimitExceeded {
    /// The rejection by a decision; `None` for an admitted request, or unless limits are enforced.
    pub(crate) fn from_decision(decision: &RateLimitDecision, mode: LimitMode) -> Option<Self> {
        let retry_after = decision.retry_after().filter(|_| mode == LimitMode::Enforce)?;
        Some(Self { retry_after })
    }

    /// How long the client has to wait.
    #[must_use]
    pub fn retry_after(self) -> Duration {
        self.retry_after
    }
}
