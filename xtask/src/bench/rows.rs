//! The rows of the table: the measurements and their performance targets.

use std::io;

use super::compare::{Comparison, Reference};
use super::delivery::ACCOUNTS;
use super::distant_delivery::DistantOrigin;
use super::line::Target;
use super::measure::{Row, RowKind};
use super::request::Request;
use super::setup::{RunningBelfry, Setup};

/// Rate limits that are counted and reported but never reached. The numbers have about as many
/// digits as in practice, because the length of the headers affects wrk.
const WIDE_LIMITS: &str = "[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// Rejects the second request from an address.
const NARROW_LIMITS: &str = "[limits.rows]\nip = { requests = 1, window = \"1h\" }\n";

/// An application service that may act for every user.
const APPLICATION_SERVICE: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n";

const DELIVERY: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n\
    [push]\n\
    contact = \"mailto:ops@ring.example\"\n\
    allowed_networks = [\"127.0.0.0/8\"]\n";

const MEMBERS: u32 = 10_000;

const PUSH_RULES: &str = "/_matrix/client/v3/pushrules/";
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const DEFAULT_SETUP: Setup = Setup {
    arguments: &[],
    settings: WIDE_LIMITS,
    account_count: 0,
    has_rules: false,
    uses_redis: false,
    prepare: |_| Ok(Request::default()),
};

const READ_RULES: Setup =
    Setup { prepare: |belfry| prepare_rules_request(belfry, ""), ..DEFAULT_SETUP };

/// Reads all push rules of a random account.
const READ_RULES_OF_1_000: Setup = Setup {
    account_count: 1_000,
    prepare: |_| Ok(Request::new("GET", PUSH_RULES).with_bearer("{token}")),
    ..DEFAULT_SETUP
};

const DEFAULT_COMPARISON: Comparison = Comparison {
    setup: DEFAULT_SETUP,
    reference: Reference::Bare,
    connections: 16,
    warm_up_seconds: 1,
    restarts_processes: true,
};

