//! The access log.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use super::{RULES_PATH, is_generated_id, issue_token, parse_json_lines};
use crate::support::ServerProcess;
use crate::support::process::{add_account, run_successfully};

/// Starts a server with the given settings in `belfry.toml`.
fn start_with_settings(dir: &Path, settings: &str) -> ServerProcess {
    std::fs::write(dir.join("belfry.toml"), settings).unwrap();
    ServerProcess::start(dir, &[])
}

/// Returns the method, route, path and status in each line of the access log.
fn access_log_summaries(log: &str) -> Vec<Value> {
    let lines = parse_json_lines(log).into_iter();
    let access_lines = lines.filter(|line| line["target"] == "belfry::access");
    access_lines
        .map(|line| {
            let request = &line["request"];
            json!([request["method"], request["route"], line["path"], line["status"]])
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_describes_a_request_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let token = issue_token(dir.path(), "alice");
    let add_app = ["app", "add", "Tusky", "--redirect-uri", "https://app.example/cb", "--json"];
    let output = run_successfully(dir.path(), &add_app);
    let app: Value = serde_json::from_str(&output).unwrap();
    let settings = "trusted_proxies = ['127.0.0.1']\n[log]\naccess = 'all'\nlevel = 'error'";
    let server = start_with_settings(dir.path(), settings);
    let client = reqwest::Client::builder().user_agent("Tusky/1.0 \"x\"").build().unwrap();
    let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    let response = client
        .get(format!("{}{RULES_PATH}?access_token={token}", server.url))
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-request-id", "proxy-1")
        .header("traceparent", format!("00-{trace_id}-b7ad6b7169203331-01"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let body_bytes = response.content_length().unwrap();
    let token_fields = [
        ("grant_type", "client_credentials"),
        ("client_id", app["client_id"].as_str().unwrap()),
        ("client_secret", app["client_secret"].as_str().unwrap()),
    ];
    let response = client
        .post(format!("{}/oauth/token", server.url))
        .form(&token_fields)
        .header("traceparent", format!("00-{trace_id}-0000000000000000-01"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let token_response: Value = response.json().await.unwrap();
    let query = [
        ("response_type", "code"),
        ("client_id", app["client_id"].as_str().unwrap()),
        ("redirect_uri", "https://app.example/cb"),
    ];
    let authorize_request = client.get(format!("{}/oauth/authorize", server.url)).query(&query);
    assert_eq!(authorize_request.send().await.unwrap().status(), 200);

    let log = server.log();
    let [rules_line, token_line, authorize_line] = &*parse_json_lines(&log) else {
        panic!("{log}")
    };
    let account = rules_line["request"]["account"].as_str().unwrap();
    let mut actual = rules_line.clone();
    for (field, is_valid) in [
        ("timestamp", rules_line["timestamp"].is_string()),
        ("duration_us", rules_line["duration_us"].is_u64()),
    ] {
        assert!(is_valid, "{rules_line}");
        actual.as_object_mut().unwrap().remove(field);
    }
    let expected = json!({
        "level": "INFO",
        "message": "request",
        "target": "belfry::access",
        "path": RULES_PATH,
        "status": 200,
        "bytes": body_bytes,
        "address": "203.0.113.9",
        "user_agent": "Tusky/1.0 \"x\"",
        "request": {
            "id": "proxy-1",
            "trace_id": trace_id,
            "method": "GET",
            "route": "/{segment}/client/{api}/pushrules/",
            "account": account,
            "app": rules_line["request"]["app"].as_str().unwrap(),
        },
    });
    assert_eq!(actual, expected);

    assert!(is_generated_id(token_line["request"]["id"].as_str().unwrap()), "{token_line}");
    assert_eq!(token_line["address"], "127.0.0.1");
    assert_eq!(token_line["request"]["app"], app["id"], "{token_line}");
    assert_eq!(token_line["request"].get("account"), None, "{token_line}");
    assert_eq!(authorize_line["request"]["app"], app["id"], "{authorize_line}");
    assert_eq!(
        token_line["request"].get("trace_id"),
        None,
        "the parent id is invalid: {token_line}"
    );
    let secrets = [
        &token,
        app["client_secret"].as_str().unwrap(),
        token_response["access_token"].as_str().unwrap(),
        "access_token",
    ];
    for secret in secrets {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[tokio::test]
async fn the_setting_selects_all_requests_errors_or_none() {
    let health_request = ("GET", "/healthz", 200);
    let unknown_path = ("GET", "/nothing", 404);
    let wrong_method = ("PATCH", "/oauth/token", 405);
    let unknown_method = ("INVENTED", "/healthz", 405);
    for (access, expected) in [
        ("off", &[][..]),
        ("errors", &[unknown_path, wrong_method, unknown_method]),
        ("all", &[health_request, unknown_path, wrong_method, unknown_method]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let server = start_with_settings(dir.path(), &format!("[log]\naccess = '{access}'"));
        for (method, path, status) in [health_request, unknown_path, wrong_method, unknown_method] {
            let method = method.parse().unwrap();
            let url = format!("{}{path}?secret", server.url);
            let response = reqwest::Client::new().request(method, url).send().await.unwrap();
            assert_eq!(response.status(), status);
        }
        let expected: Vec<Value> = expected
            .iter()
            .map(|(method, path, status)| {
                let method = if *method == "INVENTED" { "other" } else { method };
                let route = if *status == 404 { "unmatched" } else { path };
                json!([method, route, path, status])
            })
            .collect();
        assert_eq!(access_log_summaries(&server.log()), expected, "{access}");
        assert!(!server.log().contains("secret"), "{}", server.log());
    }
}

#[tokio::test]
async fn all_requests_are_logged_at_level_debug() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &["--log-level", "debug"]);
    reqwest::get(format!("{}/healthz", server.url)).await.unwrap();
    assert_eq!(access_log_summaries(&server.log()), [json!(["GET", "/healthz", "/healthz", 200])]);
}

/// A client cannot fill the disk with long values, or inject line breaks.
#[tokio::test]
async fn values_from_clients_are_shortened_and_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_with_settings(dir.path(), "[log]\naccess = 'all'\nlevel = 'error'");
    let path = format!("/{}", "x".repeat(5000));
    let client = reqwest::Client::builder().user_agent("y".repeat(5000)).build().unwrap();
    client.get(format!("{}{path}", server.url)).send().await.unwrap();
    let quoting_request = client.get(format!("{}/a\"%22%0A", server.url));
    quoting_request.header("user-agent", "\"\\\t{}").send().await.unwrap();
    let log = server.log();
    let [shortened_line, quoting_line] = &*parse_json_lines(&log) else { panic!("{log}") };
    assert_eq!(shortened_line["path"], path[..500]);
    assert_eq!(shortened_line["user_agent"].as_str().unwrap().len(), 200);
    assert_eq!(quoting_line["path"], "/a%22%22%0A");
    assert_eq!(quoting_line["user_agent"], "\"\\\t{}");
}

/// A terminal would interpret these characters when an operator reads the log.
#[test]
fn control_and_bidirectional_characters_in_a_path_are_escaped() {
    let path = "/a\u{9b}31m\u{202e}\u{85}red";
    let dir = tempfile::tempdir().unwrap();
    let server = start_with_settings(dir.path(), "[log]\naccess = 'all'\nlevel = 'error'");
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let log = server.log();
    assert!(log.trim_end().is_ascii() && log.lines().count() == 1, "{log:?}");
    assert_eq!(parse_json_lines(&log)[0]["path"], path);
}
