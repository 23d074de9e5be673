//! The database and Redis.

use std::time::Duration;

use belfry_limits::redis::{RedisDiagnosis, RedisMeasurement, diagnose};
use belfry_store::{Database, Diagnosis, DurabilityRisk, SchemaState, StoreError};
use tokio::time::timeout;

use super::clock::Clocks;
use super::report::Report;
use crate::config::Config;
use crate::limits::{REDIS_PREFIX, redis_servers};

/// Maximum time of the diagnosis of an engine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Checks the engines, and returns the times of their clocks.
pub(super) async fn check(config: &Config, report: &mut Report) -> Clocks {
    let mut clocks = Clocks::default();
    check_database(config, report, &mut clocks).await;
    check_redis(config, report, &mut clocks).await;
    clocks
}

async fn check_database(config: &Config, report: &mut Report, clocks: &mut Clocks) {
    let database = config.database();
    let is_sqlite = matches!(database, Database::Sqlite(_));
    let diagnosis = match timeout(TIMEOUT, Diagnosis::of(&database, &config.store)).await {
        Ok(Ok(diagnosis)) => diagnosis,
        Ok(Err(error)) => {
            let is_other_version =
                matches!(error, StoreError::Newer { .. } | StoreError::PreRelease { .. });
            let is_damaged = is_sqlite && !is_other_version;
            // Other errors say what to do.
            let fix = if is_damaged { "belfry restore, or move the file away" } else { "" };
            return report.fail("database", error.to_string(), fix);
        }
        Err(_) => {
            let problem = format!("{database} does not respond within {} s", TIMEOUT.as_secs());
            return report.fail("database", problem, "check its log and its load");
        }
    };
    clocks.newest_event = diagnosis.newest_event;
    clocks.ahead.extend(diagnosis.clock_difference.map(|ahead| ("PostgreSQL", ahead)));
    match diagnosis.schema {
        SchemaState::Missing => {
            let fix = "start belfry serve, which creates it; if there should be data, check --data or --database";
            report.warn("database", format!("{database} does not exist or is empty"), fix);
        }
        SchemaState::Current(version) => {
            report.ok("database", format!("{database}, schema version {version}"));
        }
        SchemaState::Older { found, known } => report.warn(
            "database",
            format!("{database} has schema version {found}, this belfry {known}"),
            "make a backup and start belfry serve, which migrates it",
        ),
        SchemaState::Newer { found, known } => report.warn(
            "database",
            format!("{database} has schema version {found}, this belfry {known}"),
            "complete the upgrade: run the newer belfry on every node",
        ),
    }
    match diagnosis.write {
        None => {}
        Some(Ok(())) => report.ok("write", "the database can be written"),
        Some(Err(error)) if is_sqlite => {
            let fix = "run belfry as the owner of the files, or chown them";
            report.fail("write", format!("the database cannot be written: {error}"), fix);
        }
        Some(Err(error)) => {
            let fix = "use the primary, and grant the user of the URL all rights on its tables";
            report.fail("write", format!("the database cannot be written: {error}"), fix);
        }
    }
    match diagnosis.notifications {
        None => {}
        Some(Ok(())) => report.ok("notifications", "LISTEN and NOTIFY work"),
        Some(Err(error)) => report.fail(
            "notifications",
            format!("LISTEN and NOTIFY do not work, so nothing is cached: {error}"),
            "connect to PostgreSQL directly, or through a pooler in session mode",
        ),
    }
    match diagnosis.durability {
        None => {}
        Some(risks) if risks.is_empty() => {
            report.ok("durability", "PostgreSQL stores writes before it acknowledges them");
        }
        Some(risks) => risks.into_iter().for_each(|risk| warn_of_lost_writes(risk, report)),
    }
}

fn warn_of_lost_writes(risk: DurabilityRisk, report: &mut Report) {
    let (problem, fix) = match risk {
        DurabilityRisk::NoSync => (
            "fsync of PostgreSQL is off: when the machine stops, the database can be damaged",
            "remove fsync from postgresql.conf",
        ),
        DurabilityRisk::PartialPages => (
            "full_page_writes of PostgreSQL is off: when the machine stops, tables can be damaged",
            "remove full_page_writes from postgresql.conf",
        ),
        DurabilityRisk::UnsyncedCommits => (
            "synchronous_commit is off: when PostgreSQL stops, acknowledged writes are lost",
            "leave synchronous_commit at on for this user and database",
        ),
        DurabilityRisk::AsynchronousStandby => (
            "the URL names several servers, but commits wait for no standby: \
             a failover loses acknowledged writes",
            "set synchronous_standby_names, and leave synchronous_commit at on",
        ),
    };
    report.warn("durability", problem, fix);
}

