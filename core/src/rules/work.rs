//! The work that an evaluation may take.
//!
//! Work is counted in steps of a few nanoseconds: one for each condition that is tested, and some
//! for each byte that a pattern is compared with. What exceeds a budget does not match, so that no
//! rules and no event can make an evaluation expensive.

use std::cell::Cell;

/// The maximum number of steps of one user's rules: about 10 ms.
const USER_STEPS: usize = 2_000_000;

/// The maximum number of steps of all rules of a request, besides [`GUARANTEED_STEPS`] per user.
const REQUEST_STEPS: usize = 16_000_000;

/// The steps that every user has, so that the rules of some users cannot exhaust the budget of
/// others: enough for a hundred patterns with wildcards and a message of 600 bytes.
const GUARANTEED_STEPS: usize = 64_000;

/// The steps that are left for the rules of one user.
#[derive(Debug)]
pub struct Work {
    left: Cell<usize>,
    is_exceeded: Cell<bool>,
}

impl Work {
    fn new(steps: usize) -> Self {
        Self { left: Cell::new(steps), is_exceeded: Cell::new(false) }
    }

    /// The budget of a user whose rules are evaluated alone.
    pub(super) fn for_user() -> Self {
        Self::new(USER_STEPS)
    }

    /// For built-in rules, whose work is bounded by their number.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Takes steps; `None` if not enough are left. Then none are left for later patterns either.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        self.is_exceeded.set(self.is_exceeded.get() || left.is_none());
        left.map(|_| ())
    }

    /// Whether more steps were needed than there were.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }
}

/// The work that one request may take.
#[derive(Debug)]
pub struct WorkBudget {
    left: usize,
    /// The number of users whose rules exceeded their part of the budget.
    pub exceeded: u64,
}

impl Default for WorkBudget {
    fn default() -> Self {
        Self { left: REQUEST_STEPS, exceeded: 0 }
    }
}

impl WorkBudget {
    /// Calls a function with the budget of one user.
    pub(super) fn for_user<T>(&mut self, evaluate: impl FnOnce(&Work) -> T) -> T {
        let steps = self.left.clamp(GUARANTEED_STEPS, USER_STEPS);
        let work = Work::new(steps);
        let result = evaluate(&work);
        self.left = self.left.saturating_sub(steps - work.left.get());
        self.exceeded += u64::from(work.is_exceeded());
        result
    }
}

#[cfg(test)]
mod tests;
