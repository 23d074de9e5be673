//! What is measured: one entry each, to which an area adds its own.

use std::io;

use super::belfry::Belfry;
use super::load::{Begins, Load};
use super::program::Program;
use super::request::Request;
use super::setup::{Counters, Health, Setup};
use super::start::{Start, idle_memory, time_to_ready};

/// All limits count and tell, and none is ever reached. The numbers are about as long as those that
/// people set: wrk takes longer to read them than we to write them.
const WIDE_LIMITS: &str = "[limits.rows]\n\
    account = { requests = 9999999, window = \"1m\" }\n\
    ip = { requests = 9999999, window = \"1m\" }\n";

/// The second call of an address is refused.
const NARROW_LIMITS: &str = "[limits.rows]\nip = { requests = 1, window = \"1h\" }\n";

/// An application service may ask for everybody.
const FOR_EVALUATE: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench0\"\n\
    rate_limited = false\n\
    namespaces.users = [{ regex = \"@.*\" }]\n";

const MEMBERS: u32 = 10_000;

const RULES: &str = "/_matrix/client/v3/pushrules/";

/// A Belfry as most rows want it.
const BELFRY: Setup = Setup {
    serve: &[],
    settings: WIDE_LIMITS,
    accounts: 0,
    rules: false,
    counters: Counters::Memory,
    prepare: |_| Ok(Request::default()),
};

/// One that reads all rules of one account, over and over.
const READS: Setup = Setup { prepare: |belfry| read(belfry, ""), ..BELFRY };

/// One that reads all rules of any of a thousand accounts.
const READS_ANY: Setup = Setup { accounts: 1_000, prepare: |_| Ok(read_of_any()), ..BELFRY };

const READS_ANY_OF_A_MILLION: Setup = Setup { accounts: 1_000_000, ..READS_ANY };

/// A row as most are.
const ROW: Load = Load {
    name: "",
    connections: 16,
    floor: 0.75,
    ours: BELFRY,
    other: None,
    warm_up: 1,
    begins: Begins::AsItWas,
};

/// Paths, loaded side by side with a bare server or another Belfry.
pub(super) const LOADS: &[Load] = &[
    Load {
        name: "GET /healthz",
        floor: 0.9,
        ours: Setup { prepare: |_| Ok(Request::new("GET", "/healthz")), ..BELFRY },
        ..ROW
    },
    Load { name: "GET /pushrules/", ours: READS, ..ROW },
    Load {
        name: "GET one rule",
        ours: Setup { prepare: |belfry| read(belfry, "global/content/cake"), ..BELFRY },
        ..ROW
    },
    Load {
        name: "GET /pushrules/, limits on against off",
        floor: 0.93,
        ours: READS,
        other: Some(Setup { serve: &["--limits", "off"], ..READS }),
        begins: Begins::Anew,
        ..ROW
    },
    Load {
        name: "GET /pushrules/, 1,000,000 accounts against 1,000, warm",
        floor: 0.9,
        ours: READS_ANY_OF_A_MILLION,
        other: Some(READS_ANY),
        // All accounts are asked for once.
        warm_up: 120,
        ..ROW
    },
    Load {
        name: "GET /pushrules/, 1,000,000 accounts against 1,000, cold",
        floor: 0.0,
        ours: READS_ANY_OF_A_MILLION,
        other: Some(READS_ANY),
        begins: Begins::Cold,
        ..ROW
    },
    Load {
        name: "GET /pushrules/, counted in Redis",
        floor: 0.0,
        ours: Setup { counters: Counters::Redis(Health::Well), ..READS },
        ..ROW
    },
    Load {
        name: "GET /pushrules/, Redis hangs, against memory",
        floor: 0.0,
        ours: Setup { counters: Counters::Redis(Health::Hangs), ..READS },
        other: Some(READS),
        ..ROW
    },
    Load {
        name: "GET /pushrules/, Redis is gone, against memory",
        floor: 0.0,
        ours: Setup { counters: Counters::Redis(Health::Gone), ..READS },
        other: Some(READS),
        ..ROW
    },
    Load {
        name: "PUT rule, 64 connections, 64 accounts",
        connections: 64,
        floor: 0.35,
        ours: Setup { accounts: 64, prepare: |_| Ok(write_of_any()), ..BELFRY },
        ..ROW
    },
    Load {
        name: "POST token, client_credentials, 64 connections",
        connections: 64,
        floor: 0.35,
        ours: Setup { prepare: client_credentials, ..BELFRY },
        ..ROW
    },
    Load {
        name: "GET metadata",
        floor: 0.9,
        ours: Setup {
            prepare: |_| Ok(Request::new("GET", "/.well-known/oauth-authorization-server")),
            ..BELFRY
        },
        ..ROW
    },
    Load {
        name: "a refused call (429)",
        floor: 0.9,
        ours: Setup { settings: NARROW_LIMITS, prepare: refused, ..BELFRY },
        ..ROW
    },
    Load {
        name: "POST evaluate, 10,000 members with 10 rules each",
        connections: 2,
        floor: 0.0,
        ours: Setup {
            settings: FOR_EVALUATE,
            accounts: MEMBERS,
            rules: true,
            prepare: |_| Ok(evaluate()),
            ..BELFRY
        },
        ..ROW
    },
];

