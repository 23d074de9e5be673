//! The work budget of an evaluation.
//!
//! Work is counted in steps of a few nanoseconds: one for each condition that is tested, and some
//! for each byte that a pattern is compared with. Once a user's budget is exhausted, conditions
//! that cost work are no longer met. This bounds the cost of an evaluation for any rules and any
//! event.

use std::cell::Cell;

/// Maximum number of steps for one user's rules: about 10 ms.
const MAX_USER_STEPS: usize = 2_000_000;

/// Maximum number of steps for all rules in a request, in addition to [`GUARANTEED_STEPS`] per
/// user.
const MAX_REQUEST_STEPS: usize = 16_000_000;

/// The steps that every user is guaranteed, so that the rules of some users cannot exhaust the
/// budget of others: enough for a hundred patterns with wildcards and a message of 600 bytes.
const GUARANTEED_STEPS: usize = 64_000;

/// The steps that remain for one user's rules.
#[derive(Debug)]
pub struct UserWorkBudget {
    remaining_steps: Cell<usize>,
    is_exceeded: Cell<bool>,
}

impl UserWorkBudget {
    fn new(steps: usize) -> Self {
        Self { remaining_steps: Cell::new(steps), is_exceeded: Cell::new(false) }
    }

    /// Creates the budget of a user whose rules are evaluated alone.
    pub(super) fn for_single_user() -> Self {
        Self::new(MAX_USER_STEPS)
    }

    /// Creates a budget without a limit, for built-in rules, whose work is bounded by their number.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Consumes steps. If too few remain, returns `None` and leaves none for later conditions.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let remaining_steps = self.remaining_steps.get().checked_sub(steps);
        self.remaining_steps.set(remaining_steps.unwrap_or(0));
        self.is_exceeded.set(self.is_exceeded.get() || remaining_steps.is_none());
        remaining_steps.map(|_| ())
    }

    /// Returns whether the evaluation needed more steps than the budget had.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    #[cfg(test)]
    pub(super) fn remaining_steps(&self) -> usize {
        self.remaining_steps.get()
    }
}

#[derive(Debug)]
pub struct RequestWorkBudget {
    remaining_steps: usize,
    /// Number of users whose rules exceeded their part of the budget.
    pub users_over_budget: u64,
}

impl Default for RequestWorkBudget {
    fn default() -> Self {
        Self { remaining_steps: MAX_REQUEST_STEPS, users_over_budget: 0 }
    }
}

impl RequestWorkBudget {
    /// Calls a function with one user's budget, and subtracts the steps that it takes from the
    /// budget of the request.
    pub(super) fn run_for_user<T>(&mut self, evaluate: impl FnOnce(&UserWorkBudget) -> T) -> T {
        let user_steps = self.remaining_steps.clamp(GUARANTEED_STEPS, MAX_USER_STEPS);
        let user_budget = UserWorkBudget::new(user_steps);
        let result = evaluate(&user_budget);
        self.remaining_steps =
            self.remaining_steps.saturating_sub(user_steps - user_budget.remaining_steps.get());
        self.users_over_budget += u64::from(user_budget.is_exceeded());
        result
    }
}

#[cfg(test)]
mod tests;
