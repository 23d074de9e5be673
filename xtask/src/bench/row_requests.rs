//! The requests of the rows, and their preparation.

use std::io;

use crate::bench::request::Request;
use crate::bench::setup::RunningBelfry;

const PUSH_RULES: &str = "/_matrix/client/v3/pushrules/";

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Returns a request that reads all push rules of a random account.
pub(super) fn random_rules_request() -> Request {
    Request::new("GET", PUSH_RULES).with_bearer("{token}")
}

/// Creates an account with one push rule, and returns a request that reads its rules at `path`.
pub(super) fn prepare_rules_request(belfry: &RunningBelfry<'_>, path: &str) -> io::Result<Request> {
    belfry.run(&["account", "add", "ann"])?;
    let token = belfry.run(&["token", "issue", "ann", "--scopes", "push"])?;
    let put = Request::new("PUT", &format!("{PUSH_RULES}global/content/cake")).with_bearer(&token);
    belfry.send(&put.with_body(JSON, r#"{"pattern":"cake","actions":["notify"]}"#))?;
    Ok(Request::new("GET", &format!("{PUSH_RULES}{path}")).with_bearer(&token))
}

/// Returns a request that creates or replaces a push rule of a random account.
pub(super) fn rule_write_request() -> Request {
    Request::new("PUT", &format!("{PUSH_RULES}global/content/cake"))
        .with_bearer("{token}")
        .with_body(JSON, r#"{"pattern":"cake{random}","actions":["notify"]}"#)
}

/// Returns a gateway check for a random account.
pub(super) fn gateway_check_request() -> Request {
    Request::new("GET", "/gateway/check/api/v1/timelines/home").with_bearer("{token}")
}

/// Registers an app, and returns a request for an app token.
pub(super) fn prepare_app_token_request(belfry: &RunningBelfry<'_>) -> io::Result<Request> {
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
pub(super) fn evaluation_request(members: u32) -> Request {
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
pub(super) fn notify_request(members: u32) -> Request {
    let request = evaluation_request(members);
    let body = request.body.replacen(r#""type""#, r#""event_id":"${round}","type""#, 1);
    Request { path: "/_matrix/app/v1/notify".to_owned(), body, ..request }
}

/// Exhausts the limit, and returns a request that is therefore rejected.
pub(super) fn prepare_rejected_request(belfry: &RunningBelfry<'_>) -> io::Result<Request> {
    let request = Request::new("GET", "/api/v1/instance");
    belfry.send(&request)?;
    Ok(Request { expected_status: Some(429), ..request })
}
