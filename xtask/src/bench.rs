//! `cargo xtask bench`: what Belfry costs, as a ratio to a bare server on the same machine.

mod belfry;
mod http;
mod load;
mod median;
mod options;
mod program;
mod request;
mod rows;
mod served;
mod setup;
mod start;
mod table;
mod wrk;

use std::error::Error;
use std::path::PathBuf;
use std::thread;

use crate::{cargo, packages};

const HELP: &str = "\
Measure what Belfry costs, beside a bare axum server that answers the same bytes.

Usage: cargo xtask bench [OPTIONS] [FILTER]

  FILTER          Measure only the rows whose names contain it

Options:
  --seconds N     Length of each load; a row has nine of each side, in turn [default: 2]
  --no-install    Only say what is missing, even if it could be installed
  -h, --help      Say this

Belfry is built for release and runs on fresh data for every row. wrk loads both servers in
alternation; the tables show medians, and beside each figure the one it should keep to. Absolute
figures are the machine's, ratios are ours. A busy machine blurs all but the processor time of a
call (CPU µs): measure again before you believe `below`. The exit code says only whether
everything could be measured.

Examples:
  cargo xtask bench
  cargo xtask bench healthz --seconds 10
";

/// The programs that are measured, and for how long.
struct Bench {
    belfry: PathBuf,
    /// A plain axum server.
    bare: PathBuf,
    /// Measurements of parts alone.
    parts: PathBuf,
    seconds: u32,
}

/// Measures and prints; true if every row that was asked for could be measured.
pub(crate) fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let options = options::parse(arguments)?;
    if options.help {
        print!("{HELP}");
        return Ok(true);
    }
    let asked = |name: &str| name.contains(options.filter.as_deref().unwrap_or(""));
    let rows: Vec<_> = rows::LOADS.iter().filter(|row| asked(row.name)).collect();
    let starts: Vec<_> = rows::STARTS.iter().filter(|row| asked(row.name)).collect();
    let programs: Vec<_> = rows::PROGRAMS.iter().filter(|row| asked(row.name)).collect();
    if rows.is_empty() && starts.is_empty() && programs.is_empty() {
        let all = rows::names().collect::<Vec<_>>().join("\n  ");
        return Err(format!("no row's name contains that; they are\n  {all}").into());
    }

    packages::ensure(packages::FOR_BENCH, options.install)?;
    let build = ["build", "--release", "-p", "belfry", "-p", "belfry-bench", "--bins"];
    if !cargo::succeeds(cargo::command(&build))? {
        return Err("Belfry does not compile".into());
    }
    let release = cargo::built("release")?;
    let bench = Bench {
        belfry: release.join("belfry"),
        bare: release.join("bare"),
        parts: release.join("belfry-bench"),
        seconds: options.seconds,
    };

    let cores = thread::available_parallelism()?;
    println!("{cores} cores, {} rounds of {} s", load::ROUNDS, bench.seconds);
    let measured = [
        rows.is_empty() || load::measure_all(&bench, &rows),
        starts.is_empty() || start::measure_all(&bench, &starts),
        programs.is_empty() || program::run_all(&bench, &programs),
    ];
    Ok(measured.into_iter().all(|measured| measured))
}
