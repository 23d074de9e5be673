//! Rows about a Belfry that nobody has called yet.

use std::io;
use std::thread;
use std::time::Duration;

use super::Bench;
use super::belfry::Belfry;
use super::median::median;
use super::table::table;

/// A figure of a fresh Belfry, and what it should stay under.
pub(super) struct Start {
    pub name: &'static str,
    pub unit: &'static str,
    pub ceiling: f64,
    pub measure: fn(&Bench) -> io::Result<f64>,
}

/// Measures the rows and prints the table; true if all could be measured.
pub(super) fn measure_all(bench: &Bench, starts: &[&Start]) -> bool {
    let mut rows = vec![];
    for Start { name, unit, ceiling, measure } in starts {
        println!("{name} …");
        match measure(bench) {
            Ok(figure) => rows.push(vec![
                (*name).to_owned(),
                format!("{figure:.1} {unit}"),
                format!("{ceiling:.0} {unit}"),
                if figure < *ceiling { "ok" } else { "above" }.to_owned(),
            ]),
            Err(error) => println!("{name}: {error}"),
        }
    }
    println!("\n{}", table(&["", "measured", "under", ""], &rows));
    rows.len() == starts.len()
}

/// The memory of a Belfry that has been ready for two seconds.
pub(super) fn idle_memory(bench: &Bench) -> io::Result<f64> {
    let belfry = Belfry::start(&bench.belfry, &[])?;
    thread::sleep(Duration::from_secs(2));
    Ok(belfry.served.resident_memory())
}

/// From start to ready on empty data: the median of ten.
pub(super) fn time_to_ready(bench: &Bench) -> io::Result<f64> {
    let mut figures = vec![];
    for _ in 0..10 {
        figures.push(Belfry::start(&bench.belfry, &[])?.served.took.as_secs_f64() * 1000.0);
    }
    Ok(median(figures))
}
