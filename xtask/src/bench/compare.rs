//! Throughput of two servers that are loaded in alternation.

use std::fs;
use std::io;

use super::Bench;
use super::line::{ReportLine, Target, median};
use super::setup::{Instance, Setup};
use super::wrk;

/// Number of rounds after which new processes are started, so that the median covers several of
/// them: two processes of the same binary differ in throughput by a few percent for as long as they
/// run.
const ROUNDS_PER_PROCESS: u32 = 3;

/// A throughput comparison of Belfry with a reference server.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub setup: Setup,
    pub reference: Reference,
    pub connections: u16,
    /// Load before the first round of a process.
    pub warm_up_seconds: u32,
    /// True if the processes are replaced after some rounds; false where the warm-up takes long.
    pub restarts_processes: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Reference {
    /// A bare axum server that returns the same response.
    Bare,
    Belfry(Setup),
}

struct LoadResult {
    per_second: f64,
    /// CPU time of the server for each request; hardly affected by other work on the machine.
    cpu_us_per_request: f64,
    errors: u64,
}

impl Comparison {
    /// Loads both servers and reports the median ratio of their throughput.
    pub(super) fn measure(
        &self,
        bench: &Bench,
        name: &str,
        target: Option<Target>,
    ) -> io::Result<ReportLine> {
        let mut ours = self.setup.start(&bench.current)?;
        let mut reference = match (&bench.other, &self.reference) {
            (Some(other), _) => self.setup.start(other)?,
            (None, Reference::Belfry(setup)) => setup.start(&bench.current)?,
            (None, Reference::Bare) => ours.start_reference(&bench.bare)?,
        };
        let mut our_results = vec![];
        let mut reference_results = vec![];
        for round in 1..=bench.rounds {
            if round == 1 || (self.restarts_processes && (round - 1) % ROUNDS_PER_PROCESS == 0) {
                for instance in [&mut ours, &mut reference] {
                    if round > 1 {
                        instance.restart()?;
                    }
                    self.run_load(instance, 0, self.warm_up_seconds)?;
                }
            }
            // The order changes in each round, so that a drift of the machine affects both sides.
            if round % 2 == 0 {
                our_results.push(self.run_load(&ours, round, bench.seconds)?);
                reference_results.push(self.run_load(&reference, round, bench.seconds)?);
            } else {
                reference_results.push(self.run_load(&reference, round, bench.seconds)?);
                our_results.push(self.run_load(&ours, round, bench.seconds)?);
            }
        }
        // A comparison with another build has no target.
        let target = target.filter(|_| bench.other.is_none());
        Ok(report_line(name, target, &our_results, &reference_results))
    }

    fn run_load(&self, instance: &Instance, round: u32, seconds: u32) -> io::Result<LoadResult> {
        let script = instance.dir().join("load.lua");
        fs::write(&script, instance.request.wrk_script(round))?;
        let server = instance.server()?;
        let cpu_before_us = server.cpu_time_us();
        let report = wrk::run_load(server.address, &script, self.connections, seconds)?;
        let unexpected_responses =
            if instance.request.expects_success() { report.error_responses } else { 0 };
        Ok(LoadResult {
            per_second: report.per_second,
            cpu_us_per_request: (server.cpu_time_us() - cpu_before_us) / report.requests,
            errors: report.unanswered_requests + unexpected_responses,
        })
    }
}

fn report_line(
    name: &str,
    target: Option<Target>,
    ours: &[LoadResult],
    reference: &[LoadResult],
) -> ReportLine {
    let rate = |results: &[LoadResult]| median(results.iter().map(|result| result.per_second));
    let cpu =
        |results: &[LoadResult]| median(results.iter().map(|result| result.cpu_us_per_request));
    let describe =
        |results: &[LoadResult]| format!("{:.0}/s, {:.1} µs CPU", rate(results), cpu(results));
    let ratio = |metric: fn(&LoadResult) -> f64| {
        median(ours.iter().zip(reference).map(|(ours, other)| metric(ours) / metric(other)))
    };
    ReportLine {
        name: name.to_owned(),
        measured: describe(ours),
        reference: describe(reference),
        value: ratio(|result| result.per_second),
        unit: String::new(),
        cpu_ratio: ratio(|result| result.cpu_us_per_request),
        target,
        errors: ours.iter().map(|result| result.errors).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(per_second: f64, errors: u64) -> LoadResult {
        LoadResult { per_second, cpu_us_per_request: 9.5, errors }
    }

    #[test]
    fn the_ratio_is_the_median_over_all_rounds() {
        let bare = [result(100.0, 0), result(1000.0, 0), result(200.0, 0)];
        let ours = [result(80.0, 0), result(900.0, 0), result(2.0, 0)];
        let line = report_line("GET /", Some(Target::AtLeast(0.75)), &ours, &bare);
        let cells = [
            "GET /",
            "80/s, 9.5 µs CPU",
            "200/s, 9.5 µs CPU",
            "0.80",
            "1.00",
            "at least 0.75",
            "ok",
        ];
        assert_eq!(line.cells(), cells);
        for failed in [result(70.0, 0), result(90.0, 5)] {
            let line = report_line("GET /", Some(Target::AtLeast(0.75)), &[failed], &bare);
            assert!(!line.has_passed());
        }
    }
}
