//! Every metric family, with its type, labels and help text. `docs/operating.md` lists the same.

/// A group of series with one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The name; that of a counter ends in `_total`.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The description.
    pub help: &'static str,
}

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// A distribution in buckets.
    Histogram,
}

impl Kind {
    /// The name in the text formats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Declares the families, and a list of all of them.
macro_rules! families {
    ($($id:ident = $kind:ident $name:literal [$($label:literal)*] $help:literal;)*) => {
        $(pub(crate) const $id: Family = Family {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        /// All families.
        pub const ALL: &[Family] = &[$($id),*];
    };
}

families! {
    BUILD_INFO = Gauge "belfry_build_info" ["version"] "Version of this binary, always 1";

    HTTP_REQUESTS = Counter "belfry_http_requests_total" ["route" "method" "status"]
        "Requests by matched route, method and response status";
    HTTP_REQUEST_DURATION = Histogram "belfry_http_request_duration_seconds" ["route" "method"]
        "Time from the request head to the response head";
    HTTP_CONNECTIONS = Gauge "belfry_http_connections" [] "Open connections";
    HTTP_MAX_CONNECTIONS = Gauge "belfry_http_max_connections" []
        "Open connections beyond which only health checks are answered";
    HTTP_CONNECTIONS_REJECTED = Counter "belfry_http_connections_rejected_total" []
        "Connections closed at once, because their address has too many";
    PANICS = Counter "belfry_panics_total" [] "Handlers that panicked";

    RATE_LIMIT_DECISIONS = Counter "belfry_rate_limit_decisions_total" ["limit" "outcome"]
        "Decisions of rate limits";
    RATE_LIMIT_NEARLY_EXHAUSTED = Counter "belfry_rate_limit_nearly_exhausted_total" ["limit"]
        "Requests admitted with at least 80 % of the limit used";
    RATE_LIMIT_KEYS = Gauge "belfry_rate_limit_keys" [] "Keys in process memory";
    RATE_LIMIT_EVICTED_KEYS = Counter "belfry_rate_limit_evicted_keys_total" []
        "Keys evicted before their window ended, for lack of space";
    RATE_LIMIT_LOCAL_DECISIONS = Counter "belfry_rate_limit_local_decisions_total" []
        "Decisions made locally because Redis was unavailable";
    REDIS_UP = Gauge "belfry_redis_up" [] "Whether shared counters are used";
    REDIS_REQUEST_DURATION = Histogram "belfry_redis_request_duration_seconds" []
        "Time until Redis responded";
    REDIS_FAILURES = Counter "belfry_redis_failures_total" ["reason"]
        "Requests that Redis did not answer in time or rejected";

    SIGN_INS = Counter "belfry_sign_ins_total" ["method" "outcome"] "Attempts to sign in";
    TOKENS_ISSUED = Counter "belfry_tokens_issued_total" ["grant"] "Access tokens issued";
    PASSWORD_HASHES = Counter "belfry_password_hashes_total" [] "Password hashes computed";
    PASSWORD_QUEUE = Gauge "belfry_password_queue_length" []
        "Password hashes that are computed or wait";

    EVALUATION_DURATION = Histogram "belfry_evaluation_duration_seconds" ["endpoint"]
        "Time to evaluate the push rules of a request, with waiting and loading";
    EVALUATED_USERS = Counter "belfry_evaluated_users_total" []
        "Users whose push rules were evaluated";
    EVALUATION_FAILURES = Counter "belfry_evaluation_failures_total" ["reason"]
        "Requests that were not evaluated";
    EVALUATION_WORK_EXCEEDED = Counter "belfry_evaluation_work_exceeded_total" []
        "Users whose push rules exceeded the work of an evaluation";
    EVALUATION_QUEUE = Gauge "belfry_evaluation_queue_length" []
        "Requests that are evaluated or wait";
    EVALUATION_MAX_QUEUE = Gauge "belfry_evaluation_max_queue_length" []
        "Length of the evaluation queue beyond which requests are rejected";

    STORE_OPERATION_DURATION = Histogram "belfry_store_operation_duration_seconds"
        ["engine" "operation"] "Time of reads and writes of the database, with waiting";
    STORE_FAILURES = Counter "belfry_store_failures_total" ["engine" "operation" "reason"]
        "Failed reads and writes of the database";
    STORE_COMMIT_DURATION = Histogram "belfry_store_commit_duration_seconds" ["engine"]
        "Time of a transaction until it is durable";
    SQLITE_QUEUE = Gauge "belfry_sqlite_queue_length" ["operation"]
        "Reads and writes that wait for a thread";
    SQLITE_COMMIT_WRITES = Histogram "belfry_sqlite_commit_writes" []
        "Writes that were committed in one transaction";
    SQLITE_FILE_BYTES = Gauge "belfry_sqlite_file_bytes" ["file"] "Size of the database files";
    SQLITE_DISK_AVAILABLE = Gauge "belfry_sqlite_disk_available_bytes" []
        "Free space of the file system with the database";
    POSTGRES_CONNECTIONS = Gauge "belfry_postgres_connections" ["state"]
        "Connections of the pool";
    POSTGRES_MAX_CONNECTIONS = Gauge "belfry_postgres_max_connections" []
        "Maximum number of connections of the pool";
    POSTGRES_WAITING = Gauge "belfry_postgres_waiting_requests" []
        "Reads and writes that wait for a connection";
    POSTGRES_COMMIT_WRITES = Histogram "belfry_postgres_commit_writes" []
        "Writes that were committed in one transaction";
    POSTGRES_PROBE_DURATION = Histogram "belfry_postgres_probe_duration_seconds" []
        "Time until a notification to this node itself arrived";
    POSTGRES_PROBE_FAILURES = Counter "belfry_postgres_probe_failures_total" []
        "Times that notifications could not be received";
    DELETED_ROWS = Counter "belfry_deleted_rows_total" ["table"]
        "Rows deleted because they expired";

    CACHE_ENABLED = Gauge "belfry_cache_enabled" [] "Whether reads may be served from the cache";
    CACHE_REQUESTS = Counter "belfry_cache_requests_total" ["cache" "outcome"]
        "Lookups in the cache";
    CACHE_ENTRIES = Gauge "belfry_cache_entries" ["cache"] "Entries in the cache";
    CACHE_BYTES = Gauge "belfry_cache_bytes" ["cache"] "Size of the cache in memory";
    CACHE_INVALIDATIONS = Counter "belfry_cache_invalidations_total" ["kind" "origin"]
        "Invalidations of cache entries";

    TLS_CERTIFICATE_EXPIRY = Gauge "belfry_tls_certificate_expiry_timestamp_seconds" []
        "End of the validity of the HTTPS certificate, in seconds since 1970";

    PROCESS_CPU = Counter "process_cpu_seconds_total" [] "Processor time of the process";
    PROCESS_RESIDENT_MEMORY = Gauge "process_resident_memory_bytes" [] "Resident memory";
    PROCESS_VIRTUAL_MEMORY = Gauge "process_virtual_memory_bytes" [] "Virtual memory";
    PROCESS_OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors";
    PROCESS_MAX_FDS = Gauge "process_max_fds" [] "Maximum number of open file descriptors";
    PROCESS_THREADS = Gauge "process_threads" [] "Threads";
    PROCESS_START_TIME = Gauge "process_start_time_seconds" []
        "Start of the process, in seconds since 1970";
}
