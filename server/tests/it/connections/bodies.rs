//! Bodies over a socket: one that never ends, one that is too large, told or not.

use belfry::config::Config;
use serde_json::Value;

use super::{Listening, SHORT};
use crate::support::service::config;

/// A PUT of a rule with these headers and what follows them.
fn put_rule(token: &str, headers: &str, body: &str) -> String {
    format!(
        "PUT /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {token}\r\n{headers}\r\n\r\n{body}"
    )
}

/// The status and the body of the one answer that was given before the connection was closed.
#[track_caller]
fn taken_apart(answer: &str) -> (&str, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (&head[9..12], serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer:?}")))
}

#[tokio::test]
async fn a_body_that_does_not_end_in_time_is_answered_in_the_shape_of_its_area() {
    let server = Listening::with(config(|config| config.http.body_timeout = SHORT)).await;
    let token = server.service.person("alice").await.token().to_owned();
    for (headers, part) in
        [("Content-Length: 20", "{\"actions\""), ("Transfer-Encoding: chunked", "2\r\n{\"\r\n")]
    {
        let answer = server.say(put_rule(&token, headers, part).as_bytes()).await;
        let (status, body) = taken_apart(&answer);
        assert_eq!((status, &body["errcode"]), ("408", &"M_UNKNOWN".into()), "{answer}");
        assert_eq!(body["error"], "The body did not arrive in time");
    }
    let form = "POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=";
    let answer = server.say(form.as_bytes()).await;
    let (status, body) = taken_apart(&answer);
    assert_eq!((status, &body["error"]), ("408", &"invalid_request".into()), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_without_being_read() {
    let server = Listening::with(Config::default()).await;
    let token = server.service.person("alice").await.token().to_owned();
    let headers = "Content-Length: 1000000000";
    let answer = server.say(put_rule(&token, headers, "").as_bytes()).await;
    let (status, body) = taken_apart(&answer);
    assert_eq!((status, &body["errcode"]), ("413", &"M_TOO_LARGE".into()), "{answer}");
    server.stop().await;
}

/// It says nothing of its length, and would not end by itself.
#[tokio::test]
async fn a_body_that_becomes_too_large_is_refused_where_it_does() {
    let server = Listening::with(Config::default()).await;
    let token = server.service.person("alice").await.token().to_owned();
    let chunk = format!("{:x}\r\n{}\r\n", 32 * 1024, "a".repeat(32 * 1024)).repeat(3);
    let chunked = put_rule(&token, "Transfer-Encoding: chunked", &chunk);
    let answer = server.say(chunked.as_bytes()).await;
    let (status, body) = taken_apart(&answer);
    assert_eq!((status, &body["errcode"]), ("413", &"M_TOO_LARGE".into()), "{answer}");
    assert_eq!(body["error"], "The body may have at most 65536 bytes");
    server.stop().await;
}
