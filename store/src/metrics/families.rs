//! The metric families of the database and of the cache.

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
