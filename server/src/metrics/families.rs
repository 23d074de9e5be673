//! The server's metric families, and a list of all crates' families, which `docs/observability.md`
//! describes.

use belfry_runtime::metrics::Family;

pub fn all() -> impl Iterator<Item = &'static Family> {
    [
        ALL,
        belfry_store::metrics::families::ALL,
        belfry_limits::metrics::families::ALL,
        belfry_delivery::metrics::families::ALL,
    ]
    .into_iter()
    .flatten()
}

belfry_runtime::families! {
    BUILD_INFO = Gauge "belfry_build_info" ["version"] "Version of this binary, always 1";

    HTTP_REQUESTS = Counter "belfry_http_requests_total" ["route" "method" "status"]
        "Requests by matched route, method and response status";
    HTTP_REQUEST_DURATION = Histogram "belfry_http_request_duration_seconds" ["route" "method"]
        "Time from the request head to the response head";
    HTTP_CONNECTIONS = Gauge "belfry_http_connections" [] "Open connections";
    HTTP_MAX_CONNECTIONS = Gauge "belfry_http_max_connections" []
        "Open connections beyond which only health checks are answered";
    HTTP_CONNECTIONS_REJECTED = Counter "belfry_http_connections_rejected_total" []
        "Connections closed immediately, because their address has too many";
    PANICS = Counter "belfry_panics_total" [] "Handlers that panicked";

    TASK_RESTARTS = Counter "belfry_task_restarts_total" ["task"]
        "Background tasks that were restarted after a failure";

    RATE_LIMIT_DECISIONS = Counter "belfry_rate_limit_decisions_total" ["limit" "outcome"]
        "Decisions of rate limits";
    RATE_LIMIT_NEARLY_EXHAUSTED = Counter "belfry_rate_limit_nearly_exhausted_total" ["limit"]
        "Requests admitted with at least 80% of the limit used";

    SIGN_INS = Counter "belfry_sign_ins_total" ["method" "outcome"] "Attempts to sign in";
    TOKENS_ISSUED = Counter "belfry_tokens_issued_total" ["grant"] "Access tokens issued";
    REFRESH_TOKENS_REUSED = Counter "belfry_refresh_tokens_reused_total" []
        "Refresh tokens that had been used before, so that their sign-in was ended";
    PASSWORD_HASHES = Counter "belfry_password_hashes_total" [] "Password hashes computed";
    PASSWORD_QUEUE = Gauge "belfry_password_queue_length" []
        "Password hashes being computed or waiting";

    EVALUATION_DURATION = Histogram "belfry_evaluation_duration_seconds" ["endpoint"]
        "Time to evaluate the push rules for a request, including waiting and loading";
    EVALUATED_USERS = Counter "belfry_evaluated_users_total" []
        "Users whose push rules were evaluated";
    EVALUATION_FAILURES = Counter "belfry_evaluation_failures_total" ["reason"]
        "Requests that were not evaluated";
    EVALUATION_WORK_EXCEEDED = Counter "belfry_evaluation_work_exceeded_total" []
        "Users whose push rules exceeded the work budget of an evaluation";
    EVALUATION_QUEUE = Gauge "belfry_evaluation_queue_length" []
        "Requests being evaluated or waiting";
    EVALUATION_MAX_QUEUE = Gauge "belfry_evaluation_max_queue_length" []
        "Length of the evaluation queue beyond which requests are rejected";

    DELETED_ROWS = Counter "belfry_deleted_rows_total" ["table"]
        "Rows deleted because they expired or exceeded a maximum";

    TLS_CERTIFICATE_EXPIRY = Gauge "belfry_tls_certificate_expiry_timestamp_seconds" []
        "Expiry of the HTTPS certificate, as Unix time in seconds";

    PROCESS_CPU = Counter "process_cpu_seconds_total" [] "CPU time of the process";
    PROCESS_RESIDENT_MEMORY = Gauge "process_resident_memory_bytes" [] "Resident memory";
    PROCESS_VIRTUAL_MEMORY = Gauge "process_virtual_memory_bytes" [] "Virtual memory";
    PROCESS_OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors";
    PROCESS_MAX_FDS = Gauge "process_max_fds" [] "Maximum number of open file descriptors";
    PROCESS_THREADS = Gauge "process_threads" [] "Threads";
    PROCESS_START_TIME = Gauge "process_start_time_seconds" []
        "Start of the process, as Unix time in seconds";
}
