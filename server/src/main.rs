//! The `belfry` binary.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A fast allocator for the many small, short-lived allocations of requests.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    belfry::cli::run()
}