fn bearer(token: &str) -> Vec<(String, String)> {
    vec![("authorization".to_owned(), format!("Bearer {token}"))]
}

/// Reads below the push rules, as somebody who has one rule of their own.
fn read(belfry: &Belfry, path: &str) -> io::Result<Request> {
    belfry.command(&["account", "add", "ann"])?;
    let token = belfry.command(&["token", "issue", "ann", "--scopes", "push"])?;
    let headers = bearer(&token);
    let rule = format!("{RULES}global/content/cake");
    let body = r#"{"pattern":"cake","actions":["notify"]}"#.to_owned();
    belfry.ask(&Request { headers: headers.clone(), body, ..Request::new("PUT", &rule) })?;
    Ok(Request { headers, ..Request::new("GET", &format!("{RULES}{path}")) })
}

/// Reads the rules of any account.
fn read_of_any() -> Request {
    Request { headers: bearer("bench-{account}"), ..Request::new("GET", RULES) }
}

/// Replaces the rule of any account, or makes it.
fn write_of_any() -> Request {
    let body = r#"{"pattern":"cake{random}","actions":["notify"]}"#.to_owned();
    let path = format!("{RULES}global/content/cake");
    Request { headers: bearer("bench-{account}"), body, ..Request::new("PUT", &path) }
}

/// Asks for a token as an app that has just been registered.
fn client_credentials(belfry: &Belfry) -> io::Result<Request> {
    let form = vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
    let body = "client_name=Bench&redirect_uris=urn:ietf:wg:oauth:2.0:oob".to_owned();
    let register = Request { headers: form.clone(), body, ..Request::new("POST", "/api/v1/apps") };
    let app = String::from_utf8_lossy(&belfry.ask(&register)?.body).into_owned();
    let field = |name: &str| {
        let value = app.split(&format!("\"{name}\":\"")).nth(1)?.split('"').next()?;
        Some(value.to_owned())
    };
    let (Some(id), Some(secret)) = (field("client_id"), field("client_secret")) else {
        return Err(io::Error::other(app));
    };
    let body = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    Ok(Request { headers: form, body, ..Request::new("POST", "/oauth/token") })
}

/// Asks whom of a large room a message notifies. Two of the members' words are in it.
fn evaluate() -> Request {
    let member = |number: u32| {
        format!(r#"{{"user_id":"@bench{number}:127.0.0.1","display_name":"User Number{number}"}}"#)
    };
    let members: Vec<String> = (0..MEMBERS).map(member).collect();
    let event = r#"{"type":"m.room.message","room_id":"!room7:example.org","sender":"@user19999:example.org","content":{"msgtype":"m.text","body":"Could somebody bring word17 to the meeting? We also need word4242 before Friday!"}}"#;
    let members = members.join(",");
    let room = format!(r#"{{"member_count":{MEMBERS}}}"#);
    let body = format!(r#"{{"event":{event},"room":{room},"members":[{members}]}}"#);
    let path = "/_matrix/app/v1/evaluate";
    Request { headers: bearer("bench-service"), body, ..Request::new("POST", path) }
}

/// Asks once, so that every later call is over the limit.
fn refused(belfry: &Belfry) -> io::Result<Request> {
    let request = Request::new("GET", "/api/v1/instance");
    belfry.ask(&request)?;
    Ok(Request { status: Some(429), ..request })
}

/// What a Belfry costs before anybody calls.
pub(super) const STARTS: &[Start] = &[
    Start { name: "idle memory", unit: "MB", ceiling: 25.0, measure: idle_memory },
    Start {
        name: "start to ready, empty data",
        unit: "ms",
        ceiling: 100.0,
        measure: time_to_ready,
    },
];

/// Measurements of a part alone, in the package `bench`.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "the store alone", part: "store", arguments: &[], engines: true },
    Program { name: "counters in memory", part: "counters", arguments: &[], engines: false },
    Program { name: "an evaluation alone", part: "evaluate", arguments: &[], engines: false },
    Program { name: "verdicts beside ruma", part: "evaluation", arguments: &[], engines: false },
];

/// The names of all rows.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let loads = LOADS.iter().map(|row| row.name);
    loads.chain(STARTS.iter().map(|row| row.name)).chain(PROGRAMS.iter().map(|row| row.name))
}
