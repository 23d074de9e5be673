//! `cargo xtask bench`: throughput, memory and start time against the performance targets.

mod compare;
mod delivery;
mod distant_delivery;
mod line;
mod measure;
mod request;
mod rows;
mod setup;
mod wrk;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, value_parser};

use self::measure::Row;
use crate::table::format_table;
use crate::{cargo, packages};

/// Measure performance against the targets
///
/// Builds Belfry for release and loads it with wrk, in alternation with a bare axum server that
/// returns the same bytes, or with a different configuration of Belfry. A row's ratio is the median
/// of the ratios of its rounds. Ratios are comparable between machines, absolute figures are not.
///
/// With --against, the reference of every row is another build of Belfry with the same
/// configuration. Other work on the machine affects all figures except the CPU time per request:
/// measure again before you rely on a small difference.
///
/// The exit code is 0 if every row was measured and met its target.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench \"one rule\"\n  \
    cargo xtask bench --against ../old/target/dist/belfry --rounds 15 \"GET /pushrules/\"")]
pub(crate) struct Options {
    /// Measure only the rows whose names contain this text
    row: Option<String>,
    /// Compare with another build of belfry
    #[arg(long, value_name = "BELFRY")]
    against: Option<PathBuf>,
    /// Rounds for each row; a round loads both sides once
    #[arg(long, default_value_t = 9, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of load per side in a round
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
    /// Do not install missing packages, only list them
    #[arg(long)]
    no_install: bool,
}

/// A build of Belfry, and of the tool that fills its database and measures its parts.
struct Build {
    belfry: PathBuf,
    bench: PathBuf,
}

/// The binaries to measure, and the length of the measurements.
struct Bench {
    current: Build,
    /// The other build of `--against`.
    other: Option<Build>,
    /// The bare axum server.
    bare: PathBuf,
    /// The push service that responds after a delay.
    push_service: PathBuf,
    rounds: u32,
    seconds: u32,
}

/// Measures the rows and prints the table; returns whether all rows met their targets.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let filter = options.row.as_deref().unwrap_or("");
    let rows: Vec<&Row> = rows::ROWS.iter().filter(|row| row.name.contains(filter)).collect();
    if rows.is_empty() {
        let names: Vec<&str> = rows::ROWS.iter().map(|row| row.name).collect();
        let list = names.join("\n  ");
        return Err(format!("no row's name contains {filter:?}; the rows are\n  {list}").into());
    }

    packages::ensure_installed(packages::FOR_BENCH, !options.no_install)?;
    let build_arguments =
        ["build", "--profile", "dist", "-p", "belfry", "-p", "belfry-bench", "--bins"];
    if !cargo::succeeds(cargo::command(&build_arguments))? {
        return Err("the build failed".into());
    }
    let build_dir = cargo::target_dir()?.join("dist");
    let bench = Bench {
        current: Build { belfry: build_dir.join("belfry"), bench: build_dir.join("belfry-bench") },
        other: options.against.as_deref().map(locate_build).transpose()?,
        bare: build_dir.join("bare"),
        push_service: build_dir.join("push_service"),
        rounds: options.rounds,
        seconds: options.seconds,
    };
    let cores = thread::available_parallelism()?;
    println!("{cores} cores, {} rounds of {} s", bench.rounds, bench.seconds);
    let mut table_rows = vec![];
    let mut all_passed = true;
    for row in rows {
        println!("{} …", row.name);
        match row.measure(&bench) {
            Ok(row_lines) => {
                for line in row_lines {
                    println!("    {}", line.summary());
                    all_passed &= line.has_passed();
                    table_rows.push(line.cells());
                }
            }
            Err(error) => {
                println!("    {error}");
                all_passed = false;
            }
        }
    }
    println!("\n{}", format_table(line::HEADER, &table_rows));
    println!("{}", if all_passed { "all targets met" } else { "FAILED: see the rows above" });
    Ok(all_passed)
}

/// Returns the build that contains this `belfry`. The `belfry-bench` next to it creates accounts,
/// because the stored formats may differ between the builds.
fn locate_build(belfry: &Path) -> Result<Build, Box<dyn Error>> {
    let belfry = belfry.canonicalize().map_err(|error| format!("{}: {error}", belfry.display()))?;
    Ok(Build { bench: belfry.with_file_name("belfry-bench"), belfry })
}
