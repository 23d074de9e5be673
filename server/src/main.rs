//! The `belfry` binary.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests make many small, short-lived allocations, for which this allocator is fast.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    belfry::cli::run()
}
