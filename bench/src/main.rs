//! Measurements of single parts of Belfry, and test data, for `cargo xtask bench`.
//!
//! A measurement prints lines of `name<TAB>value<TAB>unit`. A unit such as `times (100 or more)` or
//! `ms (5 or less)` contains a target.

mod backup;
mod counters;
mod evaluation_request;
mod fill;
mod fill_account;
mod process;
mod push;
mod rule_evaluation;
mod store;
mod test_data;
mod uncached_reads;

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
    /// Measure the rate-limit counters in memory
    Counters,
    /// Add 10,000 accounts with rules to data/belfry.db and measure an evaluation for them
    EvaluationRequest,
    /// Add accounts with an access token each to data/belfry.db or to PostgreSQL
    Fill(fill::Arguments),
    /// Give an account as many grants, tokens and sessions as it may have
    FillAccount(fill_account::Arguments),
    /// Give the accounts in data/belfry.db ten pushers each
    Pushers(push::PusherArguments),
    /// Queue one event for every pusher of the accounts, and print the number of deliveries
    Queue(push::QueueArguments),
    /// Measure rule evaluation against ruma
    RuleEvaluation(rule_evaluation::Arguments),
    /// Measure durable writes on SQLite in this directory, and on the PostgreSQL server in
    /// the variable `BELFRY_TEST_POSTGRES`
    Store,
    /// Measure uncached reads on the PostgreSQL server in the variable `BELFRY_TEST_POSTGRES`
    UncachedReads,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match Subcommand::parse() {
        Subcommand::Backup(arguments) => backup::measure(&arguments).await,
        Subcommand::Counters => counters::measure(),
        Subcommand::EvaluationRequest => evaluation_request::measure().await,
        Subcommand::Fill(arguments) => fill::fill(&arguments).await,
        Subcommand::FillAccount(arguments) => fill_account::fill_account(&arguments).await,
        Subcommand::Pushers(arguments) => push::add_pushers(&arguments).await,
        Subcommand::Queue(arguments) => push::add_event(&arguments).await,
        Subcommand::RuleEvaluation(arguments) => {
            rule_evaluation::measure(&arguments);
            Ok(())
        }
        Subcommand::Store => store::measure().await,
        Subcommand::UncachedReads => uncached_reads::measure().await,
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
