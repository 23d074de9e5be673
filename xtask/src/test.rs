//! `cargo xtask test`: all checks and tests of CI, on a machine that has only Rust.

mod report;
mod tally;

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::{env, thread};

use clap::Args;
use test_engines::process_group::{ProcessGroup, SpawnOptions};
use test_engines::{EngineError, Postgres, Redis};

use self::report::Report;
use self::tally::Tally;
use crate::{cargo, checks, packages, schemathesis, torture};

/// Run all checks and tests as CI does
///
/// Runs the source checks (see `cargo xtask check --help`), rustfmt, clippy, rustdoc, the tests on
/// all engines, and some requests of `cargo xtask schemathesis`. It takes at most 15 minutes on two
/// cores.
///
/// `--long` takes hours. It also runs the tests that are ignored as `long` (soak, packages,
/// screenshots), all requests of `cargo xtask schemathesis`, and five minutes of each scenario of
/// `cargo xtask torture`.
///
/// Missing packages are installed from the distribution if this runs as root or with passwordless
/// sudo. System services are neither started nor changed: the tests use a private PostgreSQL and Redis on free
/// ports with temporary data, which stop with the tests, even if these fail or are interrupted.
///
/// The last line is `N passed, M failed`. A failed check counts as one failure, and so does a test
/// binary that crashes.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --long\n  \
    cargo xtask test store::\n  cargo xtask test packages:: --long\n  \
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
        report.run_step("documentation", || {
            let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
            let mut command = cargo::command(&arguments);
            command.env("RUSTDOCFLAGS", "-D warnings");
            Ok(cargo::succeeds(command)?)
        });
    }
    let is_built = report.run_step("build", || {
        Ok(cargo::succeeds(cargo::command(&["test", "--workspace", "--no-run"]))?)
    });
    if is_built {
        run_tests(options, &mut report);
    }
    if is_built && options.name.is_none() {
        report.run_step("schemathesis", || schemathesis::run_for_tests(options.long));
        if options.long {
            report.run_step("torture", || torture::run_all(300));
        }
    }
    print!("{report}");
    Ok(report.failure_count() == 0)
}

/// Runs a cargo subcommand that is a separate toolchain component.
fn run_component(subcommand: &str, name: &str, arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    let mut probe = cargo::command(&[subcommand, "--version"]);
    if !probe.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
        return Err(format!(
            "{name} is missing; install it with `rustup component add {name}`, or without rustup \
             from the package of that name"
        )
        .into());
    }
    Ok(cargo::succeeds(cargo::command(arguments))?)
}

/// Starts the engines and runs the tests.
fn run_tests(options: &Options, report: &mut Report) {
    let mut engines = None;
    report.run_step("engines", || {
        engines = Some(start_engines()?);
        Ok(true)
    });
    let Some((postgres, redis)) = engines else { return };
    let mut tally = Tally::default();
    report.run_step("tests", || {
        let mut command = test_command(options);
        command.env("BELFRY_TEST_POSTGRES", postgres.url()).env("BELFRY_TEST_REDIS", redis.url());
        // With `CI=true`, a test fails if its engine is missing. Otherwise it is skipped.
        command.env("CI", "true");
        if env::var_os(TEST_THREADS).is_none() {
            // Two more than there are cores, because many tests wait for processes and timeouts.
            let cores = thread::available_parallelism().map_or(1, usize::from);
            command.env(TEST_THREADS, (cores + 2).to_string());
        }
        let (succeeded, test_tally) = run_and_count_tests(command)?;
        tally = test_tally;
        let crash_report = postgres.crash_report()?;
        if !crash_report.is_empty() {
            println!("PostgreSQL crashed during the tests:\n{crash_report}");
        }
        Ok(succeeded)
    });
    if let (Some(name), 0) = (&options.name, tally.passed + tally.failed) {
        report.run_step("filter", || Err(format!("no test's name contains {name:?}").into()));
    }
    report.tally = tally;
}

/// Returns the command that runs the tests.
fn test_command(options: &Options) -> Command {
    let mut command = cargo::command(&["test", "--workspace", "--no-fail-fast"]);
    command.args(&options.name).arg("--");
    if options.long {
        command.arg("--include-ignored");
    }
    command.args(&options.arguments);
    command
}

fn start_engines() -> Result<(Postgres, Redis), EngineError> {
    let postgres = Postgres::start()?;
    let redis = Redis::start()?;
    println!("{}\n{}", postgres.url(), redis.url());
    Ok((postgres, redis))
}

/// Runs the command, prints its output, and counts the test results in it.
fn run_and_count_tests(mut command: Command) -> io::Result<(bool, Tally)> {
    command.stdout(Stdio::piped());
    let mut group = ProcessGroup::spawn(command, &SpawnOptions::default())?;
    let output = group.take_stdout().ok_or_else(|| io::Error::other("no pipe"))?;
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
    let tally = reader.join().map_err(|_| io::Error::other("the reader panicked"))??;
    Ok((succeeded, tally))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        options: Options,
    }

    /// Returns the arguments that cargo gets for a command line.
    fn cargo_arguments(command_line: &str) -> String {
        let words = command_line.split(' ');
        let Arguments { options } = Arguments::try_parse_from(words).unwrap();
        let command = test_command(&options);
        let arguments: Vec<_> =
            command.get_args().map(|argument| argument.to_string_lossy()).collect();
        arguments.join(" ")
    }

    #[test]
    fn ignored_tests_run_only_with_long() {
        let cargo_test = "test --workspace --no-fail-fast";
        for (command_line, expected) in [
            ("test", "--"),
            ("test --long", "-- --include-ignored"),
            ("test store::", "store:: --"),
            ("test store:: --long", "store:: -- --include-ignored"),
            ("test --long -- --nocapture", "-- --include-ignored --nocapture"),
        ] {
            assert_eq!(cargo_arguments(command_line), format!("{cargo_test} {expected}"));
        }
    }
}
