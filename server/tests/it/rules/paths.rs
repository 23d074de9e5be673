//! Invalid paths are rejected with the documented error and change nothing.

use super::{minimal_rule, pushrules_path, start_unlimited};
use crate::support::ServerProcess;

#[tokio::test]
async fn an_invalid_path_is_unrecognized() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    for path in [
        "device/phone",
        "//",
        "global/postcontent/",
        "global//a",
        "global/override/a/",
        "global/override/a/enabled/more",
        "../pushrules/",
        "%67lobal",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let response = alice
                .send(
                    &format!("{method} {}", pushrules_path(path)),
                    minimal_rule("content").to_string(),
                )
                .await;
            assert_eq!(
                response.status_and_errcode(),
                (400, "M_UNRECOGNIZED".into()),
                "{method} {path}"
            );
        }
    }
    for path in ["", "global/", "device/phone/", "global/override/"] {
        let response = alice.put_rule(path, &minimal_rule("content")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_UNRECOGNIZED".into()), "{path}");
    }
    assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
}

/// These ids contain escaped separators, invalid UTF-8 or NUL, or are too long.
#[tokio::test]
async fn an_invalid_id_is_an_invalid_parameter() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    let long_id = "a".repeat(256);
    let longer_id = "a".repeat(60_000);
    for id in
        ["a%2fenabled", "a%5Cb", "a%00b", "%4", "%zz", "%C3", "%ED%A0%80", &long_id, &longer_id]
    {
        for (method, attribute) in
            [("GET", ""), ("PUT", ""), ("DELETE", ""), ("PUT", "/enabled"), ("GET", "/actions")]
        {
            let path = pushrules_path(&format!("global/content/{id}{attribute}"));
            let response =
                alice.send(&format!("{method} {path}"), minimal_rule("content").to_string()).await;
            let id_start = &id[..id.len().min(40)];
            assert_eq!(
                response.status_and_errcode(),
                (400, "M_INVALID_PARAM".into()),
                "{method} {id_start}"
            );
        }
    }
    let response = alice.get(&pushrules_path("global/content//enabled")).await;
    assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()));
    assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
}

#[tokio::test]
async fn an_id_may_have_up_to_255_bytes() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (id, encoded_id) in
        [("a".repeat(255), "a".repeat(255)), ("ü".repeat(127) + "a", "%C3%BC".repeat(127) + "a")]
    {
        assert_eq!(id.len(), 255);
        let path = format!("global/room/{encoded_id}");
        alice.put_rule_ok(&path, &minimal_rule("room")).await;
        assert_eq!(alice.get_rules(&path).await["rule_id"], id);
        alice.put_rule_ok(&format!("{path}/enabled"), &serde_json::json!(false)).await;
        assert_eq!(alice.user_rule_ids("global/room/").await, [id]);
        assert_eq!(alice.delete_rule(&path).await.status, 200);
        let response = alice.put_rule(&format!("{path}a"), &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()));
    }
}

#[tokio::test]
async fn a_path_without_a_route_is_not_found() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for path in [
        "/_service/client/api/v1/pushrules",
        "/_matrix/client/v3/pushrules",
        "/_matrix/client/v3/pushrulesx/",
        "/_matrix/client/v3/",
        "/_matrix/client/unstable/pushrules/",
        "/_matrix//client/v3/pushrules/",
        "/_matrix/client/v3/%70ushrules/",
    ] {
        let response = alice.get(path).await;
        assert_eq!(response.status_and_errcode(), (404, "M_UNRECOGNIZED".into()), "{path}");
    }
}

/// The responses are read from a socket, where `Content-Length` must match the body.
#[tokio::test]
async fn an_error_response_arrives_complete() {
    let dir = tempfile::tempdir().unwrap();
    let process = ServerProcess::start(dir.path(), &[]);
    for (path, status) in [
        (pushrules_path(""), 401),
        ("/_matrix/client/v3/pushrules".to_owned(), 404),
        ("/_matrix/client/v3/logout".to_owned(), 405),
        ("/oauth/nothing".to_owned(), 404),
        ("/nothing".to_owned(), 404),
    ] {
        let response = reqwest::get(format!("{}{path}", process.url)).await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let error: serde_json::Value = response.json().await.unwrap();
        assert!(error["error"].is_string(), "{path}: {error}");
    }
}
