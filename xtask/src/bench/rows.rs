//! The rows of the table: the measurements and their performance targets.

use std::io;

use super::compare::{Comparison, Reference};
use super::measure::{Kind, Row, Target};
use super::request::Request;
use super::setup::{Belfry, Setup};

/// Rate limits that are counted and reported but never reached. The numbers have about as many
/// digits as in practice, because the length of the headers affects wrk.
const WIDE_LIMITS: &str = "[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// Rejects the second request of an address.
const NARROW_LIMITS: &str = "[limits.rows]\nip = { requests = 1, window = \"1h\" }\n";

/// The token of [`APPLICATION_SERVICE`].
const SERVICE_TOKEN: &str = "bench-service";

/// An application service that may act for every user.
const APPLICATION_SERVICE: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n";

const PUSH_RULES: &str = "/_matrix/client/v3/pushrules/";

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Members of the room in the evaluation row.
const MEMBERS: u32 = 10_000;

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
const READ_RULES_OF_1_000: Setup = Setup {
    accounts: 1_000,
    prepare: |_| Ok(Request::new("GET", PUSH_RULES).with_bearer("{token}")),
    ..DEFAULT_SETUP
};

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
            setup: Setup { settings: NARROW_LIMITS, prepare: rejected, ..DEFAULT_SETUP },
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
    // Without a target.
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
                prepare: |_| Ok(evaluate()),
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
];

/// Creates an account with one push rule and reads its rules at this path.
fn read_rules(belfry: &Belfry<'_>, path: &str) -> io::Result<Request> {
    belfry.command(&["account", "add", "ann"])?;
    let token = belfry.command(&["token", "issue", "ann", "--scopes", "push"])?;
    let put = Request::new("PUT", &format!("{PUSH_RULES}global/content/cake")).with_bearer(&token);
    belfry.send(&put.with_body(JSON, r#"{"pattern":"cake","actions":["notify"]}"#))?;
    Ok(Request::new("GET", &format!("{PUSH_RULES}{path}")).with_bearer(&token))
}

/// Creates or replaces a push rule of a random account.
fn write_rule() -> Request {
    Request::new("PUT", &format!("{PUSH_RULES}global/content/cake"))
        .with_bearer("{token}")
        .with_body(JSON, r#"{"pattern":"cake{random}","actions":["notify"]}"#)
}

/// Registers an app and requests an app-level token.
fn client_credentials(belfry: &Belfry<'_>) -> io::Result<Request> {
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

/// Evaluates a message for all members of a large room. It contains keywords of some of them.
fn evaluate() -> Request {
    let member = |number: u32| {
        format!(r#"{{"user_id":"@bench{number}:127.0.0.1","display_name":"User Number{number}"}}"#)
    };
    let members = (0..MEMBERS).map(member).collect::<Vec<_>>().join(",");
    let event = r#"{"type":"m.room.message","room_id":"!room7:example.org","sender":"@user19999:example.org","content":{"msgtype":"m.text","body":"Could somebody bring word17 to the meeting? We also need word4242 before Friday!"}}"#;
    let room = format!(r#"{{"member_count":{MEMBERS}}}"#);
    let body = format!(r#"{{"event":{event},"room":{room},"members":[{members}]}}"#);
    Request::new("POST", "/_matrix/app/v1/evaluate")
        .with_bearer("bench-service")
        .with_body(JSON, body)
}

/// Uses up the limit, so that all further requests are rejected.
fn rejected(belfry: &Belfry<'_>) -> io::Result<Request> {
    let request = Request::new("GET", "/api/v1/instance");
    belfry.send(&request)?;
    Ok(Request { status: Some(429), ..request })
}
