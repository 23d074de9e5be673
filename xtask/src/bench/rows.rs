//! The rows of the table: the measurements and their performance targets.

use super::compare::{Comparison, Reference};
use super::delivery::ACCOUNTS;
use super::line::Target;
use super::measure::{Row, RowKind};
use super::nodes::ClusterBenchmark;
use super::pgbench::{self, PgbenchComparison};
use super::request::Request;
use super::row_requests::{
    evaluation_request, gateway_check_request, notify_request, prepare_app_token_request,
    prepare_rejected_request, prepare_rules_request, random_rules_request, rule_write_request,
};
use super::setup::Setup;

/// Rate limits that are counted and reported but never reached. The numbers have about as many
/// digits as in practice, because the length of the headers affects wrk.
const WIDE_LIMITS: &str = "[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// Rejects the second request from an address.
const NARROW_LIMITS: &str = "[limits.rows]\nip = { requests = 1, window = \"1h\" }\n";

/// The token of [`APPLICATION_SERVICE`].
const SERVICE_TOKEN: &str = "bench-service";

/// An application service that may act for every user.
const APPLICATION_SERVICE: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n";

/// The application service of [`APPLICATION_SERVICE`], and delivery to this machine.
const DELIVERY: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n\
    [push]\n\
    contact = \"mailto:ops@ring.example\"\n\
    allowed_networks = [\"127.0.0.0/8\"]\n";

/// Members of the room in the evaluation row.
const MEMBERS: u32 = 10_000;

/// Members of the room in the evaluation row with several nodes.
const FEW_MEMBERS: u32 = 100;

const DEFAULT_SETUP: Setup = Setup {
    arguments: &[],
    settings: WIDE_LIMITS,
    account_count: 0,
    has_rules: false,
    uses_redis: false,
    prepare: |_| Ok(Request::default()),
};

/// Reads all push rules of one account.
const READ_RULES: Setup =
    Setup { prepare: |belfry| prepare_rules_request(belfry, ""), ..DEFAULT_SETUP };

/// Reads all push rules of a random account.
const READ_RULES_OF_1_000: Setup =
    Setup { account_count: 1_000, prepare: |_| Ok(random_rules_request()), ..DEFAULT_SETUP };

/// Accounts with ten rules each, and limits in Redis.
const SHARED_SETUP: Setup =
    Setup { account_count: 10_000, has_rules: true, uses_redis: true, ..DEFAULT_SETUP };

/// Reads all push rules of a random account, on several nodes.
const READ_RULES_SHARED: Setup = Setup { prepare: READ_RULES_OF_1_000.prepare, ..SHARED_SETUP };

/// The limits of [`WIDE_LIMITS`] without a cache.
const NO_CACHE_SETTINGS: &str = "[store]\ncache_bytes = 0\n[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// The limits of [`WIDE_LIMITS`] with a cache that is large enough for the rules of all accounts.
const LARGE_CACHE_SETTINGS: &str = "[store]\ncache_bytes = 4294967296\n[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

