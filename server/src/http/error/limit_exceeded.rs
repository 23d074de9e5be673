//! A call that its limits have no room for.

use std::time::Duration;

use belfry_core::limits::Verdict;

use crate::config::LimitMode;

/// A call that its limits have no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    wait: Duration,
}

impl Refused {
    /// The refusal that a verdict means; none unless limits are enforced.
    pub(crate) fn by(verdict: &Verdict, mode: LimitMode) -> Option<Self> {
        let wait = verdict.wait().filter(|_| mode == LimitMode::Enforce)?;
        Some(Self { wait })
    }

    /// How long the caller has to wait.
    #[must_use]
    pub fn wait(self) -> Duration {
        self.wait
    }
}
