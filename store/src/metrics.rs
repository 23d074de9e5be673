//! Metrics of the database and of the cache.

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Gauge, Histogram};
use smart_default::SmartDefault;

/// The number of scopes that were read from the database and are unknown to this version. Static,
/// because rows are converted without access to the store.
pub(crate) static UNKNOWN_SCOPES: Counter = Counter::new();

#[derive(Debug, Default)]
pub(crate) struct StoreMetrics {
    pub(crate) reads: OperationMetrics,
    pub(crate) writes: OperationMetrics,
}

#[derive(Debug, SmartDefault)]
pub(crate) struct OperationMetrics {
    /// Durations of all operations, including failed ones and waiting time.
    #[default(Histogram::durations())]
    pub(crate) durations: Histogram,
    /// Failures because the database was unavailable, after which a retry may succeed.
    pub(crate) temporary_failures: Counter,
    /// Other failures, which are programming errors or invalid rows.
    pub(crate) permanent_failures: Counter,
}

impl StoreMetrics {
    pub(crate) fn write(&self, out: &mut Exposition, engine: &str) {
        let operations = [("read", &self.reads), ("write", &self.writes)];
        let mut durations = out.family(&families::STORE_OPERATION_DURATION);
        for (operation, metrics) in operations {
            durations.histogram(&[engine, operation], &metrics.durations);
        }
        let mut failures = out.family(&families::STORE_FAILURES);
        for (operation, metrics) in operations {
            failures.value(&[engine, operation, "unavailable"], metrics.temporary_failures.get());
            failures.value(&[engine, operation, "failed"], metrics.permanent_failures.get());
        }
        out.value(&families::UNKNOWN_SCOPES, UNKNOWN_SCOPES.get());
    }
}

#[derive(Debug, SmartDefault)]
pub(crate) struct SqliteMetrics {
    pub(crate) read_queue: Gauge,
    pub(crate) write_queue: Gauge,
    #[default(Histogram::durations())]
    pub(crate) commit_durations: Histogram,
    #[default(Histogram::counts())]
    pub(crate) commit_writes: Histogram,
}

impl SqliteMetrics {
    pub(crate) fn write(&self, out: &mut Exposition) {
        out.family(&families::STORE_COMMIT_DURATION).histogram(&["sqlite"], &self.commit_durations);
        out.histogram(&families::SQLITE_COMMIT_WRITES, &self.commit_writes);
        let mut queues = out.family(&families::SQLITE_QUEUE);
        queues.value(&["read"], self.read_queue.get());
        queues.value(&["write"], self.write_queue.get());
    }
}

#[derive(Debug, SmartDefault)]
pub(crate) struct PostgresMetrics {
    /// Reads and writes that wait for a connection.
    pub(crate) waiting_operations: Gauge,
    #[default(Histogram::durations())]
    pub(crate) commit_durations: Histogram,
    #[default(Histogram::counts())]
    pub(crate) commit_writes: Histogram,
    /// Time until a notification that the node sent to itself arrived.
    #[default(Histogram::durations())]
    pub(crate) probe_durations: Histogram,
    pub(crate) listen_failures: Counter,
}

impl PostgresMetrics {
    pub(crate) fn write(&self, out: &mut Exposition) {
        out.family(&families::STORE_COMMIT_DURATION)
            .histogram(&["postgresql"], &self.commit_durations);
        out.histogram(&families::POSTGRES_COMMIT_WRITES, &self.commit_writes);
        out.value(&families::POSTGRES_WAITING, self.waiting_operations.get());
        out.histogram(&families::POSTGRES_PROBE_DURATION, &self.probe_durations);
        out.value(&families::POSTGRES_LISTEN_FAILURES, self.listen_failures.get());
    }
}

/// Lookups in one cache, by outcome.
#[derive(Debug, Default)]
pub struct CacheCounters {
    /// Lookups that found an entry.
    pub hits: Counter,
    /// Lookups that found no entry, including those while the cache was disabled.
    pub misses: Counter,
}

impl CacheCounters {
    pub fn record(&self, is_hit: bool) {
        if is_hit { &self.hits } else { &self.misses }.inc();
    }
}

/// The state of one cache at the time of a scrape.
#[derive(Debug)]
pub struct CacheStatus<'a> {
    pub name: &'static str,
    pub lookups: &'a CacheCounters,
    pub entries: usize,
    pub bytes: u64,
}

pub fn write_cache_metrics(out: &mut Exposition, caches: &[CacheStatus<'_>]) {
    let mut outcomes = out.family(&families::CACHE_LOOKUPS);
    for CacheStatus { name, lookups, .. } in caches {
        outcomes.value(&[name, "hit"], lookups.hits.get());
        outcomes.value(&[name, "miss"], lookups.misses.get());
    }
    let mut entries = out.family(&families::CACHE_ENTRIES);
    for cache in caches {
        entries.value(&[cache.name], cache.entries);
    }
    let mut bytes = out.family(&families::CACHE_BYTES);
    for cache in caches {
        bytes.value(&[cache.name], cache.bytes);
    }
}

pub mod families {
    belfry_runtime::families! {
        STORE_OPERATION_DURATION = Histogram "belfry_store_operation_duration_seconds"
            ["engine" "operation"] "Duration of database reads and writes, including queueing";
        STORE_FAILURES = Counter "belfry_store_failures_total" ["engine" "operation" "reason"]
            "Failed database reads and writes";
        UNKNOWN_SCOPES = Counter "belfry_unknown_scopes_total" []
            "Unrecognised scopes read from the database";
        STORE_COMMIT_DURATION = Histogram "belfry_store_commit_duration_seconds" ["engine"]
            "Time until a transaction is durable";
        SQLITE_QUEUE = Gauge "belfry_sqlite_queue_length" ["operation"]
            "Reads and writes that wait for a thread";
        SQLITE_COMMIT_WRITES = Histogram "belfry_sqlite_commit_writes" []
            "Writes per transaction";
        SQLITE_FILE_BYTES = Gauge "belfry_sqlite_file_bytes" ["file"] "Size of the database files";
        SQLITE_DISK_AVAILABLE = Gauge "belfry_sqlite_disk_available_bytes" []
            "Free space in the file system of the database";
        POSTGRES_CONNECTIONS = Gauge "belfry_postgres_connections" ["state"]
            "Connections in the pool";
        POSTGRES_MAX_CONNECTIONS = Gauge "belfry_postgres_max_connections" []
            "Maximum number of connections in the pool";
        POSTGRES_WAITING = Gauge "belfry_postgres_waiting_operations" []
            "Reads and writes that wait for a connection";
        POSTGRES_COMMIT_WRITES = Histogram "belfry_postgres_commit_writes" []
            "Writes per transaction";
        POSTGRES_PROBE_DURATION = Histogram "belfry_postgres_probe_duration_seconds" []
            "Round-trip time of notification probes";
        POSTGRES_LISTEN_FAILURES = Counter "belfry_postgres_listen_failures_total" []
            "Failures to receive notifications";
        CACHE_ENABLED = Gauge "belfry_cache_enabled" [] "Whether reads may be served from the cache";
        CACHE_LOOKUPS = Counter "belfry_cache_lookups_total" ["cache" "outcome"]
            "Lookups in the cache";
        CACHE_ENTRIES = Gauge "belfry_cache_entries" ["cache"] "Cached entries, by cache";
        CACHE_BYTES = Gauge "belfry_cache_bytes" ["cache"] "Approximate memory used, by cache";
        CACHE_INVALIDATIONS = Counter "belfry_cache_invalidations_total" ["kind" "origin"]
            "Invalidations of cache entries";
    }
}
