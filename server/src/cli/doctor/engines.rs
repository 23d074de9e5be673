//! Checks of the database and Redis.

use std::time::Duration;

use belfry_limits::redis::{RedisDiagnosis, RedisMeasurement, diagnose};
use belfry_runtime::certificate::rejection;
use belfry_runtime::duration;
use belfry_store::{Database, Diagnosis, StoreError};
use jiff::SignedDuration;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::time::timeout;

use super::report::Report;
use crate::config::Config;
use crate::limits::{REDIS_PREFIX, redis_servers};

/// Maximum time to diagnose the database.
pub(super) const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time to diagnose a Redis server, which normally takes milliseconds.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum clock offset that counts as normal.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

pub(super) async fn check(config: &Config, report: &mut Report) {
    check_database(config, report).await;
    check_redis(config, report).await;
}

async fn check_database(config: &Config, report: &mut Report) {
    let database = config.database();
    let is_sqlite = matches!(database, Database::Sqlite(_));
    let diagnosis = match timeout(DATABASE_TIMEOUT, Diagnosis::run(&database, &config.store)).await
    {
        Ok(Ok(diagnosis)) => diagnosis,
        Ok(Err(error)) => {
            // Other errors say what to do.
            let is_damaged = matches!(error, StoreError::Damaged { .. });
            let fix = if is_damaged {
                "stop the server, move the files of the database away, and restore a backup"
            } else {
                ""
            };
            return report.fail("database", error.to_string(), fix);
        }
        Err(_) => {
            let problem =
                format!("{database} does not respond within {} s", DATABASE_TIMEOUT.as_secs());
            return report.fail("database", problem, "check its log and its load");
        }
    };
    check_clock("PostgreSQL", diagnosis.clock_offset, report);
    let known_version = diagnosis.supported_schema_version;
    match diagnosis.schema_version {
        None => {
            let fix = "start belfry serve, which creates it; if there should be data, check --data or --database";
            report.warn("database", format!("{database} does not exist or is empty"), fix);
        }
        Some(version) if version == known_version => {
            report.ok("database", format!("{database}, schema version {version}"));
        }
        Some(version) => {
            let fix = if version < known_version {
                "make a backup and start belfry serve, which migrates it"
            } else {
                "complete the upgrade: run the newer belfry on every node"
            };
            let problem = format!(
                "{database} has schema version {version}, but this belfry uses {known_version}"
            );
            report.warn("database", problem, fix);
        }
    }
    match diagnosis.write_outcome {
        None => {}
        Some(Ok(())) => report.ok("write", "this user may write to the database"),
        Some(Err(error)) => {
            // The SQLite error says what to do.
            let fix = if is_sqlite {
                ""
            } else {
                "promote or use the primary; if permission is denied, grant the user in the URL all \
                 privileges on the tables"
            };
            report.fail("write", format!("the database cannot be written to: {error}"), fix);
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
}

/// Compares an engine's clock with this machine's, which decides when tokens, sessions and codes
/// expire. The offset is positive if the engine's clock is ahead.
fn check_clock(engine: &str, clock_offset: Option<SignedDuration>, report: &mut Report) {
    let Some(offset) = clock_offset else { return };
    if offset.abs() <= CLOCK_TOLERANCE {
        return report.ok("clock", format!("the clock of {engine} agrees with this machine's"));
    }
    let length = duration::format_seconds(offset.unsigned_abs());
    let direction = if offset.is_positive() { "ahead of" } else { "behind" };
    let problem = format!("the clock of {engine} is {length} {direction} this machine's");
    report.fail("clock", problem, "synchronise the clocks with NTP (systemd-timesyncd, chrony)");
}

async fn check_redis(config: &Config, report: &mut Report) {
    let max_response_time = config.limits.redis_timeout;
    let servers = match redis_servers(config) {
        Ok(servers) if servers.is_empty() => {
            return report
                .skip("redis", "not configured; each node counts requests in its own memory");
        }
        Ok(servers) => servers,
        Err(error) => {
            return report.fail("redis", error.to_string(), "correct the URL or its certificate");
        }
    };
    let diagnoses = diagnose(&servers, REDIS_PREFIX, REDIS_TIMEOUT).await;
    let is_cluster = diagnoses.len() > 1;
    let mut full_coverage_shards = Vec::new();
    for RedisDiagnosis { address, result } in diagnoses {
        let RedisMeasurement { response_time, clock_offset, requires_full_coverage } = match result
        {
            Ok(measurement) => measurement,
            Err(error) => {
                report_redis_error(&address, &error, report);
                continue;
            }
        };
        check_clock(&format!("Redis at {address}"), clock_offset, report);
        let message = format!("{address}: counting a request takes {response_time:.1?}");
        if response_time <= max_response_time {
            report.ok("redis", message);
        } else {
            let message = format!("{message}; limits.redis_timeout is {max_response_time:?}");
            report.warn("redis", message, "move Redis closer, or raise limits.redis_timeout");
        }
        if is_cluster && requires_full_coverage {
            full_coverage_shards.push(address);
        }
    }
    if !full_coverage_shards.is_empty() {
        let shards = full_coverage_shards.join(", ");
        report.warn(
            "redis",
            format!("these shards reject commands while another shard has no primary: {shards}"),
            "set cluster-require-full-coverage to no on every node of the cluster",
        );
    }
}

/// Reports why a Redis server cannot count requests. If the fix is empty, the error itself says what to do.
fn report_redis_error(address: &str, error: &RedisError, report: &mut Report) {
    let rejection_reason = rejection::find_certificate_error(error);
    let fix: &str = match error.kind() {
        // `MOVED`: the user may not run `CLUSTER SLOTS`, so this node of a cluster was taken for a
        // server outside a cluster.
        ErrorKind::Server(ServerErrorKind::NoPerm | ServerErrorKind::Moved) => &format!(
            "ACL SETUSER … ~{REDIS_PREFIX}:* +eval +evalsha +get +set +incr +decr +pttl +pexpire, \
             with a database number in the URL +select, and for a cluster +cluster|slots +asking +time"
        ),
        _ if rejection_reason.is_some() => {
            "use a host name that is in the certificate, or set limits.redis_root_certificate to the \
             file of its authority; replace an expired certificate"
        }
        _ if error.kind() == ErrorKind::AuthenticationFailed || error.code() == Some("NOAUTH") => {
            "write the password into the URL: redis://:PASSWORD@HOST, or redis://USER:PASSWORD@HOST"
        }
        ErrorKind::Io => "start Redis, or correct its URL",
        _ => "",
    };
    let reason = match rejection_reason {
        Some(reason) => format!("its certificate {}", rejection::describe(&reason)),
        None => error.to_string(),
    };
    let problem = format!("{address}: {reason}; each node counts requests in its own memory");
    report.fail("redis", problem, fix);
}
