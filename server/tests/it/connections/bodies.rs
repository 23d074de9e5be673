//! Request bodies over a socket that are incomplete or too large.

use belfry::config::Config;
use serde_json::Value;

use super::{SHORT_TIMEOUT, Server};
use crate::support::service::config_with;

fn put_rule_request(token: &str, headers: &str, body: &str) -> String {
    format!(
        "PUT /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {token}\r\n{headers}\r\n\r\n{body}"
    )
}

/// Returns the status and body of the only response.
#[track_caller]
fn parse_response(response: &str) -> (&str, Value) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response:?}"));
    (&head[9..12], serde_json::from_str(body).unwrap_or_else(|_| panic!("{response:?}")))
}

#[tokio::test]
async fn a_body_timeout_has_the_error_format_of_its_area() {
    let server =
        Server::with_config(config_with(|config| config.http.body_timeout = SHORT_TIMEOUT)).await;
    let token = server.service.user_client("alice").await.token().to_owned();
    for (headers, partial_body) in
        [("Content-Length: 20", "{\"actions\""), ("Transfer-Encoding: chunked", "2\r\n{\"\r\n")]
    {
        let response =
            server.send(put_rule_request(&token, headers, partial_body).as_bytes()).await;
        let (status, body) = parse_response(&response);
        assert_eq!((status, &body["errcode"]), ("408", &"M_UNKNOWN".into()), "{response}");
        assert_eq!(body["error"], "The body did not arrive in time");
    }
    let form_request = "POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=";
    let response = server.send(form_request.as_bytes()).await;
    let (status, body) = parse_response(&response);
    assert_eq!((status, &body["error"]), ("408", &"invalid_request".into()), "{response}");
    server.stop().await;
}

#[tokio::test]
async fn a_too_large_content_length_is_rejected_before_the_body() {
    let server = Server::with_config(Config::default()).await;
    let token = server.service.user_client("alice").await.token().to_owned();
    let headers = "Content-Length: 1000000000";
    let response = server.send(put_rule_request(&token, headers, "").as_bytes()).await;
    let (status, body) = parse_response(&response);
    assert_eq!((status, &body["errcode"]), ("413", &"M_TOO_LARGE".into()), "{response}");
    server.stop().await;
}

#[tokio::test]
async fn a_chunked_body_is_rejected_when_it_becomes_too_large() {
    let server = Server::with_config(Config::default()).await;
    let token = server.service.user_client("alice").await.token().to_owned();
    let chunks = format!("{:x}\r\n{}\r\n", 32 * 1024, "a".repeat(32 * 1024)).repeat(3);
    let request = put_rule_request(&token, "Transfer-Encoding: chunked", &chunks);
    let response = server.send(request.as_bytes()).await;
    let (status, body) = parse_response(&response);
    assert_eq!((status, &body["errcode"]), ("413", &"M_TOO_LARGE".into()), "{response}");
    assert_eq!(body["error"], "The body must not be larger than 65536 bytes");
    server.stop().await;
}

/// If a proxy and this server read different lengths, a client can hide a second request in the
/// body.
#[tokio::test]
async fn the_body_length_is_unambiguous() {
    let server = Server::with_config(Config::default()).await;
    let token = server.service.user_client("alice").await.token().to_owned();
    let chunked_body = "e\r\n{\"actions\":[]}\r\n0\r\n\r\n";
    for headers in [
        "Content-Length: 14\r\nContent-Length: 2",
        "Content-Length: 14, 2",
        "Content-Length: +14",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nX-Folded: a\r\n b",
        "Transfer-Encoding : chunked",
    ] {
        let response =
            server.send(put_rule_request(&token, headers, chunked_body).as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{headers}: {response}");
        assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{headers}: {response}");
    }
    // The chunks determine the length (RFC 9112, section 6.3), in either order of the headers.
    for headers in [
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\nConnection: close",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\nConnection: close",
    ] {
        let response =
            server.send(put_rule_request(&token, headers, chunked_body).as_bytes()).await;
        assert_eq!(
            parse_response(&response),
            ("200", serde_json::json!({})),
            "{headers}: {response}"
        );
    }
    server.stop().await;
}
