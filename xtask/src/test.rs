//! `cargo xtask test`: everything that CI checks, on a machine that has only Rust.

mod options;
mod report;
mod tally;

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;

use test_engines::process_group::{OnDrop, ProcessGroup};
use test_engines::{EngineError, Postgres, Redis};

use self::options::Options;
use self::report::Report;
use self::tally::Tally;
use crate::{cargo, packages};

const HELP: &str = "\
Check everything as CI does: format, lints, documentation and all tests, on every engine.

Usage: cargo xtask test [OPTIONS] [FILTER] [-- ARGUMENTS]

  FILTER          Run only the tests whose names contain it, and no other check
  ARGUMENTS       For the test programs, such as --nocapture or --test-threads=1

Options:
  --no-install    Only say what is missing, even if it could be installed
  -h, --help      Say this

What the tests need and the machine lacks is installed from the distribution's packages, if this
runs as root or sudo asks for no password. No service is started or changed: the tests get a
PostgreSQL and a Redis of their own, on free ports and in a temporary folder, and both end with the
tests, also when these fail or are interrupted.

The last line is `N passed, M failed`. A check that fails counts as one failure, and so does a
test program that crashes.

Examples:
  cargo xtask test
  cargo xtask test a_code_is_spent_once
  cargo xtask test store::postgres -- --nocapture
";

/// Runs the checks; true if all of them passed.
pub(crate) fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let options = options::parse(arguments)?;
    if options.help {
        print!("{HELP}");
        return Ok(true);
    }
    packages::ensure(packages::FOR_TESTS, options.install)?;

    let mut report = Report::default();
    if options.filter.is_none() {
        report.step("format", || component("fmt", "rustfmt", &["fmt", "--all", "--check"]));
        report.step("lints", || {
            let all = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
            component("clippy", "clippy", &all)
        });
        report.step("documentation", || {
            let all = ["doc", "--workspace", "--no-deps", "--document-private-items"];
            let mut doc = cargo::command(&all);
            doc.env("RUSTDOCFLAGS", "-D warnings");
            Ok(cargo::succeeds(doc)?)
        });
    }
    let built = report.step("build", || {
        Ok(cargo::succeeds(cargo::command(&["test", "--workspace", "--no-run"]))?)
    });
    if built {
        test(&options, &mut report);
    }
    print!("{report}");
    Ok(report.failed() == 0)
}

/// Runs the tests on engines of their own.
fn test(options: &Options, report: &mut Report) {
    let mut engines = None;
    report.step("engines", || {
        engines = Some(start_engines()?);
        Ok(true)
    });
    let Some((postgres, redis)) = engines else { return };
    let mut tally = Tally::default();
    report.step("tests", || Ok(run_tests(options, &postgres, &redis, &mut tally)?));
    if let (Some(filter), 0) = (&options.filter, tally.passed + tally.failed) {
        report.step("filter", || Err(format!("no test's name contains {filter:?}").into()));
    }
    report.tally = tally;
}

fn start_engines() -> Result<(Postgres, Redis), EngineError> {
    let (postgres, redis) = (Postgres::start()?, Redis::start()?);
    println!("{}\n{}", postgres.url(), redis.url());
    Ok((postgres, redis))
}

/// Runs a verb of cargo that is a component of its own, and says how to get it.
fn component(verb: &str, name: &str, arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    let mut probe = cargo::command(&[verb, "--version"]);
    if !probe.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
        return Err(format!(
            "{name} is missing; add it with `rustup component add {name}`, or without rustup by \
             your distribution's package of that name"
        )
        .into());
    }
    Ok(cargo::succeeds(cargo::command(arguments))?)
}

fn run_tests(
    options: &Options,
    postgres: &Postgres,
    redis: &Redis,
    tally: &mut Tally,
) -> io::Result<bool> {
    let mut tests = cargo::command(&["test", "--workspace", "--no-fail-fast"]);
    tests.args(&options.filter).arg("--").args(&options.for_tests);
    tests.env("BELFRY_TEST_POSTGRES", postgres.url()).env("BELFRY_TEST_REDIS", redis.url());
    // Where an engine that is not there is a failure.
    tests.env("CI", "true");
    let (succeeded, counted) = count(tests)?;
    *tally = counted;
    Ok(succeeded)
}

/// Runs the command, shows what it prints, and counts the tests in that.
fn count(mut command: Command) -> io::Result<(bool, Tally)> {
    command.stdout(Stdio::piped());
    let mut group = ProcessGroup::spawn(command, &OnDrop::default())?;
    let output = group.stdout().ok_or_else(|| io::Error::other("no pipe"))?;
    // On a thread of its own: what a test left running may hold the pipe open until its group ends.
    let reader = thread::spawn(move || -> io::Result<Tally> {
        let (mut output, mut tally, mut line) = (BufReader::new(output), Tally::default(), vec![]);
        while output.read_until(b'\n', &mut line)? > 0 {
            io::stdout().write_all(&line)?;
            tally.read(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        Ok(tally)
    });
    let succeeded = group.wait()?.success();
    let tally = reader.join().map_err(|_| io::Error::other("the reader panicked"))??;
    Ok((succeeded, tally))
}
