//! The PostgreSQL and Redis servers of a row, and the operations that they execute.

use std::error::Error;
use std::iter::Sum;
use std::net::SocketAddr;
use std::ops::{Add, Sub};

use test_engines::{Postgres, Redis};

/// A PostgreSQL server that counts statements, and a Redis server.
pub(super) struct Engines {
    pub postgres: Postgres,
    pub redis: Redis,
}

/// Numbers of operations, either since the engines were started or during a load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Operations {
    /// Statements in PostgreSQL, without those that begin and end transactions.
    pub statements: f64,
    /// Reads and transactions: the statements of each are sent together in one round trip.
    pub round_trips: f64,
    pub notifications: f64,
    /// Requests to Redis. Each runs a script.
    pub scripts: f64,
    /// Commands in Redis, including those that scripts run.
    pub commands: f64,
}

impl Engines {
    /// Starts both, with a durable PostgreSQL.
    pub(super) fn start() -> Result<Self, Box<dyn Error>> {
        let postgres =
            Postgres::start_durable_with(&["shared_preload_libraries=pg_stat_statements"])?;
        postgres.execute("create extension pg_stat_statements")?;
        Ok(Self { postgres, redis: Redis::start()? })
    }

    /// Returns the operations so far. Those that the engines do not count are read from the nodes'
    /// metrics.
    pub(super) fn operations(
        &self,
        nodes: impl Iterator<Item = SocketAddr>,
    ) -> Result<Operations, Box<dyn Error>> {
        let statements = self.postgres.execute(
            "select sum(calls) from pg_stat_statements where query !~* \
             '^(begin|commit|rollback|set |create extension)' and query !~ 'pg_stat_statements'",
        )?;
        let commands = parse_command_count(&self.redis.info("commandstats")?);
        let statements = statements.parse().unwrap_or(0.0);
        let engines = Operations { statements, commands, ..Operations::default() };
        let nodes = nodes.map(|node| Ok(parse_node_operations(&scrape_metrics(node)?)));
        Ok(engines + nodes.sum::<Result<Operations, Box<dyn Error>>>()?)
    }
}

/// Requests the metrics of a node, in the text format of Prometheus.
pub(super) fn scrape_metrics(node: SocketAddr) -> Result<String, Box<dyn Error>> {
    Ok(minreq::get(format!("http://{node}/metrics")).with_timeout(10).send()?.as_str()?.to_owned())
}

/// Reads the operations from a node's metrics.
fn parse_node_operations(metrics: &str) -> Operations {
    let sum_series = |name: &str, label: &str| -> f64 {
        let series = metrics
            .lines()
            .filter_map(|line| line.strip_prefix(name))
            .filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(label));
        series.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    Operations {
        round_trips: sum_series("belfry_store_operation_duration_seconds_count", "\"read\"")
            + sum_series("belfry_postgres_commit_writes_count", ""),
        notifications: sum_series("belfry_cache_invalidations_total", "origin=\"local\""),
        scripts: sum_series("belfry_redis_request_duration_seconds_count", ""),
        ..Operations::default()
    }
}

/// Returns the number of commands in the response to `INFO commandstats`, without those of the
/// measurement itself.
fn parse_command_count(info: &str) -> f64 {
    let calls = |line: &str| -> Option<f64> {
        let (command, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let is_measurement = ["info", "quit"].contains(&command);
        stats.split(',').next()?.parse().ok().filter(|_| !is_measurement)
    };
    info.lines().filter_map(calls).sum()
}

impl Operations {
    fn zip_with(self, other: Self, combine: fn(f64, f64) -> f64) -> Self {
        Self {
            statements: combine(self.statements, other.statements),
            round_trips: combine(self.round_trips, other.round_trips),
            notifications: combine(self.notifications, other.notifications),
            scripts: combine(self.scripts, other.scripts),
            commands: combine(self.commands, other.commands),
        }
    }
}

impl Add for Operations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip_with(other, |a, b| a + b)
    }
}

impl Sub for Operations {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.zip_with(other, |a, b| a - b)
    }
}

impl Sum for Operations {
    fn sum<I: Iterator<Item = Self>>(operations: I) -> Self {
        operations.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_read_from_metrics() {
        let metrics = "\
belfry_store_operation_duration_seconds_count{engine=\"postgresql\",operation=\"read\"} 7
belfry_store_operation_duration_seconds_count{engine=\"postgresql\",operation=\"write\"} 90
belfry_postgres_commit_writes_bucket{le=\"1\"} 5
belfry_postgres_commit_writes_count 3
belfry_cache_invalidations_total{kind=\"rules\",origin=\"local\"} 80
belfry_cache_invalidations_total{kind=\"token\",origin=\"local\"} 1
belfry_cache_invalidations_total{kind=\"rules\",origin=\"remote\"} 500
belfry_redis_request_duration_seconds_count 100
";
        let expected = Operations {
            round_trips: 10.0,
            notifications: 81.0,
            scripts: 100.0,
            ..Operations::default()
        };
        assert_eq!(parse_node_operations(metrics), expected);
        assert_eq!(parse_node_operations(metrics) + expected - expected, expected);
    }

    #[test]
    fn commands_of_the_measurement_itself_are_not_counted() {
        let info = "# Commandstats\r\n\
                    cmdstat_evalsha:calls=10,usec=99,usec_per_call=9.9\r\n\
                    cmdstat_get:calls=20,usec=20,usec_per_call=1.00\r\n\
                    cmdstat_info:calls=3,usec=70,usec_per_call=23.00\r\n";
        assert!((parse_command_count(info) - 30.0).abs() < 1e-9);
    }
}
