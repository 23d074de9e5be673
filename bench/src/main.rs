//! Measurements of single parts of Belfry, and test data, for `cargo xtask bench`.
//!
//! A measurement prints lines of `name<TAB>value<TAB>unit`. A unit such as `times (100 or more)` or
//! `ms (5 or less)` contains a target.

mod backup;
mod fill;
mod push;
mod rule_evaluation;
mod test_data;

use std::error::Error;

use clap::Parser;
use mimalloc::MiMalloc;

/// Belfry's allocator, so that measurements are comparable.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measurements of single parts of Belfry, and test data
#[derive(Debug, Parser)]
enum Subcommand {
    /// Measure backup and restore with the `belfry` binary next to this one, SQLite in this
    /// directory and the PostgreSQL server in the variable `BELFRY_TEST_POSTGRES`
    Backup(backup::Arguments),
    /// Add accounts with an access token each to data/belfry.db
    Fill(fill::Arguments),
    /// Give the accounts in data/belfry.db ten pushers each
    Pushers(push::PusherArguments),
    /// Queue one event for every pusher of the accounts, and print the number of deliveries
    Queue(push::QueueArguments),
    /// Measure rule evaluation against ruma
    RuleEvaluation(rule_evaluation::Arguments),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match Subcommand::parse() {
        Subcommand::Backup(arguments) => backup::measure(&arguments).await,
        Subcommand::Fill(arguments) => fill::fill(&arguments).await,
        Subcommand::Pushers(arguments) => push::add_pushers(&arguments).await,
        Subcommand::Queue(arguments) => push::add_event(&arguments).await,
        Subcommand::RuleEvaluation(arguments) => {
            rule_evaluation::measure(&arguments);
            Ok(())
        }
    }
}

/// Prints a figure as one line of the output.
fn print_row(name: &str, value: impl std::fmt::Display, unit: &str) {
    println!("{name}\t{value}\t{unit}");
}
