//! Building and running a target, and reading libFuzzer's output.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_engines::process_group::{ProcessGroup, SpawnOptions};

use crate::cargo;

/// The result of a search.
pub(crate) enum FuzzOutcome {
    Passed {
        /// Number of inputs that were tried.
        input_count: String,
    },
    Failed {
        /// The panic message, or libFuzzer's error.
        message: String,
        /// The path of the failing input.
        input_path: String,
    },
}

/// Compiler flags for libFuzzer's coverage instrumentation: those of `cargo fuzz --sanitizer none`,
/// which are all stable. A sanitizer would find nothing, because belfry-core has no `unsafe` code.
const COVERAGE_FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// The maximum size of an input. Longer inputs are slower and rarely reach more code.
const MAX_INPUT_BYTES: u32 = 4096;

/// The time limit for one input. It is high because it is wall-clock time on a machine that may be
/// busy, and it only has to stop inputs that never finish.
const TIMEOUT_SECONDS: u32 = 60;

/// Creates a cargo command for the targets.
pub(crate) fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = cargo::command(arguments);
    command.args(["--package", "belfry-fuzz", "--features", "libfuzzer"]);
    // With --target, the flags do not apply to build scripts and procedural macros.
    command.args(["--profile", "fuzz", "--target", "host-tuple", "--target-dir", FUZZ_DIR]);
    command.env("RUSTFLAGS", COVERAGE_FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// The directory for binaries and inputs. It is separate so that fuzzing does not invalidate other
/// builds.
const FUZZ_DIR: &str = "target/fuzz";

/// Runs the target with one input and prints its output; returns whether it passed.
pub(crate) fn run_once(target: &str, input: &str) -> io::Result<bool> {
    let input = fs::canonicalize(input)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read {input}: {error}")))?;
    let mut command = cargo_command(&["run", "--quiet", "--bin", target]);
    command.arg("--").arg(input).env("RUST_BACKTRACE", "1");
    cargo::succeeds(command)
}

/// Runs a target for this many seconds, or until it fails.
pub(crate) fn search(target: &str, seconds: u32) -> io::Result<FuzzOutcome> {
    let dir = cargo::root().join(FUZZ_DIR);
    let corpus = dir.join("kept").join(target);
    let failures = dir.join("found").join(target);
    for dir in [&corpus, &failures] {
        fs::create_dir_all(dir)?;
    }
    let package = cargo::root().join("fuzz");
    let mut command = cargo_command(&["run", "--quiet", "--bin", target]);
    // libFuzzer adds new inputs to the first directory.
    command.arg("--").arg(&corpus).arg(package.join("seeds").join(target));
    command.arg(option("dict", package.join(format!("dictionaries/{target}.dict")).display()));
    command.arg(option("artifact_prefix", failures.join("").display()));
    command.arg(option("max_total_time", seconds));
    command.arg(option("timeout", TIMEOUT_SECONDS));
    command.arg(option("max_len", MAX_INPUT_BYTES));
    command.arg(option("print_final_stats", 1));
    let log = dir.join(format!("{target}.log"));
    command.env("RUST_BACKTRACE", "0").stderr(File::create(&log)?);
    let succeeded = ProcessGroup::spawn(command, &SpawnOptions::default())?.wait()?.success();
    let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    Ok(if succeeded {
        FuzzOutcome::Passed { input_count: parse_input_count(&output).unwrap_or("?").to_owned() }
    } else {
        parse_failure(&output, &log)
    })
}

fn option(name: &str, value: impl std::fmt::Display) -> String {
    format!("-{name}={value}")
}

/// Returns the number of inputs from the statistics at the end.
fn parse_input_count(output: &str) -> Option<&str> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .map(str::trim)
}

/// Returns a failure with the panic message, or else libFuzzer's error, or else the whole output.
fn parse_failure(output: &str, log: &Path) -> FuzzOutcome {
    let input_path = output
        .lines()
        .find_map(|line| line.split_once("Test unit written to "))
        .map(|(_, path)| path.trim())
        .map_or_else(|| format!("none; see {}", log.display()), relative_to_root);
    let panic_lines: Vec<&str> = output
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .take_while(|line| !line.starts_with("=="))
        .collect();
    let error_lines = output.lines().filter(|line| line.contains("ERROR: libFuzzer")).collect();
    let lines = [panic_lines, error_lines].into_iter().find(|lines| !lines.is_empty());
    let message = lines.map_or_else(|| output.trim_end().to_owned(), |lines| lines.join("\n"));
    FuzzOutcome::Failed { message, input_path }
}

/// Returns the path relative to the repository root.
fn relative_to_root(path: &str) -> String {
    let path = PathBuf::from(path);
    path.strip_prefix(cargo::root()).unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
INFO: Seed: 1
#2\tINITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 30Mb
#8\tNEW    cov: 11 ft: 12 corp: 2/5b
thread '<unnamed>' panicked at fuzz/src/rule.rs:7:5:
assertion failed: x
==9== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
MS: 1 ChangeByte-; base unit: 0
artifact_prefix='/x/'; Test unit written to /x/crash-0a1b
stat::number_of_executed_units: 1234
";

    #[test]
    fn a_failure_has_the_panic_message_and_the_input_path() {
        let FuzzOutcome::Failed { message, input_path } = parse_failure(OUTPUT, Path::new("log"))
        else {
            panic!("expected a failure");
        };
        let panic = "thread '<unnamed>' panicked at fuzz/src/rule.rs:7:5:\nassertion failed: x";
        assert_eq!(message, panic);
        assert_eq!(input_path, "/x/crash-0a1b");
    }

    #[test]
    fn a_failure_without_a_panic_has_the_libfuzzer_error() {
        let output =
            "ALARM: 61\n==9== ERROR: libFuzzer: timeout after 61 seconds\nSUMMARY: timeout\n";
        let FuzzOutcome::Failed { message, .. } = parse_failure(output, Path::new("log")) else {
            panic!("expected a failure");
        };
        assert_eq!(message, "==9== ERROR: libFuzzer: timeout after 61 seconds");
    }

    #[test]
    fn a_failure_without_an_input_names_the_log() {
        let FuzzOutcome::Failed { message, input_path } =
            parse_failure("no start\n", Path::new("a.log"))
        else {
            panic!("expected a failure");
        };
        assert_eq!((message.as_str(), input_path.as_str()), ("no start", "none; see a.log"));
    }

    #[test]
    fn the_input_count_is_read_from_the_statistics() {
        assert_eq!(parse_input_count(OUTPUT), Some("1234"));
        assert_eq!(parse_input_count(""), None);
    }

    #[test]
    fn paths_are_relative_to_the_root() {
        let path = cargo::root().join("target/fuzz/found/x");
        assert_eq!(relative_to_root(&path.display().to_string()), "target/fuzz/found/x");
    }
}
