//! `cargo xtask fuzz`: inputs that nobody would send, for a while, on a machine with stable Rust.

mod options;
mod run;

use std::error::Error;

use self::run::Outcome;
use crate::{cargo, packages};

const HELP: &str = "\
Look for inputs that break a promise: no bytes, however strange, make an evaluation panic.

Usage: cargo xtask fuzz [OPTIONS] [TARGET [INPUT]]

  TARGET          Only this one: evaluation, rule, pattern or oauth
  INPUT           Try this file once instead, such as one that was found before

Options:
  --seconds N     How long each target runs [default: 60]
  --no-install    Only say what is missing, even if it could be installed
  -h, --help      Say this

Targets:
  evaluation      Rules, an event and a room: one user alone, the explanation and the rule
                  index come to the same result
  rule            A path and a body: what was read is read again as it is shown and stored
  pattern         A glob and a text: it matches as its definition says
  oauth           Forms, headers and addresses: an answer goes only where the app registered

The targets are functions of the package `fuzz`, run by libFuzzer, which changes inputs and keeps
those that reach new code. It begins with the seeds and dictionaries in `fuzz/` and with what
earlier runs kept in `target/fuzz`. It needs a C++ compiler and no nightly Rust. An input that
fails is kept, its path is printed with the command that tries it again, and the exit code is 1.
Put it into `fuzz/seeds` when it is mended: `cargo xtask test` tries the seeds.

Examples:
  cargo xtask fuzz
  cargo xtask fuzz evaluation --seconds 600
  cargo xtask fuzz evaluation target/fuzz/found/evaluation/crash-0a1b2c
";

/// What can be run: the programs of the package `fuzz`.
const TARGETS: [&str; 4] = ["evaluation", "rule", "pattern", "oauth"];

/// Runs the targets; true if nothing was found.
pub(crate) fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let options = options::parse(arguments)?;
    if options.help {
        print!("{HELP}");
        return Ok(true);
    }
    packages::ensure(packages::FOR_FUZZ, options.install)?;
    if !cargo::succeeds(run::cargo(&["build", "--bins"]))? {
        return Err("the targets do not compile".into());
    }
    if let (Some(target), Some(input)) = (options.target, &options.input) {
        return Ok(run::once(target, input)?);
    }
    let mut found_nothing = true;
    for target in TARGETS.into_iter().filter(|name| options.target.is_none_or(|one| one == *name)) {
        println!("{target} for {} s …", options.seconds);
        match run::search(target, options.seconds)? {
            Outcome::Nothing(tried) => println!("{target}: nothing found in {tried} inputs"),
            Outcome::Found { said, input } => {
                found_nothing = false;
                println!("{target}: FAILED\n{said}");
                println!("the input:  {input}");
                println!("try again:  cargo xtask fuzz {target} {input}");
            }
        }
    }
    Ok(found_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_a_program_a_dictionary_seeds_and_a_line_of_help() {
        let package = cargo::root().join("fuzz");
        for target in TARGETS {
            assert!(package.join(format!("src/bin/{target}.rs")).is_file(), "{target}");
            assert!(package.join(format!("dictionaries/{target}.dict")).is_file(), "{target}");
            assert!(package.join("seeds").join(target).is_dir(), "{target}");
            assert!(HELP.contains(&format!("\n  {target:<16}")), "{target}");
        }
    }
}
