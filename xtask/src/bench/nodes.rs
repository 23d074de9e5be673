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
use super::line::{Line, median};
use super::request::Request;
use super::setup::{Setup, belfry_command};
use super::{Bench, wrk};

/// Cluster sizes to measure.
const NODE_COUNTS: [u16; 3] = [1, 2, 4];

/// Seconds of load before the first round, in which all accounts are requested.
const WARM_UP: u32 = 3;

/// A request to measure on clusters of each size.
pub(super) struct Nodes {
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
pub(super) struct LoadResult {
    pub per_second: f64,
    pub requests: f64,
    /// CPU times of the whole load.
    pub cpu: Cpu,
    pub operations: Operations,
    pub errors: u64,
}

/// CPU time in microseconds.
#[derive(Clone, Copy)]
pub(super) struct Cpu {
    pub belfry: f64,
    pub postgres: f64,
    pub redis: f64,
}

impl Nodes {
    /// Measures the request with each number of nodes.
    pub(super) fn measure(&self, bench: &Bench, name: &str) -> Result<Vec<Line>, Box<dyn Error>> {
        let mut lines = vec![];
        let (mut cluster, request) = Cluster::start(bench, &self.setup)?;
        for nodes in NODE_COUNTS {
            cluster.start_nodes(bench, &self.setup, nodes)?;
            cluster.load(&request, self.connections, 0, WARM_UP)?;
            let mut results = vec![];
            for round in 1..=bench.rounds {
                results.push(cluster.load(&request, self.connections, round, bench.seconds)?);
            }
            let plural = if nodes == 1 { "" } else { "s" };
            lines.extend(summarize(&format!("{name}, {nodes} node{plural}"), &results));
        }
        Ok(lines)
    }
}

impl Cluster {
    /// Starts the engines, adds the accounts, starts one node, and prepares the request.
    pub(super) fn start(bench: &Bench, setup: &Setup) -> Result<(Self, Request), Box<dyn Error>> {
        let engines = Engines::start()?;
        let dir = tempfile::tempdir()?;
        let (database, redis) = (engines.postgres.url(), engines.redis.url());
        let redis = if setup.redis { format!("redis = \"{redis}\"\n") } else { String::new() };
        let settings = format!("database = \"{database}\"\n{redis}{}", setup.settings);
        fs::write(dir.path().join("belfry.toml"), settings)?;
        let token = setup.fill(&bench.current, dir.path(), Some(&database))?;
        let mut cluster = Self { engines, nodes: vec![], dir };
        cluster.start_nodes(bench, setup, 1)?;
        let (node, dir) = (&cluster.nodes[0], cluster.dir());
        let request = setup.prepare(&bench.current, node, dir, &token)?;
        Ok((cluster, request))
    }

    /// Replaces all nodes with new ones.
    fn start_nodes(&mut self, bench: &Bench, setup: &Setup, nodes: u16) -> io::Result<()> {
        self.nodes.clear();
        for _ in 0..nodes {
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

    /// Loads all nodes at the same time. Round 0 requests all accounts in order.
    pub(super) fn load(
        &self,
        request: &Request,
        connections: u16,
        round: u32,
        seconds: u32,
    ) -> Result<LoadResult, Box<dyn Error>> {
        let nodes = u16::try_from(self.nodes.len())?;
        let scripts: Vec<_> =
            (0..nodes).map(|node| self.dir.path().join(format!("load{node}.lua"))).collect();
        for (node, script) in (0..).zip(&scripts) {
            // Different random accounts for each node; the warm-up requests accounts in order.
            let seed = if round == 0 { 0 } else { round * 100 + node };
            fs::write(script, request.script(seed))?;
        }
        // The CPU times are read directly before and after the load, because counting operations
        // uses CPU time itself.
        let (operations_before, cpu_before) = (self.operations()?, self.cpu());
        let reports = thread::scope(|scope| {
            let generators: Vec<_> = self
                .nodes
                .iter()
                .zip(&scripts)
                .map(|(node, script)| {
                    scope.spawn(move || {
                        wrk::load(node.address, script, connections / nodes, seconds)
                    })
                })
                .collect();
            generators
                .into_iter()
                .map(|generator| generator.join().expect("no panic"))
                .collect::<Vec<_>>()
        });
        let end = self.cpu();
        let cpu = Cpu {
            belfry: end.belfry - cpu_before.belfry,
            postgres: end.postgres - cpu_before.postgres,
            redis: end.redis - cpu_before.redis,
        };
        let operations = self.operations()? - operations_before;
        let reports = reports.into_iter().collect::<Result<Vec<_>, _>>()?;
        let unexpected = |report: &wrk::Report| {
            if request.expects_success() { report.unsuccessful } else { 0 }
        };
        Ok(LoadResult {
            per_second: reports.iter().map(|report| report.per_second).sum(),
            requests: reports.iter().map(|report| report.requests).sum(),
            cpu,
            operations,
            errors: reports.iter().map(|report| report.broken + unexpected(report)).sum(),
        })
    }

    fn operations(&self) -> Result<Operations, Box<dyn Error>> {
        self.engines.operations(self.nodes.iter().map(|node| node.address))
    }

    fn cpu(&self) -> Cpu {
        Cpu {
            belfry: self.nodes.iter().map(Server::cpu_us).sum(),
            postgres: self.engines.postgres.cpu_us(),
            redis: self.engines.redis.cpu_us(),
        }
    }
}

/// Returns a line for the throughput with the CPU times, and one for the operations.
fn summarize(name: &str, results: &[LoadResult]) -> [Line; 2] {
    let per_request = |figure: fn(&LoadResult) -> f64| {
        median(results.iter().map(|result| figure(result) / result.requests))
    };
    let [belfry, postgres, redis] = [
        per_request(|result| result.cpu.belfry),
        per_request(|result| result.cpu.postgres),
        per_request(|result| result.cpu.redis),
    ];
    let rate = median(results.iter().map(|result| result.per_second));
    let mut throughput = Line::figure(name, rate, "requests/s", None);
    throughput.measured =
        format!("µs CPU: Belfry {belfry:.1}, PostgreSQL {postgres:.1}, Redis {redis:.1}");
    throughput.errors = results.iter().map(|result| result.errors).sum();

    let statements = per_request(|result| result.operations.statements);
    let commands = per_request(|result| result.operations.commands);
    let mut operations = Line::figure(name, statements + commands, "operations/request", None);
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
    fn figures_are_per_request() {
        let operations = Operations {
            statements: 220.0,
            round_trips: 10.0,
            notifications: 100.0,
            scripts: 100.0,
            commands: 500.0,
        };
        let cpu = Cpu { belfry: 2500.0, postgres: 3000.0, redis: 1000.0 };
        let result = LoadResult { per_second: 50.0, requests: 100.0, cpu, operations, errors: 0 };
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
