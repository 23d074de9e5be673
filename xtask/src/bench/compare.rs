//! Throughput of two servers that are loaded in alternation.

use std::fs;
use std::io;

use super::Bench;
use super::line::{Line, Target, median};
use super::setup::{Instance, Setup};
use super::wrk;

/// Number of rounds after which new processes are started, so that the median covers several of
/// them: two processes of the same binary differ in throughput by a few percent for as long as they
/// run.
const ROUNDS_PER_PROCESS: u32 = 3;

/// A request whose throughput is compared with that of a reference.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub setup: Setup,
    pub reference: Reference,
    pub connections: u16,
    /// The seconds of load before the first round of a process.
    pub warm_up: u32,
    /// True if the processes are replaced after some rounds; false where the warm-up takes long.
    pub restart: bool,
}

/// The server that Belfry is compared with.
#[derive(Clone, Copy)]
pub(super) enum Reference {
    /// A bare axum server that returns the same response.
    Bare,
    /// Belfry with a different setup.
    Belfry(Setup),
}

/// The result of one load.
struct Load {
    per_second: f64,
    /// CPU time of the server for each request; hardly affected by other work on the machine.
    cpu_us: f64,
    errors: u64,
}

impl Comparison {
    /// Loads both servers and returns the median ratio of their throughput.
    pub(super) fn measure(
        &self,
        bench: &Bench,
        name: &str,
        target: Option<Target>,
    ) -> io::Result<Line> {
        let mut ours = self.setup.start(&bench.current)?;
        let mut reference = match (&bench.other, &self.reference) {
            (Some(other), _) => self.setup.start(other)?,
            (None, Reference::Belfry(setup)) => setup.start(&bench.current)?,
            (None, Reference::Bare) => ours.bare_copy(&bench.bare)?,
        };
        let (mut our_loads, mut reference_loads) = (vec![], vec![]);
        for round in 1..=bench.rounds {
            if round == 1 || (self.restart && (round - 1) % ROUNDS_PER_PROCESS == 0) {
                for instance in [&mut ours, &mut reference] {
                    if round > 1 {
                        instance.restart()?;
                    }
                    self.load(instance, 0, self.warm_up)?;
                }
            }
            // The order changes in each round, so that a drift of the machine affects both sides.
            if round % 2 == 0 {
                our_loads.push(self.load(&ours, round, bench.seconds)?);
                reference_loads.push(self.load(&reference, round, bench.seconds)?);
            } else {
                reference_loads.push(self.load(&reference, round, bench.seconds)?);
                our_loads.push(self.load(&ours, round, bench.seconds)?);
            }
        }
        // A comparison with another build has no target.
        let target = target.filter(|_| bench.other.is_none());
        Ok(line(name, target, &our_loads, &reference_loads))
    }

    fn load(&self, instance: &Instance, round: u32, seconds: u32) -> io::Result<Load> {
        let script = instance.dir().join("load.lua");
        fs::write(&script, instance.request.script(round))?;
        let server = instance.server()?;
        let cpu_before = server.cpu_us();
        let report = wrk::load(server.address, &script, self.connections, seconds)?;
        let unexpected = if instance.request.expects_success() { report.unsuccessful } else { 0 };
        Ok(Load {
            per_second: report.per_second,
            cpu_us: (server.cpu_us() - cpu_before) / report.requests,
            errors: report.broken + unexpected,
        })
    }
}

fn line(name: &str, target: Option<Target>, ours: &[Load], reference: &[Load]) -> Line {
    let rate = |loads: &[Load]| median(loads.iter().map(|load| load.per_second));
    let cpu = |loads: &[Load]| median(loads.iter().map(|load| load.cpu_us));
    let text = |loads: &[Load]| format!("{:.0}/s, {:.1} µs CPU", rate(loads), cpu(loads));
    let ratio = |figure: fn(&Load) -> f64| {
        median(ours.iter().zip(reference).map(|(ours, other)| figure(ours) / figure(other)))
    };
    Line {
        name: name.to_owned(),
        measured: text(ours),
        reference: text(reference),
        value: ratio(|load| load.per_second),
        unit: String::new(),
        cpu_ratio: ratio(|load| load.cpu_us),
        target,
        errors: ours.iter().map(|load| load.errors).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(per_second: f64, errors: u64) -> Load {
        Load { per_second, cpu_us: 9.5, errors }
    }

    #[test]
    fn the_ratio_is_the_median_over_all_rounds() {
        let bare = [load(100.0, 0), load(1000.0, 0), load(200.0, 0)];
        let ours = [load(80.0, 0), load(900.0, 0), load(2.0, 0)];
        let row = line("GET /", Some(Target::AtLeast(0.75)), &ours, &bare);
        let cells = [
            "GET /",
            "80/s, 9.5 µs CPU",
            "200/s, 9.5 µs CPU",
            "0.80",
            "1.00",
            "at least 0.75",
            "ok",
        ];
        assert_eq!(row.cells(), cells);
        let row = line("GET /", Some(Target::AtLeast(0.75)), &[load(70.0, 0)], &bare);
        assert!(!row.passed());
    }

    #[test]
    fn a_row_with_errors_fails() {
        let loads = [load(100.0, 5)];
        let row = line("GET /", None, &loads, &loads);
        assert_eq!(row.cells().last().unwrap(), "5 errors");
        assert!(!row.passed());
    }
}
