//! Requests to one, two and four nodes with one PostgreSQL and one Redis: throughput, CPU time of
//! each process, and engine operations per request.
//!
//! All processes share the machine with the load generator, so the throughput shows the total cost
//! of a request, not how well several machines scale: for that, use the CPU times.

use std::error::Error;
use std::path::Path;
use std::{fs, io, thread};

use tempfile::TempDir;
use test_engines::Server;

use super::engines::{Engines, Operations};
use super::line::{ReportLine, median};
use super::request::Request;
use super::setup::{Setup, belfry_command};
use super::{Bench, wrk};

/// Cluster sizes to measure.
const NODE_COUNTS: [u16; 3] = [1, 2, 4];

/// The duration of the warm-up before the first round, long enough to request all accounts.
const WARM_UP_SECONDS: u32 = 3;

/// A request to measure on clusters of each size.
pub(super) struct ClusterBenchmark {
    /// The configuration, accounts and request.
    pub setup: Setup,
    /// The total number of connections to all nodes.
    pub connections: u16,
}

/// Nodes with the same configuration and data.
pub(super) struct Cluster {
    pub engines: Engines,
    pub nodes: Vec<Server>,
    dir: TempDir,
}

/// The result of one load.
pub(super) struct ClusterLoadResult {
    pub per_second: f64,
    pub requests: f64,
    /// CPU times of the whole load.
    pub cpu_times: CpuTimes,
    pub operations: Operations,
    pub errors: u64,
}

/// CPU times of the processes, in microseconds.
#[derive(Clone, Copy)]
pub(super) struct CpuTimes {
    pub belfry: f64,
    pub postgres: f64,
    pub redis: f64,
}

impl ClusterBenchmark {
    /// Measures the request with each number of nodes.
    pub(super) fn measure(
        &self,
        bench: &Bench,
        name: &str,
    ) -> Result<Vec<ReportLine>, Box<dyn Error>> {
        let mut lines = vec![];
        let (mut cluster, request) = Cluster::start(bench, &self.setup)?;
        for node_count in NODE_COUNTS {
            cluster.replace_nodes(bench, &self.setup, node_count)?;
            cluster.run_load(&request, self.connections, 0, WARM_UP_SECONDS)?;
            let mut results = vec![];
            for round in 1..=bench.rounds {
                results.push(cluster.run_load(&request, self.connections, round, bench.seconds)?);
            }
            let plural = if node_count == 1 { "" } else { "s" };
            lines.extend(summarize(&format!("{name}, {node_count} node{plural}"), &results));
        }
        Ok(lines)
    }
}

impl Cluster {
    /// Starts the engines, adds the accounts, starts one node, and prepares the request.
    pub(super) fn start(bench: &Bench, setup: &Setup) -> Result<(Self, Request), Box<dyn Error>> {
        let engines = Engines::start()?;
        let dir = tempfile::tempdir()?;
        let database = engines.postgres.url();
        let redis = engines.redis.url();
        let redis_setting =
            if setup.uses_redis { format!("redis = \"{redis}\"\n") } else { String::new() };
        let settings = format!("database = \"{database}\"\n{redis_setting}{}", setup.settings);
        fs::write(dir.path().join("belfry.toml"), settings)?;
        let token_template = setup.add_accounts(&bench.current, dir.path(), Some(&database))?;
        let mut cluster = Self { engines, nodes: vec![], dir };
        cluster.replace_nodes(bench, setup, 1)?;
        let node = &cluster.nodes[0];
        let dir = cluster.dir();
        let request = setup.prepare_request(&bench.current, node, dir, &token_template)?;
        Ok((cluster, request))
    }

    /// Replaces all nodes with new ones.
    fn replace_nodes(&mut self, bench: &Bench, setup: &Setup, node_count: u16) -> io::Result<()> {
        self.nodes.clear();
        for _ in 0..node_count {
            let arguments = ["serve", "--listen", "127.0.0.1:0"];
            let mut command = belfry_command(&bench.current.belfry, self.dir(), &arguments);
            command.args(setup.arguments);
            self.nodes.push(Server::start(command, self.dir())?);
        }
        Ok(())
    }

