//! The check of the Redis servers.

use std::time::Duration;

use belfry_limits::redis::{RedisDiagnosis, diagnose};
use belfry_runtime::certificate::rejection;
use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::report::Report;
use crate::config::Config;
use crate::limits::{REDIS_PREFIX, redis_servers};

/// Maximum time to diagnose a Redis server, which normally takes milliseconds.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn check(config: &Config, report: &mut Report) {
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
    let max_response_time = config.limits.redis_timeout;
    for RedisDiagnosis { address, result } in diagnose(&servers, REDIS_PREFIX, REDIS_TIMEOUT).await
    {
        let response_time = match result {
            Ok(response_time) => response_time,
            Err(error) => {
                report_error(&address, &error, report);
                continue;
            }
        };
        let message = format!("{address}: counting a request takes {response_time:.1?}");
        if response_time <= max_response_time {
            report.ok("redis", message);
        } else {
            let message = format!("{message}; limits.redis_timeout is {max_response_time:?}");
            report.warn("redis", message, "move Redis closer, or raise limits.redis_timeout");
        }
    }
}

/// Reports why a Redis server cannot count requests. If the fix is empty, the error itself says what to do.
fn report_error(address: &str, error: &RedisError, report: &mut Report) {
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
