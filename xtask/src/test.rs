//! `cargo xtask test`: all checks and tests of CI, on a machine that has only Rust.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use clap::Args;
use test_engines::process_group::{ProcessGroup, SpawnOptions};
use test_engines::{Postgres, Redis};

use crate::{cargo, checks, dist, packages, schemathesis, torture};

/// Run all checks and tests as CI does
///
/// Runs the source checks (see `cargo xtask check --help`), rustfmt, clippy, the tests on all
/// engines, and some requests of `cargo xtask schemathesis`. It takes at most 12 minutes on two
/// cores.
///
/// `--long` takes hours. It also runs the tests that are ignored as `long` (soak), rustdoc,
/// cargo-deny, all requests of `cargo xtask schemathesis`, and five minutes of each scenario of
/// `cargo xtask torture`, and builds, installs and runs the packages and the container image.
///
/// Missing packages are installed from the distribution if this runs as root or with passwordless
/// sudo. System services are neither started nor changed: the tests use a private PostgreSQL and Redis on free
/// ports with temporary data, which stop with the tests, even if these fail or are interrupted.
///
/// The last line is `N passed, M failed`. A failed check counts as one failure, and so does a test
/// binary that crashes.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --long\n  \
    cargo xtask test store::\n  cargo xtask test retention:: --long\n  \
    cargo xtask test store::postgres -- --nocapture")]
pub(crate) struct Options {
    /// Run only the tests whose names contain this text, and no checks
    name: Option<String>,
    /// Also run the tests that take long
    #[arg(long)]
    long: bool,
    /// Do not install missing packages, only list them
    #[arg(long)]
    no_install: bool,
    /// Arguments for the test binaries, such as --nocapture or --test-threads=1
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// The environment variable that sets how many tests run concurrently.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Runs the checks and tests; returns whether all of them passed.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    packages::ensure_installed(packages::FOR_TESTS, !options.no_install)?;
    if options.long {
        packages::ensure_installed(packages::FOR_LONG_TESTS, !options.no_install)?;
        dist::ensure_tools_are_installed()?;
    }

    let mut report = Report::default();
    if options.name.is_none() {
        report.run_step("format", || run_component("fmt", "rustfmt", &["fmt", "--all", "--check"]));
        for (name, check) in checks::CHECKS {
            report.run_step(name, check);
        }
        report.run_step("lints", || {
            let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
            run_component("clippy", "clippy", &arguments)
        });
        if options.long {
            report.run_step("dependencies", dist::check_dependencies);
            report.run_step("packages", dist::test_packages);
            report.run_step("rustdoc", || {
                let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
                let mut command = cargo::command(&arguments);
                command.env("RUSTDOCFLAGS", "-D warnings");
                Ok(cargo::succeeds(command)?)
            });
        }
    }
    let is_built = report.run_step("build", || {
        Ok(cargo::succeeds(cargo::command(&["test", "--workspace", "--no-run"]))?)
    });
    if is_built {
        let mut tally = Tally::default();
        report.run_step("tests", || run_tests(options, &mut tally));
        if let (Some(name), 0) = (&options.name, tally.passed + tally.failed) {
            report.run_step("filter", || Err(format!("no test's name contains {name:?}").into()));
        }
        report.tally = tally;
    }
    if is_built && options.name.is_none() {
        report.run_step("schemathesis", || schemathesis::run_for_tests(options.long));
        if options.long {
            report.run_step("torture", || torture::run_all(300));
        }
    }
    report.print();
    Ok(report.failure_count() == 0)
}

/// Runs a cargo subcommand that is a separate toolchain component.
fn run_component(subcommand: &str, name: &str, arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    if !cargo::has_subcommand(subcommand)? {
        return Err(format!(
            "{name} is missing; install it with `rustup component add {name}`, or without rustup \
             from the package of that name"
        )
        .into());
    }
    Ok(cargo::succeeds(cargo::command(arguments))?)
}

