//! The rows of the table: the measurements and their performance targets.

use super::compare::{Comparison, Reference};
use super::line::Target;
use super::measure::{Kind, Row};
use super::nodes::Nodes;
use super::pgbench::{self, Pgbench};
use super::request::Request;
use super::row_requests::{
    client_credentials, evaluate, exhaust_limit, gateway_check, read_rules, read_rules_of_account,
    write_rule,
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

/// Members of the room in the evaluation row.
const MEMBERS: u32 = 10_000;

/// Members of the room in the evaluation row with several nodes.
const FEW_MEMBERS: u32 = 100;

const DEFAULT_SETUP: Setup = Setup {
    arguments: &[],
    settings: WIDE_LIMITS,
    accounts: 0,
    rules: false,
    redis: false,
    prepare: |_| Ok(Request::default()),
};

/// Reads all push rules of one account.
const READ_RULES: Setup = Setup { prepare: |belfry| read_rules(belfry, ""), ..DEFAULT_SETUP };

/// Reads all push rules of a random account.
const READ_RULES_OF_1_000: Setup =
    Setup { accounts: 1_000, prepare: |_| Ok(read_rules_of_account()), ..DEFAULT_SETUP };

/// Accounts with ten rules each, and limits in Redis.
const SHARED: Setup = Setup { accounts: 10_000, rules: true, redis: true, ..DEFAULT_SETUP };

/// Reads all push rules of a random account, on several nodes.
const READ_RULES_SHARED: Setup = Setup { prepare: READ_RULES_OF_1_000.prepare, ..SHARED };

/// The limits of [`WIDE_LIMITS`] without a cache.
const NO_CACHE: &str = "[store]\ncache_bytes = 0\n[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// The limits of [`WIDE_LIMITS`] with a cache that is large enough for the rules of all accounts.
const LARGE_CACHE: &str = "[store]\ncache_bytes = 4294967296\n[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

const COMPARISON: Comparison = Comparison {
    setup: DEFAULT_SETUP,
    reference: Reference::Bare,
    connections: 16,
    warm_up: 1,
    restart: true,
};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "GET /pushrules/",
        kind: Kind::Throughput(Comparison { setup: READ_RULES, ..COMPARISON }),
        target: Some(Target::AtLeast(0.75)),
    },
    Row {
        name: "GET one rule",
        kind: Kind::Throughput(Comparison {
            setup: Setup {
                prepare: |belfry| read_rules(belfry, "global/content/cake"),
                ..DEFAULT_SETUP
            },
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.70)),
    },
    Row {
        name: "GET /pushrules/, limits on against off",
        kind: Kind::Throughput(Comparison {
            setup: READ_RULES,
            reference: Reference::Belfry(Setup { arguments: &["--limits", "off"], ..READ_RULES }),
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.85)),
    },
    Row {
        name: "PUT rule, 64 connections, 64 accounts",
        kind: Kind::Throughput(Comparison {
            setup: Setup { accounts: 64, prepare: |_| Ok(write_rule()), ..DEFAULT_SETUP },
            connections: 64,
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.35)),
    },
    Row {
        name: "POST token, client_credentials, 64 connections",
        kind: Kind::Throughput(Comparison {
            setup: Setup { prepare: client_credentials, ..DEFAULT_SETUP },
            connections: 64,
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.35)),
    },
    Row {
        name: "rejected request (429)",
        kind: Kind::Throughput(Comparison {
            setup: Setup { settings: NARROW_LIMITS, prepare: exhaust_limit, ..DEFAULT_SETUP },
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.9)),
    },
    Row {
        name: "GET /pushrules/, 1,000,000 accounts against 1,000",
        kind: Kind::Throughput(Comparison {
            setup: Setup { accounts: 1_000_000, ..READ_RULES_OF_1_000 },
            reference: Reference::Belfry(READ_RULES_OF_1_000),
            // Requests every account once.
            warm_up: 120,
            restart: false,
            ..COMPARISON
        }),
        target: Some(Target::AtLeast(0.9)),
    },
    Row {
        name: "latency while expensive push rules are evaluated",
        kind: Kind::Overload(
            Setup {
                arguments: &["--limits", "off"],
                settings: APPLICATION_SERVICE,
                prepare: client_credentials,
                ..DEFAULT_SETUP
            },
            SERVICE_TOKEN,
        ),
        target: None,
    },
    Row {
        name: "push rule evaluation, against ruma",
        kind: Kind::Part("evaluation"),
        target: None,
    },
    Row {
        name: "backup and restore, 1,000,000 accounts with 10 rules each",
        kind: Kind::Part("backup"),
        target: None,
    },
    Row { name: "idle memory", kind: Kind::IdleMemory, target: Some(Target::AtMost(25.0)) },
    Row {
        name: "start to ready, empty data",
        kind: Kind::StartTime,
        target: Some(Target::AtMost(100.0)),
    },
    // The remaining rows have no target.
    Row {
        name: "GET /healthz",
        kind: Kind::Throughput(Comparison {
            setup: Setup { prepare: |_| Ok(Request::new("GET", "/healthz")), ..DEFAULT_SETUP },
            ..COMPARISON
        }),
        target: None,
    },
    Row {
        name: "GET metadata",
        kind: Kind::Throughput(Comparison {
            setup: Setup {
                prepare: |_| Ok(Request::new("GET", "/.well-known/oauth-authorization-server")),
                ..DEFAULT_SETUP
            },
            ..COMPARISON
        }),
        target: None,
    },
    Row {
        name: "GET /pushrules/, limits in Redis against memory",
        kind: Kind::Throughput(Comparison {
            setup: Setup { redis: true, ..READ_RULES },
            reference: Reference::Belfry(READ_RULES),
            ..COMPARISON
        }),
        target: None,
    },
    Row {
        name: "POST evaluate, 10,000 members with 10 rules each",
        kind: Kind::Throughput(Comparison {
            setup: Setup {
                settings: APPLICATION_SERVICE,
                accounts: MEMBERS,
                rules: true,
                prepare: |_| Ok(evaluate(MEMBERS)),
                ..DEFAULT_SETUP
            },
            connections: 2,
            ..COMPARISON
        }),
        target: None,
    },
    Row { name: "store, durable writes", kind: Kind::Part("store"), target: None },
    Row { name: "rate limit counters in memory", kind: Kind::Part("counters"), target: None },
    Row { name: "evaluation without the network", kind: Kind::Part("evaluate"), target: None },
    // Several nodes.
    shared("shared: GET /pushrules/", READ_RULES_SHARED),
    shared(
        "shared: GET one rule",
        Setup { prepare: |belfry| read_rules(belfry, "global/content/cake"), ..SHARED },
    ),
    shared(
        "shared: GET /pushrules/ without a cache",
        Setup { settings: NO_CACHE, ..READ_RULES_SHARED },
    ),
    shared("shared: PUT rule", Setup { prepare: |_| Ok(write_rule()), ..SHARED }),
    shared("shared: POST token", Setup { prepare: client_credentials, ..SHARED }),
    shared("shared: gateway check", Setup { prepare: |_| Ok(gateway_check()), ..SHARED }),
    shared(
        "shared: POST evaluate, 100 members with 10 rules each",
        Setup { settings: APPLICATION_SERVICE, prepare: |_| Ok(evaluate(FEW_MEMBERS)), ..SHARED },
    ),
    Row {
        name: "pgbench: POST token, 64 connections",
        kind: Kind::Pgbench(Pgbench {
            setup: Setup { prepare: client_credentials, ..DEFAULT_SETUP },
            script: pgbench::TOKEN,
            connections: 64,
        }),
        target: None,
    },
    Row {
        name: "pgbench: PUT rule, 64 connections",
        kind: Kind::Pgbench(Pgbench {
            setup: Setup { redis: false, prepare: |_| Ok(write_rule()), ..SHARED },
            script: pgbench::RULE,
            connections: 64,
        }),
        target: None,
    },
    Row { name: "cold reads, against a bare select", kind: Kind::Part("cold"), target: None },
    Row {
        name: "space of accounts, tokens, rules and counters",
        kind: Kind::Storage(Setup { accounts: 50_000, settings: LARGE_CACHE, ..READ_RULES_SHARED }),
        target: None,
    },
];

/// Returns a row that is measured with one, two and four nodes.
const fn shared(name: &'static str, setup: Setup) -> Row {
    Row { name, kind: Kind::Nodes(Nodes { setup, connections: 64 }), target: None }
}
