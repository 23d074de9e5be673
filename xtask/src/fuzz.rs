//! `cargo xtask fuzz`: fuzzing of belfry-core with libFuzzer, on stable Rust.

use std::error::Error;
use std::fs;
use std::process::Command;

use clap::{Args, value_parser};

use crate::{cargo, packages};

/// Search for inputs that violate an invariant
///
/// The targets are functions of the package `fuzz`. libFuzzer mutates inputs and keeps those that
/// reach new code. It begins with the seeds and dictionaries in `fuzz/` and the inputs that earlier
/// runs kept in `target/fuzz`. It needs a C++ compiler, but not nightly Rust.
///
/// libFuzzer stores a failing input and prints its path. When the bug is fixed, add the input to
/// `fuzz/seeds`: `cargo xtask test` runs all seeds.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz rule --seconds 600\n  \
    cargo xtask fuzz rule target/fuzz/found/rule/crash-0a1b2c")]
pub(crate) struct Options {
    /// Run only this target
    #[arg(value_parser = TARGETS)]
    target: Option<String>,
    /// Run the target once with this file
    input: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
    /// Do not install missing packages, only list them
    #[arg(long)]
    no_install: bool,
}

/// The binaries of the package `fuzz`.
const TARGETS: [&str; 5] = ["evaluation", "rule", "pattern", "oauth", "import"];

/// Compiler flags for libFuzzer's coverage instrumentation: those of `cargo fuzz --sanitizer none`,
/// which are all stable. A sanitizer would find nothing, because belfry-core has no `unsafe` code.
const COVERAGE_FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// The directory for binaries and inputs. It is separate so that fuzzing does not invalidate other
/// builds.
const FUZZ_DIR: &str = "target/fuzz";

/// Runs the targets; returns whether no failing input was found.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    packages::ensure_installed(packages::FOR_FUZZ, !options.no_install)?;
    if !cargo::succeeds(cargo_command(&["build", "--bins"]))? {
        return Err("the build failed".into());
    }
    let filter = options.target.as_deref();
    if let (Some(target), Some(input)) = (filter, &options.input) {
        let input = fs::canonicalize(input).map_err(|error| format!("{input}: {error}"))?;
        let mut command = cargo_command(&["run", "--quiet", "--bin", target]);
        command.arg("--").arg(input).env("RUST_BACKTRACE", "1");
        return Ok(cargo::succeeds(command)?);
    }
    let mut all_passed = true;
    for target in TARGETS.into_iter().filter(|target| filter.is_none_or(|name| name == *target)) {
        println!("{target} for {} s …", options.seconds);
        let passed = search(target, options.seconds)?;
        println!("{target}: {}", if passed { "no failure" } else { "FAILED" });
        all_passed &= passed;
    }
    Ok(all_passed)
}

/// Runs a target for this many seconds, or until it fails.
fn search(target: &str, seconds: u32) -> Result<bool, Box<dyn Error>> {
    let dir = cargo::root().join(FUZZ_DIR);
    let corpus = dir.join("kept").join(target);
    let failures = dir.join("found").join(target);
    for dir in [&corpus, &failures] {
        fs::create_dir_all(dir)?;
    }
    let package = cargo::root().join("fuzz");
    let dictionary = package.join(format!("dictionaries/{target}.dict"));
    let mut command = cargo_command(&["run", "--quiet", "--bin", target]);
    // libFuzzer adds new inputs to the first directory.
    command.arg("--").arg(&corpus).arg(package.join("seeds").join(target));
    command.arg(format!("-dict={}", dictionary.display()));
    command.arg(format!("-artifact_prefix={}", failures.join("").display()));
    command.arg(format!("-max_total_time={seconds}"));
    // Wall-clock time on a machine that may be busy: stops only inputs that never finish.
    command.arg("-timeout=60");
    // Longer inputs are slower and rarely reach more code.
    command.arg("-max_len=4096");
    command.args(["-verbosity=0", "-print_final_stats=1"]).env("RUST_BACKTRACE", "0");
    Ok(cargo::succeeds(command)?)
}

/// Creates a cargo command for the targets.
fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = cargo::command(arguments);
    command.args(["--package", "belfry-fuzz", "--features", "libfuzzer"]);
    // With --target, the flags do not apply to build scripts and procedural macros.
    command.args(["--profile", "fuzz", "--target", "host-tuple", "--target-dir", FUZZ_DIR]);
    command.env("RUSTFLAGS", COVERAGE_FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}
