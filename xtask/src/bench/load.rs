//! Rows that load a path of Belfry, and a bare server or another Belfry, in alternation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Bench;
use super::median::median;
use super::request::Request;
use super::setup::{Running, Setup};
use super::table::table;
use super::wrk::{self, Seen, Target};

/// How often each side is loaded.
pub(super) const ROUNDS: u32 = 9;

/// A path under load.
pub(super) struct Load {
    pub name: &'static str,
    pub connections: u16,
    /// The least part of the other's throughput that we want; 0 where it is not about that.
    pub floor: f64,
    /// What is measured.
    pub ours: Setup,
    /// What it is compared with: another Belfry, or else a bare server that answers the same.
    pub other: Option<Setup>,
    /// How long it is loaded before it counts, in seconds.
    pub warm_up: u32,
    pub begins: Begins,
}

/// What a round begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// With the processes of the round before.
    AsItWas,
    /// With new processes that have nothing in memory.
    Cold,
    /// With new processes that are warmed up, and loaded in short turns. Two processes of one program
    /// differ by some percent for as long as they live, and the machine from one second to the next,
    /// which a row that is about a few percent must not take for its own.
    Anew,
}

const HEAD: &[&str] = &[
    "path",
    "ours/s",
    "other/s",
    "ratio",
    "floor",
    "",
    "p50 ms",
    "p99 ms",
    "CPU µs",
    "other µs",
    "peak MB",
];

/// Measures the rows and prints the table; true if all could be measured.
pub(super) fn measure_all(bench: &Bench, loads: &[&Load]) -> bool {
    let mut rows = vec![];
    for load in loads {
        match load.measure(bench) {
            Ok(row) => {
                println!("    {} of {}/s: {}", row[1], row[2], row[3]);
                rows.push(row);
            }
            Err(error) => println!("{}: {error}", load.name),
        }
    }
    println!("\n{}", table(HEAD, &rows));
    rows.len() == loads.len()
}

/// One side of one round.
#[derive(Clone, Copy)]
struct Side {
    seen: Seen,
    /// Processor time for each call, which a busy machine changes less than anything else.
    cpu_us: f64,
}

impl Side {
    fn new(seen: Seen, cpu_us: f64) -> Self {
        Self { seen, cpu_us: cpu_us / seen.calls }
    }
}

/// Writes what a side is asked in this round.
fn script(side: &Running, round: u32) -> io::Result<PathBuf> {
    let script = side.folder().join("load.lua");
    fs::write(&script, side.request.script(round))?;
    Ok(script)
}

impl Load {
    fn measure(&self, bench: &Bench) -> io::Result<Vec<String>> {
        println!("{} …", self.name);
        let mut ours = self.ours.start(bench)?;
        let mut other = match &self.other {
            Some(other) => other.start(bench)?,
            None => ours.bare(&bench.bare)?,
        };
        let (mut our_rounds, mut other_rounds) = (vec![], vec![]);
        for round in 0..=ROUNDS {
            if self.begins != Begins::AsItWas {
                ours.start_again()?;
                other.start_again()?;
            }
            if self.begins == Begins::Anew && round > 0 {
                self.load(&ours, 0, self.warm_up)?;
                self.load(&other, 0, self.warm_up)?;
            }
            let seconds = if round == 0 { self.warm_up } else { bench.seconds };
            let load = |side: &Running| self.load(side, round, seconds);
            // Whoever is first changes, so that a machine that slows down is unfair to both.
            let (our, their) = match (self.begins, round % 2) {
                (Begins::Anew, 0) => self.load_in_turns(&ours, &other, round, seconds)?,
                (Begins::Anew, _) => {
                    let (their, our) = self.load_in_turns(&other, &ours, round, seconds)?;
                    (our, their)
                }
                (_, 0) => {
                    let our = load(&ours)?;
                    (our, load(&other)?)
                }
                _ => {
                    let their = load(&other)?;
                    (load(&ours)?, their)
                }
            };
            if round == 0 {
                ours.let_fare()?;
                other.let_fare()?;
            } else {
                our_rounds.push(our);
                other_rounds.push(their);
            }
        }
        Ok(self.row(&ours.request, &our_rounds, &other_rounds, ours.served().peak_memory()))
    }

    fn load(&self, side: &Running, round: u32, seconds: u32) -> io::Result<Side> {
        let script = script(side, round)?;
        let before = side.served().cpu_us();
        let seen = wrk::load(self.target(side, &script), seconds)?;
        Ok(Side::new(seen, side.served().cpu_us() - before))
    }

