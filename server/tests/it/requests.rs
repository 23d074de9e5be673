//! Request ids, the access log, traces, and the request context in log lines.

mod access_log;
mod repeated_lines;

use std::collections::BTreeSet;
use std::path::Path;

use belfry_core::limits::forwarded::TrustedProxies;
use serde_json::Value;

use crate::support::process::{add_account, run_successfully};
use crate::support::service::config_with;
use crate::support::{Browser, ServerProcess, Service};

const RULES_PATH: &str = "/_matrix/client/v3/pushrules/";

pub(crate) fn parse_json_lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Issues a token for a user, with all scopes for push rules.
fn issue_token(dir: &Path, name: &str) -> String {
    let token = run_successfully(dir, &["token", "issue", name, "--scopes", "read write push"]);
    token.trim().to_owned()
}

fn is_generated_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[tokio::test]
async fn every_response_has_a_unique_request_id() {
    let service = Service::start_with(config_with(|config| {
        let limits = "[rows]\nip = { requests = 12 }";
        config.limits = toml::from_str(limits).unwrap();
    }))
    .await;
    let client = service.anonymous_client();
    let mut ids = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for target in [
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
        "GET /nothing",
        "HEAD /api/v1/instance",
        "OPTIONS /api/v1/apps",
        "DELETE /api/v1/apps",
        "GET /_matrix/client/versions",
        "GET /_matrix/client/v3/pushrules/",
        "PUT /_matrix/client/v3/pushrules/global/room/a",
        "POST /oauth/token",
        "GET /oauth/account",
        "GET /oauth/authorize",
        "GET /gateway/check",
        "GET /api/v1/instance",
        "GET /api/v1/instance",
        "GET /api/v1/instance",
        "GET /oauth/sign_in",
        "GET /gateway/check",
    ] {
        let response = client.send(target, "").await;
        let id = response.header("x-request-id").to_owned();
        assert!(is_generated_id(&id), "{target}: {id}");
        assert!(ids.insert(id), "{target}");
        statuses.insert(response.status);
    }
    for status in [200, 204, 303, 400, 401, 404, 405, 429] {
        assert!(statuses.contains(&status), "{status} is tested: {statuses:?}");
    }
}

#[tokio::test]
async fn only_a_trusted_proxy_can_set_the_request_id() {
    let service = Service::start_with(config_with(|config| {
        config.trusted_proxies = TrustedProxies(vec!["192.0.2.1".parse().unwrap()]);
    }))
    .await;
    let proxy = service.anonymous_client();
    for path in ["/healthz", "/api/v1/instance", "/nothing", RULES_PATH] {
        let longest_id = "x".repeat(64);
        for id in ["proxy-1.2_3", "7b8e6f0e-6c1d-4b5e-9d0a-1f2e3d4c5b6a", &longest_id] {
            let response = proxy.with_header("x-request-id", id).get(path).await;
            assert_eq!(response.header("x-request-id"), id, "{path}");
        }
        let too_long_id = "x".repeat(65);
        for id in ["", "a b", "a\"b", "a=b", "{}", "a,b", "a;b", "<a>", &too_long_id] {
            let response = proxy.with_header("x-request-id", id).get(path).await;
            assert!(is_generated_id(response.header("x-request-id")), "{path}: {response:?}");
        }
        let client_with_two_ids =
            proxy.with_header("x-request-id", "one").with_header("x-request-id", "two");
        assert!(
            is_generated_id(client_with_two_ids.get(path).await.header("x-request-id")),
            "{path}"
        );
        let untrusted_client =
            proxy.with_address([198, 51, 100, 1]).with_header("x-request-id", "from-the-client");
        assert!(is_generated_id(untrusted_client.get(path).await.header("x-request-id")), "{path}");
    }
}

/// The error comes from the store, whose code has no access to the request.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_line_contains_the_request_with_its_account_and_app() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let server = ServerProcess::start(dir.path(), &["--log-level", "error"]);
    let token = issue_token(dir.path(), "alice");
    let database = rusqlite::Connection::open(dir.path().join("data/belfry.db")).unwrap();
    database.execute_batch("alter table rulesets rename to hidden").unwrap();
    let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    let request = reqwest::Client::new()
        .get(format!("{}{RULES_PATH}?a=b", server.url))
        .bearer_auth(&token)
        .header("x-request-id", "from-the-client")
        .header("traceparent", format!("00-{trace_id}-b7ad6b7169203331-01"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 500);
    let id = response.headers()["x-request-id"].to_str().unwrap();
    assert!(is_generated_id(id), "{id}");

    let log = server.log();
    let [line] = &*parse_json_lines(&log) else { panic!("{log}") };
    assert_eq!((&line["level"], &line["message"]), (&"ERROR".into(), &"database error".into()));
    let request = &line["request"];
    for (field, expected) in [
        ("id", id),
        ("trace_id", trace_id),
        ("method", "GET"),
        ("route", "/{segment}/client/{api}/pushrules/"),
    ] {
        assert_eq!(request[field], expected, "{line}");
    }
    assert!(request["account"].is_string() && request["app"].is_string(), "{line}");
    assert!(!log.contains(&token), "{log}");
}