pub(super) const ROWS: &[Row] = &[
    throughput(
        "GET /pushrules/",
        Some(0.78),
        Comparison { setup: READ_RULES, ..DEFAULT_COMPARISON },
    ),
    throughput(
        "GET one rule",
        Some(0.72),
        Comparison {
            setup: Setup {
                prepare: |belfry| prepare_rules_request(belfry, "global/content/cake"),
                ..DEFAULT_SETUP
            },
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "GET /pushrules/, limits on against off",
        Some(0.85),
        Comparison {
            setup: READ_RULES,
            reference: Reference::Belfry(Setup { arguments: &["--limits", "off"], ..READ_RULES }),
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "PUT rule, 64 connections, 64 accounts",
        Some(0.42),
        Comparison {
            setup: Setup {
                account_count: 64,
                prepare: |_| Ok(rule_write_request()),
                ..DEFAULT_SETUP
            },
            connections: 64,
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "POST token, client_credentials, 64 connections",
        Some(0.42),
        Comparison {
            setup: Setup { prepare: prepare_app_token_request, ..DEFAULT_SETUP },
            connections: 64,
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "rejected request (429)",
        Some(0.9),
        Comparison {
            setup: Setup {
                settings: NARROW_LIMITS,
                prepare: prepare_rejected_request,
                ..DEFAULT_SETUP
            },
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "GET /pushrules/, 1,000,000 accounts against 1,000",
        Some(0.9),
        Comparison {
            setup: Setup { account_count: 1_000_000, ..READ_RULES_OF_1_000 },
            reference: Reference::Belfry(READ_RULES_OF_1_000),
            // Requests every account once.
            warm_up_seconds: 120,
            restarts_processes: false,
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "GET /healthz",
        None,
        Comparison {
            setup: Setup { prepare: |_| Ok(Request::new("GET", "/healthz")), ..DEFAULT_SETUP },
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "GET /pushrules/, limits in Redis against memory",
        None,
        Comparison {
            setup: Setup { uses_redis: true, ..READ_RULES },
            reference: Reference::Belfry(READ_RULES),
            ..DEFAULT_COMPARISON
        },
    ),
    throughput(
        "POST evaluate, 10,000 members with 10 rules each",
        None,
        Comparison {
            setup: Setup {
                settings: APPLICATION_SERVICE,
                account_count: MEMBERS,
                has_rules: true,
                prepare: |_| Ok(evaluation_request(MEMBERS)),
                ..DEFAULT_SETUP
            },
            connections: 2,
            ..DEFAULT_COMPARISON
        },
    ),
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
    distant_delivery(
        "one event to 10,000 devices, HTTP/2 after 100 ms",
        DistantOrigin { delay_ms: 100, is_http1: false, max_in_flight: None },
        Some(Target::AtMost(5.0)),
    ),
    distant_delivery(
        "one event to 10,000 devices, HTTP/2 after 300 ms",
        DistantOrigin { delay_ms: 300, is_http1: false, max_in_flight: None },
        Some(Target::AtMost(10.0)),
    ),
    distant_delivery(
        "one event to 10,000 devices, HTTP/1.1 after 100 ms",
        DistantOrigin { delay_ms: 100, is_http1: true, max_in_flight: None },
        Some(Target::AtLeast(1000.0)),
    ),
    distant_delivery(
        "one event to 10,000 devices, HTTP/2 after 100 ms, 429 above 100 in flight",
        DistantOrigin { delay_ms: 100, is_http1: false, max_in_flight: Some(100) },
        None,
    ),
    Row { name: "idle memory", kind: RowKind::IdleMemory(""), target: Some(Target::AtMost(25.0)) },
    Row {
        name: "idle memory with delivery",
        kind: RowKind::IdleMemory(DELIVERY),
        target: Some(Target::AtMost(25.0)),
    },
    Row {
        name: "start to ready, empty data",
        kind: RowKind::StartupTime,
        target: Some(Target::AtMost(100.0)),
    },
];

const fn distant_delivery(
    name: &'static str,
    origin: DistantOrigin,
    target: Option<Target>,
) -> Row {
    let setup = Setup {
        settings: DELIVERY,
        account_count: ACCOUNTS,
        prepare: |_| Ok(notify_request(ACCOUNTS)),
        ..DEFAULT_SETUP
    };
    Row { name, kind: RowKind::DistantDelivery(setup, origin), target }
}

const fn throughput(name: &'static str, target: Option<f64>, comparison: Comparison) -> Row {
    let target = match target {
        Some(ratio) => Some(Target::AtLeast(ratio)),
        None => None,
    };
    Row { name, kind: RowKind::Throughput(comparison), target }
}

/// Creates an account with one push rule, and returns a request that reads its rules at `path`.
fn prepare_rules_request(belfry: &RunningBelfry<'_>, path: &str) -> io::Result<Request> {
    belfry.run(&["account", "add", "ann"])?;
    let token = belfry.run(&["token", "issue", "ann", "--scopes", "push"])?;
    let put = Request::new("PUT", &format!("{PUSH_RULES}global/content/cake")).with_bearer(&token);
    belfry.send(&put.with_body(JSON, r#"{"pattern":"cake","actions":["notify"]}"#))?;
    Ok(Request::new("GET", &format!("{PUSH_RULES}{path}")).with_bearer(&token))
}

/// Returns a request that creates or replaces a push rule of a random account.
fn rule_write_request() -> Request {
    Request::new("PUT", &format!("{PUSH_RULES}global/content/cake"))
        .with_bearer("{token}")
        .with_body(JSON, r#"{"pattern":"cake{random}","actions":["notify"]}"#)
}

/// Registers an app, and returns a request for an app token.
fn prepare_app_token_request(belfry: &RunningBelfry<'_>) -> io::Result<Request> {
    let register = Request::new("POST", "/api/v1/apps")
        .with_body(FORM, "client_name=Bench&redirect_uris=urn:ietf:wg:oauth:2.0:oob");
    let app = String::from_utf8_lossy(&belfry.send(&register)?.body).into_owned();
    let field = |name: &str| {
        let value = app.split(&format!("\"{name}\":\"")).nth(1)?.split('"').next()?;
        Some(value.to_owned())
    };
    let (Some(id), Some(secret)) = (field("client_id"), field("client_secret")) else {
        return Err(io::Error::other(app));
    };
    let body = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    Ok(Request::new("POST", "/oauth/token").with_body(FORM, body))
}

/// Returns a request that evaluates a message for this many members of a room. The message contains
/// keywords of some members.
fn evaluation_request(members: u32) -> Request {
    let member = |number: u32| {
        format!(r#"{{"user_id":"@bench{number}:127.0.0.1","display_name":"User Number{number}"}}"#)
    };
    let member_list = (0..members).map(member).collect::<Vec<_>>().join(",");
    let event = r#"{"type":"m.room.message","room_id":"!room7:example.org","sender":"@user19999:example.org","content":{"msgtype":"m.text","body":"Could somebody bring word17 to the meeting? We also need word4242 before Friday!"}}"#;
    let room = format!(r#"{{"member_count":{members}}}"#);
    let body = format!(r#"{{"event":{event},"room":{room},"members":[{member_list}]}}"#);
    Request::new("POST", "/_matrix/app/v1/evaluate")
        .with_bearer("bench-service")
        .with_body(JSON, body)
}

/// Returns a request that sends an event to this many members of a room. The caller must
/// replace `{round}` in the event id, because each event is delivered once.
fn notify_request(members: u32) -> Request {
    let request = evaluation_request(members);
    let body = request.body.replacen(r#""type""#, r#""event_id":"${round}","type""#, 1);
    Request { path: "/_matrix/app/v1/notify".to_owned(), body, ..request }
}

/// Exhausts the limit, and returns a request that is therefore rejected.
fn prepare_rejected_request(belfry: &RunningBelfry<'_>) -> io::Result<Request> {
    let request = Request::new("GET", "/api/v1/instance");
    belfry.send(&request)?;
    Ok(Request { expected_status: Some(429), ..request })
}
