//! Building and running a target, and reading what libFuzzer says of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_engines::process_group::{OnDrop, ProcessGroup};

use crate::cargo;

/// What came of a search.
pub(super) enum Outcome {
    /// So many inputs were tried, and all were good.
    Nothing(String),
    /// An input was not.
    Found {
        /// The last that the target said.
        said: String,
        /// Where the input is.
        input: String,
    },
}

/// What makes rustc count for libFuzzer which code an input reaches: the flags of `cargo fuzz
/// --sanitizer none`, all of them stable. Our code has no `unsafe`, so there is nothing for a
/// sanitizer to find in it.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// Longer inputs are seldom stranger, and slower.
const LONGEST_INPUT: u32 = 4096;

/// An input that takes longer fails. It is the time on the wall, and a machine may have other things
/// to do, so only what never ends is found by it.
const LONGEST_SECONDS: u32 = 60;

/// A cargo command on the targets.
pub(super) fn cargo(arguments: &[&str]) -> Command {
    let mut command = cargo::command(arguments);
    command.args(["--package", "belfry-fuzz", "--features", "libfuzzer"]);
    // With a target named, build scripts and macros are not built with the flags.
    command.args(["--profile", "fuzz", "--target", "host-tuple", "--target-dir", FOLDER]);
    command.env("RUSTFLAGS", COVERAGE).env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// Where programs, kept inputs and found ones are, below the root: out of the way of other builds.
const FOLDER: &str = "target/fuzz";

/// Tries one input, and shows what the target says.
pub(super) fn once(target: &str, input: &str) -> io::Result<bool> {
    let input = fs::canonicalize(input)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read {input}: {error}")))?;
    let mut command = cargo(&["run", "--quiet", "--bin", target]);
    command.arg("--").arg(input).env("RUST_BACKTRACE", "1");
    cargo::succeeds(command)
}

/// Lets a target run for so many seconds, or until it fails.
pub(super) fn search(target: &str, seconds: u32) -> io::Result<Outcome> {
    let folder = cargo::root().join(FOLDER);
    let (kept, found) = (folder.join("kept").join(target), folder.join("found").join(target));
    for folder in [&kept, &found] {
        fs::create_dir_all(folder)?;
    }
    let package = cargo::root().join("fuzz");
    let mut command = cargo(&["run", "--quiet", "--bin", target]);
    // New inputs go to the first folder.
    command.arg("--").arg(&kept).arg(package.join("seeds").join(target));
    command.arg(option("dict", package.join(format!("dictionaries/{target}.dict")).display()));
    command.arg(option("artifact_prefix", found.join("").display()));
    command.arg(option("max_total_time", seconds));
    command.arg(option("timeout", LONGEST_SECONDS));
    command.arg(option("max_len", LONGEST_INPUT));
    command.arg(option("print_final_stats", 1));
    let log = folder.join(format!("{target}.log"));
    command.env("RUST_BACKTRACE", "0").stderr(File::create(&log)?);
    let succeeded = ProcessGroup::spawn(command, &OnDrop::default())?.wait()?.success();
    let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    Ok(if succeeded {
        Outcome::Nothing(tried(&said).unwrap_or("some").to_owned())
    } else {
        failure(&said, &log)
    })
}

fn option(name: &str, value: impl std::fmt::Display) -> String {
    format!("-{name}={value}")
}

/// How many inputs were tried, by the statistics at the end.
fn tried(said: &str) -> Option<&str> {
    said.lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .map(str::trim)
}

/// What a target said when it failed: its panic, or else libFuzzer's verdict, or else everything.
fn failure(said: &str, log: &Path) -> Outcome {
    let input = said.lines().find_map(|line| line.split_once("Test unit written to "));
    let input = input.map(|(_, path)| path.trim());
    let input = input.map_or_else(|| format!("none; see {}", log.display()), shortened);
    let panic = said.lines().skip_while(|line| !line.contains("panicked at"));
    let panic: Vec<&str> = panic.take_while(|line| !line.starts_with("==")).collect();
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("ERROR: libFuzzer")).collect();
    let shown = [panic, errors].into_iter().find(|lines| !lines.is_empty());
    let shown = shown.map_or_else(|| said.trim_end().to_owned(), |lines| lines.join("\n"));
    Outcome::Found { said: shown, input }
}

/// The path as one would write it at the root.
fn shortened(path: &str) -> String {
    let path = PathBuf::from(path);
    path.strip_prefix(cargo::root()).unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
INFO: Seed: 1
#2\tINITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 30Mb
#8\tNEW    cov: 11 ft: 12 corp: 2/5b
thread '<unnamed>' panicked at fuzz/src/rule.rs:7:5:
assertion failed: moon
==9== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
MS: 1 ChangeByte-; base unit: 0
artifact_prefix='/x/'; Test unit written to /x/crash-0a1b
stat::number_of_executed_units: 1234
";

    #[test]
    fn a_failure_tells_the_panic_and_where_the_input_is() {
        let Outcome::Found { said, input } = failure(SAID, Path::new("log")) else {
            panic!("it failed");
        };
        let panic = "thread '<unnamed>' panicked at fuzz/src/rule.rs:7:5:\nassertion failed: moon";
        assert_eq!(said, panic);
        assert_eq!(input, "/x/crash-0a1b");
    }

    #[test]
    fn what_fails_without_a_panic_tells_what_libfuzzer_says() {
        let said =
            "ALARM: 61\n==9== ERROR: libFuzzer: timeout after 61 seconds\nSUMMARY: timeout\n";
        let Outcome::Found { said, .. } = failure(said, Path::new("log")) else {
            panic!("it failed");
        };
        assert_eq!(said, "==9== ERROR: libFuzzer: timeout after 61 seconds");
    }

    #[test]
    fn a_target_that_left_no_input_leads_to_its_log() {
        let Outcome::Found { said, input } = failure("cannot start\n", Path::new("a.log")) else {
            panic!("it failed");
        };
        assert_eq!((said.as_str(), input.as_str()), ("cannot start", "none; see a.log"));
    }

    #[test]
    fn the_statistics_tell_how_much_was_tried() {
        assert_eq!(tried(SAID), Some("1234"));
        assert_eq!(tried(""), None);
    }

    #[test]
    fn a_path_below_the_root_is_told_without_it() {
        let path = cargo::root().join("target/fuzz/found/x");
        assert_eq!(shortened(&path.display().to_string()), "target/fuzz/found/x");
    }
}
