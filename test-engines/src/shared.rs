//! Resources that the tests of a run share: the engines that `cargo xtask test` started, a Redis
//! cluster, and the report of tests that are skipped because an engine, browser or client is
//! missing.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::RedisCluster;

/// Longer than any pause of a busy machine, so that no cluster node is replaced unless a test
/// replaces it.
const NODE_TIMEOUT: Duration = Duration::from_mins(10);

/// Reports on stderr that tests are skipped, once for each subject. Panics in CI.
#[track_caller]
pub fn report_skipped(subject: &str, reason: &str) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!is_ci, "{subject} must not be skipped in CI: {reason}");
    if REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(subject.to_owned()) {
        // Not eprintln!, which the test harness would capture.
        let note = format!("\nnote: tests of {subject} are skipped: {reason}\n");
        let _ = std::io::stderr().write_all(note.as_bytes());
    }
}

/// Returns the URL of an engine from an environment variable. If it is unset, reports the test as
/// skipped.
#[track_caller]
pub fn engine_url(engine: &str, variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        report_skipped(engine, &format!("set {variable}, or run `cargo xtask test`"));
    }
    url
}

/// Returns the URL of this run's PostgreSQL server.
#[track_caller]
pub fn postgres_url() -> Option<String> {
    engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES")
}

/// Returns the URL of this run's Redis server.
#[track_caller]
pub fn redis_url() -> Option<String> {
    engine_url("Redis", "BELFRY_TEST_REDIS")
}

/// Returns a cluster that all tests of a binary share and whose nodes they must not stop; `None`
/// where Redis tests are skipped.
pub fn shared_cluster() -> Option<&'static RedisCluster> {
    static CLUSTER: LazyLock<RedisCluster> = LazyLock::new(start_cluster);
    redis_url().map(|_| &*CLUSTER)
}

/// Starts a cluster whose nodes the test may stop; `None` where Redis tests are skipped.
pub fn private_cluster() -> Option<RedisCluster> {
    redis_url().map(|_| start_cluster())
}

fn start_cluster() -> RedisCluster {
    RedisCluster::start(NODE_TIMEOUT).expect("the Redis cluster starts")
}