const DEFAULT_COMPARISON: Comparison = Comparison {
    setup: DEFAULT_SETUP,
    reference: Reference::Bare,
    connections: 16,
    warm_up_seconds: 1,
    restarts_processes: true,
};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "GET /pushrules/",
        kind: RowKind::Throughput(Comparison { setup: READ_RULES, ..DEFAULT_COMPARISON }),
        target: Some(Target::AtLeast(0.78)),
    },
    Row {
        name: "GET one rule",
        kind: RowKind::Throughput(Comparison {
            setup: Setup {
                prepare: |belfry| prepare_rules_request(belfry, "global/content/cake"),
                ..DEFAULT_SETUP
            },
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.72)),
    },
    Row {
        name: "GET /pushrules/, limits on against off",
        kind: RowKind::Throughput(Comparison {
            setup: READ_RULES,
            reference: Reference::Belfry(Setup { arguments: &["--limits", "off"], ..READ_RULES }),
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.85)),
    },
    Row {
        name: "PUT rule, 64 connections, 64 accounts",
        kind: RowKind::Throughput(Comparison {
            setup: Setup {
                account_count: 64,
                prepare: |_| Ok(rule_write_request()),
                ..DEFAULT_SETUP
            },
            connections: 64,
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.42)),
    },
    Row {
        name: "POST token, client_credentials, 64 connections",
        kind: RowKind::Throughput(Comparison {
            setup: Setup { prepare: prepare_app_token_request, ..DEFAULT_SETUP },
            connections: 64,
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.42)),
    },
    Row {
        name: "rejected request (429)",
        kind: RowKind::Throughput(Comparison {
            setup: Setup {
                settings: NARROW_LIMITS,
                prepare: prepare_rejected_request,
                ..DEFAULT_SETUP
            },
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.9)),
    },
    Row {
        name: "GET /pushrules/, 1,000,000 accounts against 1,000",
        kind: RowKind::Throughput(Comparison {
            setup: Setup { account_count: 1_000_000, ..READ_RULES_OF_1_000 },
            reference: Reference::Belfry(READ_RULES_OF_1_000),
            // Requests every account once.
            warm_up_seconds: 120,
            restarts_processes: false,
            ..DEFAULT_COMPARISON
        }),
        target: Some(Target::AtLeast(0.9)),
    },
    Row {
        name: "latency while expensive push rules are evaluated",
        kind: RowKind::Overload(
            Setup {
                arguments: &["--limits", "off"],
                settings: APPLICATION_SERVICE,
                prepare: prepare_app_token_request,
                ..DEFAULT_SETUP
            },
            SERVICE_TOKEN,
        ),
        target: None,
    },
    Row {
        name: "push rule evaluation, against ruma",
        kind: RowKind::Subcommand("rule-evaluation"),
        target: None,
    },
    Row {
        name: "backup and restore, 1,000,000 accounts with 10 rules each",
        kind: RowKind::Subcommand("backup"),
        target: None,
    },
    Row {
        name: "delivery to 10,000 devices, against pywebpush and web-push",
        kind: RowKind::Delivery(Setup {
            settings: DELIVERY,
            account_count: ACCOUNTS,
            prepare: |_| Ok(notify_request(ACCOUNTS)),
            ..DEFAULT_SETUP
        }),
        target: None,
    },
    Row { name: "idle memory", kind: RowKind::IdleMemory(""), target: Some(Target::AtMost(25.0)) },
    Row {
        name: "idle memory with delivery",
        kind: RowKind::IdleMemory(DELIVERY),
        target: Some(Target::AtMost(25.0)),
    },
    Row { name: "idle CPU time", kind: RowKind::IdleCpu(""), target: None },
    Row { name: "idle CPU time with delivery", kind: RowKind::IdleCpu(DELIVERY), target: None },
    Row {
        name: "start to ready, empty data",
        kind: RowKind::StartupTime,
        target: Some(Target::AtMost(100.0)),
    },
    // The remaining rows have no target.
    Row {
        name: "GET /healthz",
        kind: RowKind::Throughput(Comparison {
            setup: Setup { prepare: |_| Ok(Request::new("GET", "/healthz")), ..DEFAULT_SETUP },
            ..DEFAULT_COMPARISON
        }),
        target: None,
    },
    Row {
        name: "GET metadata",
        kind: RowKind::Throughput(Comparison {
            setup: Setup {
                prepare: |_| Ok(Request::new("GET", "/.well-known/oauth-authorization-server")),
                ..DEFAULT_SETUP
            },
            ..DEFAULT_COMPARISON
        }),
        target: None,
    },
    Row {
        name: "GET /pushrules/, limits in Redis against memory",
        kind: RowKind::Throughput(Comparison {
            setup: Setup { uses_redis: true, ..READ_RULES },
            reference: Reference::Belfry(READ_RULES),
            ..DEFAULT_COMPARISON
        }),
        target: None,
    },
    Row {
        name: "POST evaluate, 10,000 members with 10 rules each",
        kind: RowKind::Throughput(Comparison {
            setup: Setup {
                settings: APPLICATION_SERVICE,
                account_count: MEMBERS,
                has_rules: true,
                prepare: |_| Ok(evaluation_request(MEMBERS)),
                ..DEFAULT_SETUP
            },
            connections: 2,
            ..DEFAULT_COMPARISON
        }),
        target: None,
    },
    Row { name: "store, durable writes", kind: RowKind::Subcommand("store"), target: None },
    Row {
        name: "rate limit counters in memory",
        kind: RowKind::Subcommand("counters"),
        target: None,
    },
    Row {
        name: "evaluation without the network",
        kind: RowKind::Subcommand("evaluation-request"),
        target: None,
    },
    // Several nodes.
    cluster_row("shared: GET /pushrules/", READ_RULES_SHARED),
    cluster_row(
        "shared: GET one rule",
        Setup {
            prepare: |belfry| prepare_rules_request(belfry, "global/content/cake"),
            ..SHARED_SETUP
        },
    ),
    cluster_row(
        "shared: GET /pushrules/ without a cache",
        Setup { settings: NO_CACHE_SETTINGS, ..READ_RULES_SHARED },
    ),
    cluster_row(
        "shared: PUT rule",
        Setup { prepare: |_| Ok(rule_write_request()), ..SHARED_SETUP },
    ),
    cluster_row("shared: POST token", Setup { prepare: prepare_app_token_request, ..SHARED_SETUP }),
    cluster_row(
        "shared: gateway check",
        Setup { prepare: |_| Ok(gateway_check_request()), ..SHARED_SETUP },
    ),
    cluster_row(
        "shared: POST evaluate, 100 members with 10 rules each",
        Setup {
            settings: APPLICATION_SERVICE,
            prepare: |_| Ok(evaluation_request(FEW_MEMBERS)),
            ..SHARED_SETUP
        },
    ),
    Row {
        name: "pgbench: POST token, 64 connections",
        kind: RowKind::Pgbench(PgbenchComparison {
            setup: Setup { prepare: prepare_app_token_request, ..DEFAULT_SETUP },
            script: pgbench::TOKEN_SCRIPT,
            connections: 64,
        }),
        target: None,
    },
    Row {
        name: "pgbench: PUT rule, 64 connections",
        kind: RowKind::Pgbench(PgbenchComparison {
            setup: Setup {
                uses_redis: false,
                prepare: |_| Ok(rule_write_request()),
                ..SHARED_SETUP
            },
            script: pgbench::RULE_SCRIPT,
            connections: 64,
        }),
        target: None,
    },
    Row {
        name: "cold reads, against a bare select",
        kind: RowKind::Subcommand("uncached-reads"),
        target: None,
    },
    Row {
        name: "space of accounts, tokens, rules and counters",
        kind: RowKind::Storage(Setup {
            account_count: 50_000,
            settings: LARGE_CACHE_SETTINGS,
            ..READ_RULES_SHARED
        }),
        target: None,
    },
];

/// Returns a row that is measured with one, two and four nodes.
const fn cluster_row(name: &'static str, setup: Setup) -> Row {
    Row { name, kind: RowKind::Cluster(ClusterBenchmark { setup, connections: 64 }), target: None }
}