    fn load_in_turns(
        &self,
        one: &Running,
        other: &Running,
        round: u32,
        seconds: u32,
    ) -> io::Result<(Side, Side)> {
        let scripts = [script(one, round)?, script(other, round)?];
        let before = [one, other].map(|side| side.served().cpu_us());
        let targets = [self.target(one, &scripts[0]), self.target(other, &scripts[1])];
        let [one_saw, other_saw] = wrk::load_in_turns(targets, seconds)?;
        Ok((
            Side::new(one_saw, one.served().cpu_us() - before[0]),
            Side::new(other_saw, other.served().cpu_us() - before[1]),
        ))
    }

    fn target<'a>(&self, side: &Running, script: &'a Path) -> Target<'a> {
        Target { address: side.served().address, script, connections: self.connections }
    }

    fn row(&self, request: &Request, ours: &[Side], other: &[Side], peak: f64) -> Vec<String> {
        let middle = |sides: &[Side], figure: fn(&Side) -> f64| median(sides.iter().map(figure));
        let rate = |sides| middle(sides, |side| side.seen.per_second);
        // Of neighbours in time, which had the same machine more than all together had.
        let pairs = ours.iter().zip(other);
        let ratio = median(pairs.map(|(ours, other)| ours.seen.per_second / other.seen.per_second));
        let success_wanted = request.status.is_none_or(|status| status < 400);
        let lost = |seen: &Seen| seen.broken + if success_wanted { seen.refused } else { 0 };
        let lost: u64 = ours.iter().map(|side| lost(&side.seen)).sum();
        let verdict = match lost {
            0 if ratio >= self.floor => "ok".to_owned(),
            0 => "below".to_owned(),
            lost => format!("{lost} lost"),
        };
        vec![
            self.name.to_owned(),
            format!("{:.0}", rate(ours)),
            format!("{:.0}", rate(other)),
            format!("{ratio:.2}"),
            if self.floor > 0.0 { format!("{:.2}", self.floor) } else { String::new() },
            verdict,
            milliseconds(middle(ours, |side| side.seen.p50_ms)),
            milliseconds(middle(ours, |side| side.seen.p99_ms)),
            format!("{:.1}", middle(ours, |side| side.cpu_us)),
            format!("{:.1}", middle(other, |side| side.cpu_us)),
            format!("{peak:.1}"),
        ]
    }
}

/// Empty, where nothing was seen.
fn milliseconds(figure: f64) -> String {
    if figure.is_nan() { String::new() } else { format!("{figure:.2}") }
}

#[cfg(test)]
mod tests {
    use super::super::setup::Counters;
    use super::*;

    const ROW: Load = Load {
        name: "GET /",
        connections: 1,
        floor: 0.75,
        ours: Setup {
            serve: &[],
            settings: "",
            accounts: 0,
            rules: false,
            counters: Counters::Memory,
            prepare: |_| Ok(Request::default()),
        },
        other: None,
        warm_up: 1,
        begins: Begins::AsItWas,
    };

    fn side(per_second: f64) -> Side {
        let seen = Seen { per_second, p50_ms: 1.0, p99_ms: 2.0, ..Seen::default() };
        Side { seen, cpu_us: 9.5 }
    }

    #[test]
    fn the_ratio_is_the_median_of_neighbours_and_stands_beside_its_floor() {
        let get = Request::new("GET", "/");
        let bare = [side(100.0), side(1000.0), side(200.0)];
        let ours = [side(80.0), side(900.0), side(2.0)];
        let row = ROW.row(&get, &ours, &bare, 12.34);
        assert_eq!(
            row,
            ["GET /", "80", "200", "0.80", "0.75", "ok", "1.00", "2.00", "9.5", "9.5", "12.3"]
        );
        assert_eq!(ROW.row(&get, &[side(70.0)], &bare, 1.0)[5], "below");
    }

    #[test]
    fn refusals_are_lost_unless_the_row_is_about_them() {
        let mut ours = [side(100.0)];
        ours[0].seen.refused = 5;
        let about_refusals = Request { status: Some(429), ..Request::new("GET", "/") };
        assert_eq!(ROW.row(&Request::new("GET", "/"), &ours, &ours, 1.0)[5], "5 lost");
        assert_eq!(ROW.row(&about_refusals, &ours, &ours, 1.0)[5], "ok");
    }
}
