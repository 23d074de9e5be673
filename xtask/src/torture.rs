//! `cargo xtask torture`: break a running Belfry and check that no acknowledged write is lost.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::torture::{MAX_RECOVERY, Outcome, SCENARIOS, Scenario, Settings};
use clap::{Args, value_parser};

use crate::table::format_table;
use crate::{cargo, packages};

/// Break a running server and check that no acknowledged write is lost
///
/// Each scenario starts private servers and loads them with concurrent clients, which write rules,
/// tokens, revocations and codes, or send events. It breaks something, and then checks what was
/// acknowledged: every rule and token exists, every revoked token is rejected, no redeemed code can
/// be redeemed again, and every message arrives.
/// `--list` shows the scenarios.
///
/// The seed makes the clients' choices and the delays repeatable, but not the order in which the
/// operating system runs the processes.
///
/// The exit code is 1 if anything was lost, or if a node took longer than 10 s to recover.
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  cargo xtask torture\n  cargo xtask torture --rounds 5\n  \
    cargo xtask torture --only kill-sqlite --rounds 1000\n  \
    cargo xtask torture --only kill --seconds 600 --seed 7")]
pub(crate) struct Options {
    /// Run only the scenarios whose names contain this text
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Rounds of each scenario, instead of its default
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Start no more rounds of a scenario after this many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Seed of the random choices; by default a random one, which is printed
    #[arg(long)]
    seed: Option<u64>,
    /// Use this binary instead of a release build
    #[arg(long, value_name = "BELFRY")]
    belfry: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    /// Do not install missing packages, only list them
    #[arg(long)]
    no_install: bool,
}

/// Time between two lines of progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

const HEADER: &[&str] =
    &["scenario", "rounds", "acknowledged", "failed", "checks", "losses", "seconds"];

/// Runs all scenarios, each for its default number of rounds, but at most for `seconds`.
pub(crate) fn run_all(seconds: u64) -> Result<bool, Box<dyn Error>> {
    run(&Options { seconds: Some(seconds), ..Options::default() })
}

/// Runs the scenarios and prints the table; returns whether nothing was lost and every node
/// recovered within [`MAX_RECOVERY`].
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let filter = options.only.as_deref().unwrap_or("");
    let scenarios: Vec<&Scenario> =
        SCENARIOS.iter().filter(|scenario| scenario.name.contains(filter)).collect();
    if options.list || scenarios.is_empty() {
        let line = |scenario: &Scenario| {
            format!("  {:<20} {} ({} rounds)", scenario.name, scenario.description, scenario.rounds)
        };
        let lines = SCENARIOS.iter().map(line).collect::<Vec<_>>().join("\n");
        if options.list {
            println!("{lines}");
            return Ok(true);
        }
        return Err(
            format!("no scenario's name contains {filter:?}; the scenarios are\n{lines}").into()
        );
    }

    packages::ensure_installed(packages::FOR_TORTURE, !options.no_install)?;
    let belfry = options.belfry.as_deref().map_or_else(build_release, canonicalize)?;
    let seed = options.seed.unwrap_or_else(::torture::random_seed);
    println!("seed {seed}");
    let mut rows = vec![];
    let mut losses = 0;
    let mut slow_recoveries = 0;
    let mut slowest_recovery = None;
    for scenario in scenarios {
        let settings = Settings {
            belfry: belfry.clone(),
            rounds: options.rounds.unwrap_or(scenario.rounds),
            time_limit: options.seconds.map(Duration::from_secs),
            seed,
        };
        let (outcome, time) = run_scenario(scenario, &settings);
        losses += outcome.losses;
        slow_recoveries += outcome.slow_recoveries();
        slowest_recovery = slowest_recovery.max(outcome.recoveries.iter().max().copied());
        rows.push(table_row(scenario, &outcome, time));
    }
    println!("\n{}", format_table(HEADER, &rows));
    if let Some(time) = slowest_recovery {
        println!("slowest recovery of a node: {:.1} s", time.as_secs_f64());
    }
    if losses == 0 {
        println!("nothing was lost");
    } else {
        println!("FAILED: {losses} losses; repeat with --seed {seed}");
    }
    if slow_recoveries > 0 {
        println!("FAILED: {slow_recoveries} recoveries took longer than {MAX_RECOVERY:?}");
    }
    Ok(losses == 0 && slow_recoveries == 0)
}

fn canonicalize(path: &Path) -> Result<PathBuf, Box<dyn Error>> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()).into())
}

fn build_release() -> Result<PathBuf, Box<dyn Error>> {
    if !cargo::succeeds(cargo::command(&["build", "--release", "-p", "belfry"]))? {
        return Err("the build failed".into());
    }
    Ok(cargo::target_dir()?.join("release").join("belfry"))
}

/// Runs a scenario with a line of progress every few seconds.
fn run_scenario(scenario: &Scenario, settings: &Settings) -> (Outcome, Duration) {
    println!("{}: {}", scenario.name, scenario.description);
    let start = Instant::now();
    let mut last_report = start;
    let outcome = scenario.run(settings, &mut |outcome| {
        if last_report.elapsed() >= REPORT_INTERVAL {
            last_report = Instant::now();
            println!("    {}", summary(outcome, settings.rounds, start.elapsed()));
        }
    });
    println!("    {}", summary(&outcome, settings.rounds, start.elapsed()));
    for description in &outcome.loss_descriptions {
        println!("    LOST: {description}");
    }
    (outcome, start.elapsed())
}

fn summary(outcome: &Outcome, rounds: u32, time: Duration) -> String {
    let slowest = outcome.recoveries.iter().max();
    let recovery = slowest.map_or(String::new(), |slowest| {
        let count = u32::try_from(outcome.recoveries.len()).unwrap_or(u32::MAX);
        let mean = (outcome.recoveries.iter().sum::<Duration>() / count).as_secs_f32();
        format!(", recovery {mean:.1} s on average and at most {:.1} s", slowest.as_secs_f32())
    });
    let duplicates = match outcome.duplicates {
        0 => String::new(),
        count => format!(", {count} messages arrived more than once"),
    };
    format!(
        "{} of {rounds} rounds in {} s: {} writes acknowledged, {} failed, {} checks, {} losses{recovery}{duplicates}",
        outcome.rounds,
        time.as_secs(),
        outcome.acknowledged,
        outcome.failed,
        outcome.checks,
        outcome.losses,
    )
}

fn table_row(scenario: &Scenario, outcome: &Outcome, time: Duration) -> Vec<String> {
    vec![
        scenario.name.to_owned(),
        outcome.rounds.to_string(),
        outcome.acknowledged.to_string(),
        outcome.failed.to_string(),
        outcome.checks.to_string(),
        outcome.losses.to_string(),
        time.as_secs().to_string(),
    ]
}