/// The log line has the id twice: in the audit event, and in the request context.
#[tokio::test(flavor = "multi_thread")]
async fn an_audit_event_and_its_log_line_have_the_request_id_of_the_response() {
    let dir = tempfile::tempdir().unwrap();
    let password = add_account(dir.path(), "alice");
    let server = ServerProcess::start(dir.path(), &["--log-level", "error"]);
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", "alice"), ("password", &*password)];
    let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
    assert_eq!(response.status, 303);
    let id = response.header("x-request-id");

    let log = server.log();
    let [line] = &*parse_json_lines(&log) else { panic!("{log}") };
    assert_eq!(line["kind"], "sign_in");
    assert_eq!((&line["request_id"], &line["request"]["id"]), (&id.into(), &id.into()), "{line}");
    assert_eq!(line["request"]["route"], "/oauth/sign_in");
    let events = run_successfully(dir.path(), &["audit", "--json"]);
    let event =
        parse_json_lines(&events).into_iter().find(|event| event["kind"] == "sign_in").unwrap();
    assert_eq!(event["request_id"], id, "{event}");
}

/// Returns the integers in a value that JavaScript and jq would round, because they are above 2^53.
fn rounded_integers(value: &Value) -> Vec<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().into_iter().filter(|integer| *integer > 1 << 53).collect()
        }
        Value::Array(values) => values.iter().flat_map(rounded_integers).collect(),
        Value::Object(members) => members.values().flat_map(rounded_integers).collect(),
        _ => Vec::new(),
    }
}

/// Covers the access log, stored and counted audit events, and lines about accounts and apps.
#[tokio::test(flavor = "multi_thread")]
async fn ids_in_the_log_are_strings() {
    let dir = tempfile::tempdir().unwrap();
    let password = add_account(dir.path(), "alice");
    let token = issue_token(dir.path(), "alice");
    let output = run_successfully(dir.path(), &["app", "add", "Tusky", "--json"]);
    let app: Value = serde_json::from_str(&output).unwrap();
    let arguments = ["--log-level", "debug", "--log-access", "all"];
    let mut server = ServerProcess::start(dir.path(), &arguments);
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    for (password, status) in [("wrong horse", 401), (&*password, 303)] {
        let fields = [("username", "alice"), ("password", password)];
        assert_eq!(browser.submit(&page, "/oauth/sign_in", &fields).await.status, status);
    }
    let client = reqwest::Client::new();
    let credentials = ["client_id", "client_secret"].map(|key| (key, app[key].as_str().unwrap()));
    let post = async |path: &str, fields: &[(&str, &str)]| {
        let form = [&credentials, fields].concat();
        let request = client.post(format!("{}{path}", server.url)).form(&form);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(post("/oauth/token", &[("grant_type", "client_credentials")]).await, 200);
    let code_fields =
        [("grant_type", "authorization_code"), ("code", "wrong"), ("redirect_uri", "a:b")];
    assert_eq!(post("/oauth/token", &code_fields).await, 400);
    let response =
        client.get(format!("{}{RULES_PATH}", server.url)).bearer_auth(&token).send().await;
    assert_eq!(response.unwrap().status(), 200);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));

    let log = server.log();
    let lines = parse_json_lines(&log);
    for line in &lines {
        assert_eq!(rounded_integers(line), [0; 0], "{line}");
    }
    let assert_logged = |field: &str, target: &str, id: &str| {
        let has_id = |line: &Value| {
            line["target"] == target && line.pointer(field).is_some_and(|value| value == id)
        };
        assert!(lines.iter().any(has_id), "{field} of {target}: {log}");
    };
    let id = app["id"].as_str().unwrap();
    assert_logged("/request/app", "belfry::access", id);
    assert_logged("/app", "belfry::audit", id);
    let output = run_successfully(dir.path(), &["account", "show", "alice", "--json"]);
    let account: Value = serde_json::from_str(&output).unwrap();
    let id = account["id"].as_str().unwrap();
    assert_logged("/request/account", "belfry::access", id);
    assert_logged("/account", "belfry::audit", id);
}
