//! The work budget of an evaluation.
//!
//! Work is counted in steps of a few nanoseconds: one for each condition that is tested, and some
//! for each byte that a pattern is compared with. A rule that exceeds its budget does not match,
//! which bounds the cost of an evaluation for any rules and any event.

use std::cell::Cell;

/// Maximum number of steps for one user's rules: about 10 ms.
const USER_STEPS: usize = 2_000_000;

/// Maximum number of steps for all rules in a request, in addition to [`GUARANTEED_STEPS`] per
/// user.
const REQUEST_STEPS: usize = 16_000_000;

/// The steps that every user is guaranteed, so that the rules of some users cannot exhaust the
/// budget of others: enough for a hundred patterns with wildcards and a message of 600 bytes.
const GUARANTEED_STEPS: usize = 64_000;

/// The steps that remain for one user's rules.
#[derive(Debug)]
pub struct Work {
    remaining: Cell<usize>,
    is_exceeded: Cell<bool>,
}

impl Work {
    fn new(steps: usize) -> Self {
        Self { remaining: Cell::new(steps), is_exceeded: Cell::new(false) }
    }

    /// Creates the budget of a user whose rules are evaluated alone.
    pub(super) fn for_user() -> Self {
        Self::new(USER_STEPS)
    }

    /// Creates a budget without a limit, for built-in rules, whose work is bounded by their number.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Consumes steps. If too few remain, returns `None` and leaves none for later conditions.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let remaining = self.remaining.get().checked_sub(steps);
        self.remaining.set(remaining.unwrap_or(0));
        self.is_exceeded.set(self.is_exceeded.get() || remaining.is_none());
        remaining.map(|_| ())
    }

    /// Returns whether more steps were needed than the budget had.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    #[cfg(test)]
    pub(super) fn remaining(&self) -> usize {
        self.remaining.get()
    }
}

/// The work that one request may take.
#[derive(Debug)]
pub struct WorkBudget {
    remaining: usize,
    /// The number of users whose rules exceeded their part of the budget.
    pub exceeded: u64,
}

impl Default for WorkBudget {
    fn default() -> Self {
        Self { remaining: REQUEST_STEPS, exceeded: 0 }
    }
}

impl WorkBudget {
    /// Calls a function with one user's budget, and subtracts the steps that it takes from the
    /// budget of the request.
    pub(super) fn for_user<T>(&mut self, evaluate: impl FnOnce(&Work) -> T) -> T {
        let steps = self.remaining.clamp(GUARANTEED_STEPS, USER_STEPS);
        let work = Work::new(steps);
        let result = evaluate(&work);
        self.remaining = self.remaining.saturating_sub(steps - work.remaining.get());
        self.exceeded += u64::from(work.is_exceeded());
        result
    }
}

#[cfg(test)]
mod tests;
