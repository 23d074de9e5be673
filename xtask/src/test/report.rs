//! The steps of a run, how each went and how long it took.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use super::tally::Tally;

/// What a run comes to.
#[derive(Debug, Default)]
pub(super) struct Report {
    steps: Vec<Step>,
    /// The tests that were counted.
    pub tally: Tally,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    passed: bool,
    took: Duration,
}

impl Report {
    /// Takes a step and tells of it; true if it passed.
    pub(super) fn step(
        &mut self,
        name: &'static str,
        take: impl FnOnce() -> Result<bool, Box<dyn Error>>,
    ) -> bool {
        println!("\n=== {name}");
        let start = Instant::now();
        let passed = take().unwrap_or_else(|error| {
            println!("{error}");
            false
        });
        let step = Step { name, passed, took: start.elapsed() };
        println!("=== {name}: {} in {:.1} s", step.word(), step.took.as_secs_f64());
        self.steps.push(step);
        passed
    }

    /// How many tests failed, and how many steps that failed not by a counted test.
    pub(super) fn failed(&self) -> usize {
        let tests = self.tally.failed as usize;
        let counted = |step: &Step| step.name == "tests" && tests > 0;
        tests + self.steps.iter().filter(|step| !step.passed && !counted(step)).count()
    }
}

impl Step {
    fn word(&self) -> &'static str {
        if self.passed { "ok" } else { "FAILED" }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for step in &self.steps {
            writeln!(f, "{:<15}{:<8}{:>7.1} s", step.name, step.word(), step.took.as_secs_f64())?;
        }
        let Tally { passed, failed, ignored, programs, failures } = &self.tally;
        writeln!(
            f,
            "\ntests: {passed} passed, {failed} failed, {ignored} ignored in {programs} programs"
        )?;
        for name in failures {
            writeln!(f, "  failed: {name}")?;
        }
        writeln!(f, "{passed} passed, {} failed", self.failed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(steps: &[(&'static str, bool)], passed: u32, failed: u32) -> Report {
        let step = |&(name, passed): &(_, bool)| Step { name, passed, took: Duration::ZERO };
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
            // A test program crashed.
            (vec![("build", true), ("tests", false)], 3, 0, "3 passed, 1 failed"),
        ] {
            let text = report(&steps, passed, failed).to_string();
            assert_eq!(text.lines().last(), Some(line), "{text}");
        }
    }

    #[test]
    fn a_step_that_ends_in_an_error_has_failed() {
        let mut report = Report::default();
        assert!(!report.step("engines", || Err("no engine".into())));
        assert_eq!(report.failed(), 1);
    }
}
