//! `cargo xtask fuzz`: fuzzing of belfry-core with libFuzzer, on stable Rust.

use std::error::Error;

use clap::{Args, value_parser};

use crate::libfuzzer::{self, FuzzOutcome};
use crate::{cargo, packages};

/// Search for inputs that violate an invariant
///
/// The targets are functions of the package `fuzz`. libFuzzer mutates inputs and keeps those that
/// reach new code. It begins with the seeds and dictionaries in `fuzz/` and the inputs that earlier
/// runs kept in `target/fuzz`. It needs a C++ compiler, but not nightly Rust.
///
/// A failing input is stored, and its path is printed with the command that runs it again. When the
/// bug is fixed, add the input to `fuzz/seeds`: `cargo xtask test` runs all seeds.
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

/// Runs the targets; returns whether no failing input was found.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    packages::ensure_installed(packages::FOR_FUZZ, !options.no_install)?;
    if !cargo::succeeds(libfuzzer::cargo_command(&["build", "--bins"]))? {
        return Err("the build failed".into());
    }
    let filter = options.target.as_deref();
    if let (Some(target), Some(input)) = (filter, &options.input) {
        return Ok(libfuzzer::run_once(target, input)?);
    }
    let mut all_passed = true;
    for target in TARGETS.into_iter().filter(|target| filter.is_none_or(|name| name == *target)) {
        println!("{target} for {} s …", options.seconds);
        match libfuzzer::search(target, options.seconds)? {
            FuzzOutcome::Passed { input_count } => {
                println!("{target}: {input_count} inputs, no failure");
            }
            FuzzOutcome::Failed { message, input_path } => {
                all_passed = false;
                println!("{target}: FAILED\n{message}");
                println!("input:      {input_path}");
                println!("run again:  cargo xtask fuzz {target} {input_path}");
            }
        }
    }
    Ok(all_passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_a_binary_a_dictionary_and_seeds() {
        let package = cargo::root().join("fuzz");
        for target in TARGETS {
            assert!(package.join(format!("src/bin/{target}.rs")).is_file(), "{target}");
            assert!(package.join(format!("dictionaries/{target}.dict")).is_file(), "{target}");
            assert!(package.join("seeds").join(target).is_dir(), "{target}");
        }
    }
}
