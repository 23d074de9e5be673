//! The binary: reads the arguments and runs a command.

use std::process::ExitCode;

fn main() -> ExitCode {
    belfry::cli::run()
}
