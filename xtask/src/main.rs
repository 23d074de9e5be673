//! Development tasks, run as `cargo xtask TASK`.

mod bench;
mod cargo;
mod checks;
mod dist;
mod fuzz;
mod packages;
mod python;
mod schemathesis;
mod schemathesis_server;
mod table;
mod test;
mod torture;

use std::process::ExitCode;

use clap::Parser;

/// Development tasks
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Test(test::Options),
    Check(checks::Options),
    Bench(bench::Options),
    Dist(dist::Options),
    Fuzz(fuzz::Options),
    Torture(torture::Options),
    Schemathesis(schemathesis::Options),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Test(options) => test::run(&options),
        Task::Check(options) => checks::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Dist(options) => dist::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Torture(options) => torture::run(&options),
        Task::Schemathesis(options) => schemathesis::run(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Task::command().debug_assert();
    }
}
