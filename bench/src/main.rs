//! Measurements of single parts of Belfry, and test data, for `cargo xtask bench`.
//!
//! A measurement prints lines of `name<TAB>value<TAB>unit`. A unit such as `times (100 or more)` or
//! `ms (5 or less)` contains a target.

mod backup;
mod cold;
mod counters;
mod evaluate;
mod evaluation;
mod fill;
mod hoard;
mod process;
mod push;
mod store;
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
    /// Measure uncached reads on the PostgreSQL server in the variable `BELFRY_TEST_POSTGRES`
    Cold,
    /// Measure the rate-limit counters in memory
    Counters,
    /// Add 10,000 accounts with rules to data/belfry.db and measure an evaluation for them
    Evaluate,
    /// Add accounts with an access token each to data/belfry.db or to PostgreSQL
    Fill(fill::Arguments),
    /// Give an account as many grants, tokens and sessions as it may have
    Hoard(hoard::Arguments),
    /// Give the accounts in data/belfry.db ten pushers each
    Pushers(push::PusherArguments),
    /// Store an event for all pushers of the accounts in the queue, and print their number
    Queue(push::QueueArguments),
    /// Measure durable writes on SQLite in this directory, and on the PostgreSQL server in
    /// the variable `BELFRY_TEST_POSTGRES`
    Store,
    /// Measure rule evaluation against ruma
    Evaluation(evaluation::Arguments),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match Subcommand::parse() {
        Subcommand::Backup(arguments) => backup::measure(&arguments).await,
        Subcommand::Cold => cold::measure().await,
        Subcommand::Counters => counters::measure(),
        Subcommand::Evaluate => evaluate::measure().await,
        Subcommand::Fill(arguments) => fill::fill(&arguments).await,
        Subcommand::Hoard(arguments) => hoard::fill_account(&arguments).await,
        Subcommand::Pushers(arguments) => push::add_pushers(&arguments).await,
        Subcommand::Queue(arguments) => push::add_event(&arguments).await,
        Subcommand::Store => store::measure().await,
        Subcommand::Evaluation(arguments) => {
            evaluation::measure(&arguments);
            Ok(())
        }
    }
}

/// Prints a figure as one line of the output.
fn print_row(name: &str, value: impl std::fmt::Display, unit: &str) {
    println!("{name}\t{value}\t{unit}");
}

/// Returns the median; for an even number of figures, the greater of the two middle ones.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
