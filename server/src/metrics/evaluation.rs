//! Metrics of push rule evaluation.

use std::time::Instant;

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Histogram};

use super::families;

/// Evaluations of push rules.
#[derive(Debug)]
pub struct EvaluationMetrics {
    pub evaluate_durations: Histogram,
    pub explain_durations: Histogram,
    pub evaluated_users: Counter,
    /// Users whose push rules exceeded the work budget of an evaluation.
    pub work_exceeded: Counter,
}

impl Default for EvaluationMetrics {
    fn default() -> Self {
        let [evaluate_durations, explain_durations] =
            [Histogram::durations(), Histogram::durations()];
        Self {
            evaluate_durations,
            explain_durations,
            evaluated_users: Counter::default(),
            work_exceeded: Counter::default(),
        }
    }
}

impl EvaluationMetrics {
    /// Records an explanation for one user, which began at `start`.
    pub(crate) fn record_explanation(&self, start: Instant, exceeds_work_budget: bool) {
        self.explain_durations.observe_since(start);
        self.evaluated_users.inc();
        self.work_exceeded.inc_by(exceeds_work_budget.into());
    }

    pub(crate) fn write(&self, out: &mut Exposition) {
        let mut durations = out.family(&families::EVALUATION_DURATION);
        durations.histogram(&["evaluate"], &self.evaluate_durations);
        durations.histogram(&["explain"], &self.explain_durations);
        out.value(&families::EVALUATED_USERS, self.evaluated_users.get());
        out.value(&families::EVALUATION_WORK_EXCEEDED, self.work_exceeded.get());
    }
}

/// Requests that were not evaluated, by reason.
#[derive(Debug, Default)]
pub struct EvaluationFailures {
    pub queue_full: Counter,
    pub account_busy: Counter,
    pub panicked: Counter,
}

impl EvaluationFailures {
    pub(crate) fn write(&self, out: &mut Exposition) {
        let mut failures = out.family(&families::EVALUATION_FAILURES);
        failures.value(&["queue_full"], self.queue_full.get());
        failures.value(&["account_busy"], self.account_busy.get());
        failures.value(&["panicked"], self.panicked.get());
    }
}