/// Starts the engines and runs the tests.
fn run_tests(options: &Options, tally: &mut Tally) -> Result<bool, Box<dyn Error>> {
    let postgres = Postgres::start()?;
    let redis = Redis::start()?;
    println!("{}\n{}", postgres.url(), redis.url());
    let mut command = cargo::command(&["test", "--workspace", "--no-fail-fast"]);
    command.args(&options.name).arg("--");
    if options.long {
        command.arg("--include-ignored");
    }
    command.args(&options.arguments);
    command.env("BELFRY_TEST_POSTGRES", postgres.url()).env("BELFRY_TEST_REDIS", redis.url());
    // With `CI=true`, a test fails if its engine is missing. Otherwise it is skipped.
    command.env("CI", "true");
    if env::var_os(TEST_THREADS).is_none() {
        // Two more than there are cores, because many tests wait for processes and timeouts.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        command.env(TEST_THREADS, (cores + 2).to_string());
    }
    let succeeded = run_and_count_tests(command, tally)?;
    let crash_report = postgres.crash_report()?;
    if !crash_report.is_empty() {
        println!("PostgreSQL crashed during the tests:\n{crash_report}");
    }
    Ok(succeeded)
}

/// Runs the command, prints its output, and counts the test results in it.
fn run_and_count_tests(mut command: Command, tally: &mut Tally) -> Result<bool, Box<dyn Error>> {
    command.stdout(Stdio::piped());
    let mut group = ProcessGroup::spawn(command, &SpawnOptions::default())?;
    let output = group.take_stdout().ok_or("no pipe")?;
    // In a thread, because a process that a test left behind may keep the pipe open until the group
    // is stopped.
    let reader = thread::spawn(move || -> io::Result<Tally> {
        let mut output = BufReader::new(output);
        let mut tally = Tally::default();
        let mut line = vec![];
        while output.read_until(b'\n', &mut line)? > 0 {
            io::stdout().write_all(&line)?;
            tally.count_line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        Ok(tally)
    });
    let succeeded = group.wait()?.success();
    *tally = reader.join().map_err(|_| "the reader panicked")??;
    Ok(succeeded)
}

/// The steps of a run with their results and durations.
#[derive(Default)]
struct Report {
    steps: Vec<Step>,
    /// The test counts of the step `tests`.
    tally: Tally,
}

struct Step {
    name: &'static str,
    passed: bool,
    duration: Duration,
}

impl Report {
    /// Runs a step, prints its result, and returns whether it passed.
    fn run_step(
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
        println!("=== {}", step.summary());
        self.steps.push(step);
        passed
    }

    /// Returns the number of failed tests plus the number of steps that failed for other reasons.
    fn failure_count(&self) -> usize {
        let is_counted = |step: &Step| step.name == "tests" && self.tally.failed > 0;
        self.tally.failed as usize
            + self.steps.iter().filter(|step| !step.passed && !is_counted(step)).count()
    }

    fn print(&self) {
        println!();
        for step in &self.steps {
            println!("{}", step.summary());
        }
        let Tally { passed, ignored, failures, .. } = &self.tally;
        println!("\n{ignored} tests ignored");
        for name in failures {
            println!("failed: {name}");
        }
        println!("{passed} passed, {} failed", self.failure_count());
    }
}

impl Step {
    fn summary(&self) -> String {
        let result = if self.passed { "ok" } else { "FAILED" };
        format!("{:<20}{result:<8}{:>7.1} s", self.name, self.duration.as_secs_f64())
    }
}

/// Test counts over all test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u32,
    failed: u32,
    ignored: u32,
    /// The names of the failed tests.
    failures: Vec<String>,
}

impl Tally {
    /// Counts the tests in a line of the output of `cargo test`.
    fn count_line(&mut self, line: &str) {
        if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
        // Output of a test that does not end with a newline may precede the result.
        let Some((_, result)) = line.split_once("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        for count in counts.split("; ") {
            let Some((number, outcome)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match outcome {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test secret::tests::a_digest_is_compared ... ok
test store::postgres::a_code_is_redeemed_once ... FAILED
test slow ... ignored, takes an hour

failures:
    store::postgres::a_code_is_redeemed_once

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s

running 2 tests
ding dongtest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
test result: ok. many passed; x
";

    #[test]
    fn failed_tests_and_failed_steps_are_counted() {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.count_line(line));
        let failures = vec!["store::postgres::a_code_is_redeemed_once".to_owned()];
        assert_eq!(tally, Tally { passed: 3, failed: 1, ignored: 1, failures });
        let mut report = Report { steps: vec![], tally };
        report.run_step("tests", || Ok(false));
        assert_eq!(report.failure_count(), 1);
        report.run_step("format", || Err("not installed".into()));
        assert_eq!(report.failure_count(), 2);
        // A test binary crashed.
        report.tally = Tally::default();
        assert_eq!(report.failure_count(), 2);
    }
}
