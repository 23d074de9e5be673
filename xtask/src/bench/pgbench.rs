//! Writes through Belfry on PostgreSQL, compared with pgbench and the same statements.

use std::error::Error;
use std::fs;
use std::process::Command;

use test_engines::{Postgres, programs};

use super::Bench;
use super::line::{ReportLine, median};
use super::nodes::Cluster;
use super::setup::Setup;

/// A request, and the statements that it causes.
pub(super) struct PgbenchComparison {
    pub setup: Setup,
    /// The pgbench script.
    pub script: &'static str,
    /// The number of connections to Belfry, and from pgbench to PostgreSQL.
    pub connections: u16,
}

/// The insert statement of `store/src/oauth/tokens.rs`, for an app token.
pub(super) const TOKEN_SCRIPT: &str = r"\set lookup random(1, 9000000000000000000)
insert into tokens (lookup, digest, app_id, account_id, scopes, created_at, expires_at)
select to_hex((extract(epoch from now()) * 1000)::bigint) || :lookup::text,
'aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxkLCBoZWxsbyB3b3Js', 1::bigint, null::bigint, 'read', 1700000000, null
where not exists (select 1 from apps where id = 1 and disabled_at is not null);
";

/// The transaction of `store/src/rules/save.rs`. It writes the stored document again, whatever
/// its version.
pub(super) const RULE_SCRIPT: &str = r"\set account random(1, 10000)
\startpipeline
begin;
update rulesets set version = version + 1, document = document || '', expires_at = null
where account_id = :account and scope = 'global' and version = version returning version;
select pg_notify('belfry', 'rules ' || :account::text || ' by 0');
commit;
\endpipeline
";

/// The result of one run, with CPU times per write.
struct RunResult {
    per_second: f64,
    belfry_cpu_us: f64,
    postgres_cpu_us: f64,
    errors: u64,
}

impl PgbenchComparison {
    /// Loads Belfry with requests and PostgreSQL with pgbench, in alternation.
    pub(super) fn measure(&self, bench: &Bench, name: &str) -> Result<ReportLine, Box<dyn Error>> {
        let (cluster, request) = Cluster::start(bench, &self.setup)?;
        let script = cluster.dir().join("pgbench.sql");
        fs::write(&script, self.script)?;
        let load_postgres = |seconds: u32| -> Result<RunResult, Box<dyn Error>> {
            let program = programs::find(&["pgbench"]).ok_or("pgbench is not installed")?;
            let mut command = Command::new(program);
            command.args(["--no-vacuum", "--protocol=prepared", "--jobs=2"]);
            command.arg(format!("--client={}", self.connections));
            command.arg(format!("--time={seconds}")).arg("--file").arg(&script);
            run_pgbench(command, &cluster.engines.postgres)
        };
        let load_belfry = |round, seconds| -> Result<RunResult, Box<dyn Error>> {
            let result = cluster.run_load(&request, self.connections, round, seconds)?;
            Ok(RunResult {
                per_second: result.per_second,
                belfry_cpu_us: result.cpu_times.belfry / result.requests,
                postgres_cpu_us: result.cpu_times.postgres / result.requests,
                errors: result.errors,
            })
        };
        load_belfry(0, 1)?;
        load_postgres(1)?;
        let mut ours = vec![];
        let mut reference = vec![];
        for round in 1..=bench.rounds {
            ours.push(load_belfry(round, bench.seconds)?);
            reference.push(load_postgres(bench.seconds)?);
        }
        Ok(report_line(name, &ours, &reference))
    }
}

fn run_pgbench(mut command: Command, postgres: &Postgres) -> Result<RunResult, Box<dyn Error>> {
    let cpu_before_us = postgres.cpu_time_us();
    let output = command.arg(postgres.url()).output()?;
    let cpu_us = postgres.cpu_time_us() - cpu_before_us;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((transactions, per_second)) = parse_report(&text) else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("pgbench ended with {}: {text}{errors}", output.status).into());
    };
    Ok(RunResult {
        per_second,
        belfry_cpu_us: f64::NAN,
        postgres_cpu_us: cpu_us / transactions,
        errors: 0,
    })
}

/// Returns the number of transactions and their rate.
fn parse_report(report: &str) -> Option<(f64, f64)> {
    let number = |prefix: &str| -> Option<f64> {
        let rest = report.lines().find_map(|line| line.strip_prefix(prefix))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    Some((number("number of transactions actually processed: ")?, number("tps = ")?))
}

/// Returns a line with the ratio of the rates. Its CPU ratio covers PostgreSQL only.
fn report_line(name: &str, ours: &[RunResult], reference: &[RunResult]) -> ReportLine {
    let median_value =
        |runs: &[RunResult], metric: fn(&RunResult) -> f64| median(runs.iter().map(metric));
    let ratio = |metric: fn(&RunResult) -> f64| {
        median(ours.iter().zip(reference).map(|(ours, other)| metric(ours) / metric(other)))
    };
    let rate = |runs: &[RunResult]| median_value(runs, |run| run.per_second);
    let postgres_cpu_us = |runs: &[RunResult]| median_value(runs, |run| run.postgres_cpu_us);
    ReportLine {
        measured: format!(
            "{:.0}/s, µs CPU: Belfry {:.1}, PostgreSQL {:.1}",
            rate(ours),
            median_value(ours, |run| run.belfry_cpu_us),
            postgres_cpu_us(ours)
        ),
        reference: format!(
            "pgbench {:.0}/s, µs CPU: PostgreSQL {:.1}",
            rate(reference),
            postgres_cpu_us(reference)
        ),
        cpu_ratio: ratio(|run| run.postgres_cpu_us),
        errors: ours.iter().map(|run| run.errors).sum(),
        ..ReportLine::metric(name, ratio(|run| run.per_second), "", None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pgbench_report_is_parsed() {
        let report = "transaction type: token.sql\n\
                      number of transactions actually processed: 12813\n\
                      latency average = 4.9 ms\n\
                      tps = 3288.613359 (without initial connection time)\n";
        assert_eq!(parse_report(report), Some((12_813.0, 3_288.613_359)));
        assert_eq!(parse_report("pgbench: error"), None);
    }

    #[test]
    fn the_cpu_ratio_is_that_of_postgresql_alone() {
        let run = |per_second, postgres_cpu_us| RunResult {
            per_second,
            belfry_cpu_us: 20.0,
            postgres_cpu_us,
            errors: 0,
        };
        let line = report_line("token", &[run(900.0, 30.0)], &[run(1000.0, 60.0)]);
        let expected = [
            "token",
            "900/s, µs CPU: Belfry 20.0, PostgreSQL 30.0",
            "pgbench 1000/s, µs CPU: PostgreSQL 60.0",
            "0.90",
            "0.50",
        ];
        assert_eq!(line.cells()[..5], expected);
    }
}
