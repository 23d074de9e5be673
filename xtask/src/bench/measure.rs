//! The kinds of rows, and how each is measured.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use test_engines::{Postgres, Server};

use super::compare::Comparison;
use super::distant_delivery::DistantOrigin;
use super::line::{ReportLine, Target, median};
use super::setup::{Setup, belfry_command};
use super::{Bench, delivery};
use crate::cargo;

pub(super) struct Row {
    pub name: &'static str,
    pub kind: RowKind,
    /// The performance target, if there is one.
    pub target: Option<Target>,
}

pub(super) enum RowKind {
    Throughput(Comparison),
    /// Cost of messages from the queue to the push service, and the time that one event takes.
    Delivery(Setup),
    /// Delivery of an event to a push service that responds after a delay.
    DistantDelivery(Setup, DistantOrigin),
    /// Resident memory of Belfry with the given settings and without requests, in MB.
    IdleMemory(&'static str),
    /// Time from start to ready with an empty data directory, in ms.
    StartupTime,
    /// A measurement inside one process: a subcommand of `belfry-bench`.
    Subcommand(&'static str),
}

impl Row {
    pub(super) fn measure(&self, bench: &Bench) -> Result<Vec<ReportLine>, Box<dyn Error>> {
        let (unit, settings, measure): (_, _, fn(&Path, &str) -> io::Result<f64>) = match &self.kind
        {
            RowKind::Throughput(comparison) => {
                return Ok(vec![comparison.measure(bench, self.name, self.target)?]);
            }
            RowKind::Subcommand(_) | RowKind::Delivery(_) | RowKind::DistantDelivery(..)
                if bench.other.is_some() =>
            {
                return Err("not measured: this row cannot be compared with another build".into());
            }
            RowKind::Subcommand(subcommand) => return run_subcommand(bench, subcommand),
            RowKind::Delivery(setup) => return delivery::measure(bench, setup),
            RowKind::DistantDelivery(setup, origin) => {
                return origin.measure(bench, setup, self.name, self.target);
            }
            RowKind::IdleMemory(settings) => ("MB", *settings, measure_idle_memory_mb),
            RowKind::StartupTime => ("ms", "", measure_startup_ms),
        };
        let value = measure(&bench.current.belfry, settings)?;
        let mut line = ReportLine::metric(self.name, value, unit, self.target);
        if let Some(other) = &bench.other {
            line.reference = format!("{:.1} {unit}", measure(&other.belfry, settings)?);
        }
        Ok(vec![line])
    }
}

fn measure_idle_memory_mb(belfry: &Path, settings: &str) -> io::Result<f64> {
    let dir = tempfile::tempdir()?;
    let server = start_belfry(belfry, dir.path(), settings)?;
    thread::sleep(Duration::from_secs(2));
    Ok(server.resident_memory_mb())
}

/// Returns the median time of ten starts, in milliseconds.
fn measure_startup_ms(belfry: &Path, settings: &str) -> io::Result<f64> {
    let mut startup_times_ms = vec![];
    for _ in 0..10 {
        let dir = tempfile::tempdir()?;
        let server = start_belfry(belfry, dir.path(), settings)?;
        startup_times_ms.push(server.startup_duration.as_secs_f64() * 1000.0);
    }
    Ok(median(startup_times_ms))
}

fn start_belfry(belfry: &Path, dir: &Path, settings: &str) -> io::Result<Server> {
    fs::write(dir.join("belfry.toml"), settings)?;
    Server::start(belfry_command(belfry, dir, &["serve", "--listen", "127.0.0.1:0"]), dir)
}

/// Runs a subcommand of `belfry-bench` and returns a line for each line of its output.
fn run_subcommand(bench: &Bench, subcommand: &str) -> Result<Vec<ReportLine>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(&bench.current.bench);
    command.arg(subcommand).current_dir(dir.path()).stderr(Stdio::inherit());
    cargo::remove_inherited_variables(&mut command);
    let postgres = if subcommand == "backup" { Some(Postgres::start_durable()?) } else { None };
    if let Some(postgres) = &postgres {
        command.env("BELFRY_TEST_POSTGRES", postgres.url());
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("belfry-bench {subcommand}: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_line).collect())
}

/// Parses `name<TAB>value<TAB>unit`. A unit such as `times (100 or more)` contains a target.
fn parse_line(line: &str) -> Option<ReportLine> {
    let mut cells = line.split('\t');
    let name = cells.next()?;
    let value = cells.next()?.parse().ok()?;
    let unit = cells.next()?;
    let (unit, target) = unit.split_once(" (").unwrap_or((unit, ""));
    let number = |suffix: &str| target.strip_suffix(suffix)?.trim().parse::<f64>().ok();
    let at_least = number(" or more)").map(Target::AtLeast);
    let target = at_least.or_else(|| number(" or less)").map(Target::AtMost));
    Some(ReportLine::metric(name, value, unit, target))
}
