//! The binary: reads the arguments and runs a command.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A call needs many small pieces of memory for a short time, and this allocator is made for that.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    belfry::cli::run()
}
