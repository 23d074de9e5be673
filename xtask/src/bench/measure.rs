//! The kinds of rows, and how each is measured.

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use test_engines::{Postgres, Server};

use super::compare::Comparison;
use super::line::{Line, Target, median};
use super::nodes::Nodes;
use super::pgbench::Pgbench;
use super::setup::{Setup, belfry_command};
use super::{Bench, overload, storage};
use crate::cargo;

/// A row of the table.
pub(super) struct Row {
    pub name: &'static str,
    pub kind: Kind,
    /// The performance target, if there is one.
    pub target: Option<Target>,
}

/// The kind of a row.
pub(super) enum Kind {
    /// Throughput relative to a reference.
    Throughput(Comparison),
    /// Resident memory of Belfry without requests, in MB.
    IdleMemory,
    /// Time from start to ready with an empty data directory, in ms.
    StartTime,
    /// Latency of the setup's request, and of others, while expensive push rules are evaluated by
    /// the application service with this token.
    Overload(Setup, &'static str),
    /// Throughput and operations of the engines with one, two and four nodes.
    Nodes(Nodes),
    /// Throughput relative to pgbench with the same statements.
    Pgbench(Pgbench),
    /// Sizes of accounts, tokens, rules and counters.
    Storage(Setup),
    /// A measurement inside one process: a subcommand of `belfry-bench`.
    Part(&'static str),
}

impl Row {
    /// Measures the row.
    pub(super) fn measure(&self, bench: &Bench) -> Result<Vec<Line>, Box<dyn Error>> {
        let (unit, figure): (_, fn(&Path) -> io::Result<f64>) = match &self.kind {
            Kind::Throughput(comparison) => {
                return Ok(vec![comparison.measure(bench, self.name, self.target)?]);
            }
            Kind::Part(_) | Kind::Nodes(_) | Kind::Pgbench(_) | Kind::Storage(_)
                if bench.other.is_some() =>
            {
                return Err("not measured: this row cannot be compared with another build".into());
            }
            Kind::Part(part) => return run_part(bench, part),
            Kind::Nodes(nodes) => return nodes.measure(bench, self.name),
            Kind::Pgbench(pgbench) => return Ok(vec![pgbench.measure(bench, self.name)?]),
            Kind::Storage(setup) => return storage::measure(bench, setup),
            Kind::Overload(setup, token) => return overload::measure(bench, setup, token),
            Kind::IdleMemory => ("MB", idle_memory),
            Kind::StartTime => ("ms", start_time),
        };
        let mut line = Line::figure(self.name, figure(&bench.current.belfry)?, unit, self.target);
        if let Some(other) = &bench.other {
            line.reference = format!("{:.1} {unit}", figure(&other.belfry)?);
        }
        Ok(vec![line])
    }
}

fn idle_memory(belfry: &Path) -> io::Result<f64> {
    let dir = tempfile::tempdir()?;
    let server = start(belfry, dir.path())?;
    thread::sleep(Duration::from_secs(2));
    Ok(server.resident_memory())
}

/// Returns the median time of ten starts, in milliseconds.
fn start_time(belfry: &Path) -> io::Result<f64> {
    let mut times = vec![];
    for _ in 0..10 {
        let dir = tempfile::tempdir()?;
        times.push(start(belfry, dir.path())?.start_time.as_secs_f64() * 1000.0);
    }
    Ok(median(times))
}

fn start(belfry: &Path, dir: &Path) -> io::Result<Server> {
    Server::start(belfry_command(belfry, dir, &["serve", "--listen", "127.0.0.1:0"]), dir)
}

/// Runs a subcommand of `belfry-bench` and returns a line for each line of its output.
fn run_part(bench: &Bench, part: &str) -> Result<Vec<Line>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(&bench.current.bench);
    command.arg(part).current_dir(dir.path()).stderr(Stdio::inherit());
    cargo::remove_inherited_variables(&mut command);
    let postgres = if matches!(part, "backup" | "cold" | "store") {
        Some(Postgres::start_durable()?)
    } else {
        None
    };
    if let Some(postgres) = &postgres {
        command.env("BELFRY_TEST_POSTGRES", postgres.url());
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("belfry-bench {part}: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_line).collect())
}

/// Parses `name<TAB>value<TAB>unit`. A unit such as `times (100 or more)` contains a target.
fn parse_line(line: &str) -> Option<Line> {
    let mut cells = line.split('\t');
    let (name, value, unit) = (cells.next()?, cells.next()?.parse().ok()?, cells.next()?);
    let (unit, target) = unit.split_once(" (").unwrap_or((unit, ""));
    let number = |suffix: &str| target.strip_suffix(suffix)?.trim().parse::<f64>().ok();
    let at_least = number(" or more)").map(Target::AtLeast);
    let target = at_least.or_else(|| number(" or less)").map(Target::AtMost));
    Some(Line::figure(name, value, unit, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_belfry_bench_may_contain_a_target() {
        for (text, expected, passed) in [
            (
                "ratio\t113.0\ttimes (100 or more)",
                ["113.0 times", "", "at least 100 times", "ok"],
                true,
            ),
            (
                "ratio\t90\ttimes (100 or more)",
                ["90.0 times", "", "at least 100 times", "FAILED"],
                false,
            ),
            ("ratio\t1.2\ttimes (1.5 or less)", ["1.2 times", "", "at most 1.5 times", "ok"], true),
            ("writes\t54000\tper second", ["54000.0 per second", "", "", ""], true),
        ] {
            let line = parse_line(text).unwrap();
            assert_eq!(
                (&line.cells()[3..], line.passed()),
                (&expected.map(String::from)[..], passed)
            );
        }
        assert!(parse_line("filling the store").is_none());
    }
}
