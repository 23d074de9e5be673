//! What `cargo xtask bench` runs beside Belfry: a filler of databases, and measurements of parts
//! alone. These print `name<TAB>value<TAB>unit` lines.

mod counters;
mod evaluate;
mod evaluation;
mod fill;
mod process;
mod store;
mod world;

use std::error::Error;

use clap::Parser;
use mimalloc::MiMalloc;

/// As in Belfry.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What `cargo xtask bench` runs beside Belfry
#[derive(Debug, Parser)]
enum Part {
    /// Measure the counters in memory
    Counters,
    /// Measure an evaluation for the 10,000 accounts with rules in data/belfry.db
    Evaluate,
    /// Put accounts with a token each into data/belfry.db
    Fill(fill::Arguments),
    /// Measure durable writes of the store in this folder, and of a PostgreSQL that the
    /// environment names as for tests
    Store,
    /// Measure rule evaluation against ruma
    Evaluation(evaluation::Arguments),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match Part::parse() {
        Part::Counters => counters::measure(),
        Part::Evaluate => evaluate::measure().await,
        Part::Fill(arguments) => fill::fill(&arguments).await,
        Part::Store => store::measure().await,
        Part::Evaluation(arguments) => {
            evaluation::measure(&arguments);
            Ok(())
        }
    }
}

/// Prints a figure.
fn row(name: &str, value: impl std::fmt::Display, unit: &str) {
    println!("{name}\t{value}\t{unit}");
}
