//! The space that accounts, tokens, rules and counters take in PostgreSQL, in Redis and in the
//! memory of a node.

use std::error::Error;

use super::Bench;
use super::line::ReportLine;
use super::nodes::Cluster;
use super::setup::Setup;

/// The duration of the load, long enough to request every account of the setup.
const LOAD_SECONDS: u32 = 60;

/// Fills the database, requests every account, and returns the bytes of each part.
pub(super) fn measure(bench: &Bench, setup: &Setup) -> Result<Vec<ReportLine>, Box<dyn Error>> {
    let (cluster, request) = Cluster::start(bench, setup)?;
    let postgres = &cluster.engines.postgres;
    let mut lines = vec![];
    for (table, name) in [
        ("accounts", "PostgreSQL, an account"),
        ("tokens", "PostgreSQL, an access token"),
        ("rulesets", "PostgreSQL, an account's ten rules"),
    ] {
        let size_query =
            format!("select pg_total_relation_size('{table}') / count(*) from {table}");
        lines.push(bytes_line(name, postgres.execute(&size_query)?.parse()?));
    }
    let redis = &cluster.engines.redis;
    let used_memory =
        || -> Result<f64, Box<dyn Error>> { parse_info(&redis.info("memory")?, "used_memory:") };
    let redis_bytes_before = used_memory()?;
    let node = &cluster.nodes[0];
    let node_before_mb = node.resident_memory_mb();
    cluster.run_load(&request, 64, 0, LOAD_SECONDS)?;
    let keys = parse_info(&redis.info("keyspace")?, "db0:keys=")?;
    let accounts = f64::from(setup.account_count);
    lines.push(bytes_line("Redis, a counter", (used_memory()? - redis_bytes_before) / keys));
    lines.push(ReportLine::metric("Redis, counters", keys / accounts, "per account", None));
    let node_bytes = (node.resident_memory_mb() - node_before_mb) * 1e6 / accounts;
    lines.push(bytes_line("node, a cached token with ten cached rules", node_bytes));
    Ok(lines)
}

fn bytes_line(name: &str, value: f64) -> ReportLine {
    ReportLine::metric(name, value, "bytes", None)
}

/// Returns the number after this prefix in the response to `INFO`.
fn parse_info(info: &str, prefix: &str) -> Result<f64, Box<dyn Error>> {
    let rest = info.lines().find_map(|line| line.strip_prefix(prefix));
    let parse_digits =
        |rest: &str| rest.split([',', '\r']).next().and_then(|text| text.parse().ok());
    rest.and_then(parse_digits).ok_or_else(|| format!("INFO has no {prefix}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_info() {
        let text = "# Memory\r\nused_memory:1048576\r\ndb0:keys=20,expires=20,avg_ttl=5\r\n";
        assert!((parse_info(text, "used_memory:").unwrap() - 1_048_576.0).abs() < 1e-9);
        assert!((parse_info(text, "db0:keys=").unwrap() - 20.0).abs() < 1e-9);
        assert!(parse_info(text, "missing:").is_err());
    }
}