async fn check_redis(config: &Config, report: &mut Report, clocks: &mut Clocks) {
    let limit = config.limits.redis_timeout;
    let servers = match redis_servers(config) {
        Ok(servers) if servers.is_empty() => {
            return report.skip("redis", "not configured: this process counts requests");
        }
        Ok(servers) => servers,
        Err(error) => {
            return report.fail("redis", error.to_string(), "correct the URL or its certificate");
        }
    };
    let diagnoses = match diagnose(&servers, REDIS_PREFIX, TIMEOUT).await {
        Ok(diagnoses) => diagnoses,
        Err(error) => {
            let fix = redis_fix(&error);
            return report.fail("redis", format!("nodes count on their own: {error}"), fix);
        }
    };
    let is_cluster = diagnoses.len() > 1;
    let (mut stopped_by_others, mut unknown) = (Vec::new(), Vec::new());
    for RedisDiagnosis { address, result } in diagnoses {
        let shard = if is_cluster { format!("shard {address}: ") } else { String::new() };
        match result {
            Err(error) => {
                let fix = redis_fix(&error);
                let problem = format!("{shard}nodes count on their own: {error}");
                report.fail("redis", problem, fix);
            }
            Ok(RedisMeasurement { response_time, ahead, requires_full_coverage }) => {
                match requires_full_coverage {
                    Some(true) if is_cluster => stopped_by_others.push(address),
                    None if is_cluster => unknown.push(address),
                    _ => {}
                }
                clocks.ahead.extend(ahead.map(|ahead| ("Redis", ahead)));
                let message = format!("{shard}counting a request takes {response_time:.1?}");
                if response_time <= limit {
                    report.ok("redis", message);
                } else {
                    let message = format!("{message}; limits.redis_timeout is {limit:?}");
                    let fix = "move Redis closer, or raise limits.redis_timeout";
                    report.warn("redis", message, fix);
                }
            }
        }
    }
    if !stopped_by_others.is_empty() {
        let shards = stopped_by_others.join(", ");
        report.warn(
            "redis",
            format!("while any shard has no primary, these reject commands too: {shards}"),
            "set cluster-require-full-coverage to no on every node of the cluster",
        );
    }
    if !unknown.is_empty() {
        let shards = unknown.join(", ");
        report.skip(
            "redis",
            format!(
                "the user may not read cluster-require-full-coverage (+config|get) of {shards}"
            ),
        );
    }
}

/// What to do about an error of Redis.
fn redis_fix(error: &str) -> String {
    let contains = |words: &[&str]| {
        let error = error.to_ascii_lowercase();
        words.iter().any(|word| error.contains(word))
    };
    if contains(&["noperm", "no permission", "moved"]) {
        return format!(
            "ACL SETUSER … ~{REDIS_PREFIX}:* +evalsha +script|load +get +set +incr +decr +pttl +pexpire, \
             and for a cluster +cluster|slots +asking +time"
        );
    }
    let fix = if contains(&["noauth", "wrongpass", "authentication"]) {
        "write the password into the URL: redis://:PASSWORD@HOST, or redis://USER:PASSWORD@HOST"
    } else if contains(&["readonly", "read only"]) {
        "use the address of the primary, not of a replica"
    } else if contains(&["select is not allowed"]) {
        "remove the number after the host: a cluster has no databases"
    } else if contains(&["not a cluster"]) {
        "write one address, or start the servers with cluster-enabled yes"
    } else if contains(&["clusterdown"]) {
        "see CLUSTER INFO; with cluster-require-full-coverage no, other shards continue to count"
    } else if contains(&["oom", "memory"]) {
        "raise maxmemory"
    } else if contains(&["certificate"]) {
        "use a host name of its certificate, and name its authority in limits.redis_root_certificate"
    } else {
        "start Redis, or correct its URL"
    };
    fix.to_owned()
}
