//! The habits of this project, one verb each: `cargo xtask test`, `bench`, `fuzz`.

mod bench;
mod cargo;
mod fuzz;
mod packages;
mod seconds;
mod test;

use std::env;
use std::process::ExitCode;

const HELP: &str = "\
The habits of this project, one verb each.

Usage: cargo xtask VERB [ARGUMENTS]

Verbs:
  test    Check everything as CI does, with private engines; `.ci/run` calls this
  bench   Measure what Belfry costs, beside a bare server that answers the same bytes
  fuzz    Look for inputs that break a promise, for a while
  help    Say this

`cargo xtask VERB --help` says more about a verb.
";

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let verb = arguments.next();
    let arguments: Vec<String> = arguments.collect();
    let done = match verb.as_deref() {
        None | Some("help" | "-h" | "--help") => {
            print!("{HELP}");
            Ok(true)
        }
        Some("test") => test::run(&arguments),
        Some("bench") => bench::run(&arguments),
        Some("fuzz") => fuzz::run(&arguments),
        Some(other) => {
            Err(format!("there is no verb {other:?}; `cargo xtask help` lists them").into())
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}