    /// Returns the directory for the nodes' files.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Loads all nodes concurrently. Round 0 requests all accounts in order.
    pub(super) fn run_load(
        &self,
        request: &Request,
        connections: u16,
        round: u32,
        seconds: u32,
    ) -> Result<ClusterLoadResult, Box<dyn Error>> {
        let node_count = u16::try_from(self.nodes.len())?;
        let scripts: Vec<_> =
            (0..node_count).map(|node| self.dir.path().join(format!("load{node}.lua"))).collect();
        for (node, script) in (0..).zip(&scripts) {
            // Different random accounts for each node; the warm-up requests accounts in order.
            let seed = if round == 0 { 0 } else { round * 100 + node };
            fs::write(script, request.wrk_script(seed))?;
        }
        // The CPU times are read directly before and after the load, because counting operations
        // uses CPU time itself.
        let operations_before = self.operations()?;
        let cpu_before = self.cpu_times();
        let reports = thread::scope(|scope| {
            let generators: Vec<_> = self
                .nodes
                .iter()
                .zip(&scripts)
                .map(|(node, script)| {
                    scope.spawn(move || {
                        wrk::run_load(node.address, script, connections / node_count, seconds)
                    })
                })
                .collect();
            generators
                .into_iter()
                .map(|generator| generator.join().expect("no panic"))
                .collect::<Vec<_>>()
        });
        let cpu_after = self.cpu_times();
        let cpu_times = CpuTimes {
            belfry: cpu_after.belfry - cpu_before.belfry,
            postgres: cpu_after.postgres - cpu_before.postgres,
            redis: cpu_after.redis - cpu_before.redis,
        };
        let operations = self.operations()? - operations_before;
        let reports = reports.into_iter().collect::<Result<Vec<_>, _>>()?;
        let unexpected_responses = |report: &wrk::Report| {
            if request.expects_success() { report.error_responses } else { 0 }
        };
        Ok(ClusterLoadResult {
            per_second: reports.iter().map(|report| report.per_second).sum(),
            requests: reports.iter().map(|report| report.requests).sum(),
            cpu_times,
            operations,
            errors: reports
                .iter()
                .map(|report| report.unanswered_requests + unexpected_responses(report))
                .sum(),
        })
    }

    fn operations(&self) -> Result<Operations, Box<dyn Error>> {
        self.engines.operations(self.nodes.iter().map(|node| node.address))
    }

    fn cpu_times(&self) -> CpuTimes {
        CpuTimes {
            belfry: self.nodes.iter().map(Server::cpu_time_us).sum(),
            postgres: self.engines.postgres.cpu_time_us(),
            redis: self.engines.redis.cpu_time_us(),
        }
    }
}

/// Returns a line for the throughput with the CPU times, and one for the operations.
fn summarize(name: &str, results: &[ClusterLoadResult]) -> [ReportLine; 2] {
    let per_request = |metric: fn(&ClusterLoadResult) -> f64| {
        median(results.iter().map(|result| metric(result) / result.requests))
    };
    let [belfry_us, postgres_us, redis_us] = [
        per_request(|result| result.cpu_times.belfry),
        per_request(|result| result.cpu_times.postgres),
        per_request(|result| result.cpu_times.redis),
    ];
    let rate = median(results.iter().map(|result| result.per_second));
    let mut throughput = ReportLine::metric(name, rate, "requests/s", None);
    throughput.measured =
        format!("µs CPU: Belfry {belfry_us:.1}, PostgreSQL {postgres_us:.1}, Redis {redis_us:.1}");
    throughput.errors = results.iter().map(|result| result.errors).sum();

    let statements = per_request(|result| result.operations.statements);
    let commands = per_request(|result| result.operations.commands);
    let mut operations =
        ReportLine::metric(name, statements + commands, "operations/request", None);
    operations.measured = format!(
        "PostgreSQL: {statements:.2} statements, {:.2} round trips, {:.2} notifications; \
         Redis: {:.2} scripts, {commands:.2} commands",
        per_request(|result| result.operations.round_trips),
        per_request(|result| result.operations.notifications),
        per_request(|result| result.operations.scripts),
    );
    [throughput, operations]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_and_operations_are_per_request() {
        let operations = Operations {
            statements: 220.0,
            round_trips: 10.0,
            notifications: 100.0,
            scripts: 100.0,
            commands: 500.0,
        };
        let cpu_times = CpuTimes { belfry: 2500.0, postgres: 3000.0, redis: 1000.0 };
        let result = ClusterLoadResult {
            per_second: 50.0,
            requests: 100.0,
            cpu_times,
            operations,
            errors: 0,
        };
        let [throughput, operations] = summarize("PUT rule, 2 nodes", &[result]);
        assert_eq!(
            throughput.summary(),
            "PUT rule, 2 nodes; µs CPU: Belfry 25.0, PostgreSQL 30.0, Redis 10.0; 50.0 requests/s"
        );
        assert_eq!(
            operations.measured,
            "PostgreSQL: 2.20 statements, 0.10 round trips, 1.00 notifications; \
             Redis: 1.00 scripts, 5.00 commands"
        );
    }
}
