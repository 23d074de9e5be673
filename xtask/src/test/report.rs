//! The steps of a run with their results and durations.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use super::tally::Tally;

/// The results of a run.
#[derive(Debug, Default)]
pub(super) struct Report {
    steps: Vec<Step>,
    /// The test counts of the step `tests`.
    pub tally: Tally,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    passed: bool,
    duration: Duration,
}

impl Report {
    /// Runs a step, prints its result, and returns whether it passed.
    pub(super) fn run_step(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Result<bool, Box<dyn Error>>,
    ) -> bool {
        println!("\n=== {name}");
        let start = Instant::now();
        let passed = run().unwrap_or_else(|error| {
            println!("{error}");
            false
        });
        let step = Step { name, passed, duration: start.elapsed() };
        println!("=== {name}: {} in {:.1} s", step.result_label(), step.duration.as_secs_f64());
        self.steps.push(step);
        passed
    }

    /// Returns the number of failed tests plus the number of steps that failed for other reasons.
    pub(super) fn failure_count(&self) -> usize {
        let tests = self.tally.failed as usize;
        let is_counted = |step: &Step| step.name == "tests" && tests > 0;
        tests + self.steps.iter().filter(|step| !step.passed && !is_counted(step)).count()
    }
}

impl Step {
    fn result_label(&self) -> &'static str {
        if self.passed { "ok" } else { "FAILED" }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for step in &self.steps {
            writeln!(
                f,
                "{:<20}{:<8}{:>7.1} s",
                step.name,
                step.result_label(),
                step.duration.as_secs_f64()
            )?;
        }
        let Tally { passed, failed, ignored, binaries, failures } = &self.tally;
        writeln!(
            f,
            "\ntests: {passed} passed, {failed} failed, {ignored} ignored in {binaries} programs"
        )?;
        for name in failures {
            writeln!(f, "  failed: {name}")?;
        }
        writeln!(f, "{passed} passed, {} failed", self.failure_count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(steps: &[(&'static str, bool)], passed: u32, failed: u32) -> Report {
        let step = |&(name, passed): &(_, bool)| Step { name, passed, duration: Duration::ZERO };
        let tally = Tally { passed, failed, ..Tally::default() };
        Report { steps: steps.iter().map(step).collect(), tally }
    }

    #[test]
    fn the_last_line_counts_tests_and_failed_steps() {
        for (steps, passed, failed, line) in [
            (vec![("format", true), ("tests", true)], 7, 0, "7 passed, 0 failed"),
            (vec![("format", false), ("tests", true)], 7, 0, "7 passed, 1 failed"),
            (vec![("format", true), ("tests", false)], 6, 1, "6 passed, 1 failed"),
            (vec![("format", false), ("tests", false)], 5, 2, "5 passed, 3 failed"),
            (vec![("format", true), ("build", false)], 0, 0, "0 passed, 1 failed"),
            // A test binary crashed.
            (vec![("build", true), ("tests", false)], 3, 0, "3 passed, 1 failed"),
        ] {
            let text = report(&steps, passed, failed).to_string();
            assert_eq!(text.lines().last(), Some(line), "{text}");
        }
    }

    #[test]
    fn a_step_that_returns_an_error_has_failed() {
        let mut report = Report::default();
        assert!(!report.run_step("engines", || Err("not installed".into())));
        assert_eq!(report.failure_count(), 1);
    }
}
