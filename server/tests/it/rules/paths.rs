//! Paths that name nothing: each gets a documented refusal, and nothing changes.

use super::{at, least, service};
use crate::support::Process;

#[tokio::test]
async fn a_path_that_names_nothing_is_unrecognized() {
    let service = service().await;
    let alice = service.person("alice").await;
    let before = alice.get(&at("")).await.text;
    for path in [
        "global",
        "device",
        "device/phone",
        "global/override",
        "device/phone/override",
        "/",
        "//",
        "everything/",
        "Global/",
        "global/postcontent/",
        "global/postcontent",
        "global/Override/a",
        "global//a",
        "other/override/a",
        "global/override/a/",
        "global/override/a/pattern",
        "global/override/a/default",
        "global/override/a/enabled/",
        "global/override/a/enabled/more",
        "../pushrules/",
        "global/../device/",
        "%67lobal",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let answer =
                alice.call(&format!("{method} {}", at(path)), least("content").to_string()).await;
            assert_eq!(answer.errcode(), (400, "M_UNRECOGNIZED".into()), "{method} {path}");
        }
    }
    assert_eq!(alice.get(&at("")).await.text, before);
}

/// Attacks 89, 145 and 149: ids that cut paths, break texts or have no end.
#[tokio::test]
async fn a_broken_id_is_an_invalid_parameter() {
    let service = service().await;
    let alice = service.person("alice").await;
    let before = alice.get(&at("")).await.text;
    let (long, longer) = ("a".repeat(256), "a".repeat(60_000));
    for id in [
        "a%2Fb",
        "a%2fenabled",
        "%2F",
        "a%5Cb",
        "%00",
        "a%00b",
        "%",
        "%4",
        "%zz",
        "%ff",
        "%C3",
        "%C0%AF",
        "%ED%A0%80",
        &long,
        &longer,
        "%2e%2e%2f",
    ] {
        for (method, attribute) in
            [("GET", ""), ("PUT", ""), ("DELETE", ""), ("PUT", "/enabled"), ("GET", "/actions")]
        {
            let path = at(&format!("global/content/{id}{attribute}"));
            let answer =
                alice.call(&format!("{method} {path}"), least("content").to_string()).await;
            let id = &id[..id.len().min(40)];
            assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()), "{method} {id}");
        }
    }
    let answer = alice.get(&at("global/content//enabled")).await;
    assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()));
    assert_eq!(alice.get(&at("")).await.text, before);
}

#[tokio::test]
async fn an_id_has_up_to_255_bytes() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (text, encoded) in
        [("a".repeat(255), "a".repeat(255)), ("ü".repeat(127) + "a", "%C3%BC".repeat(127) + "a")]
    {
        assert_eq!(text.len(), 255);
        let path = format!("global/room/{encoded}");
        alice.puts(&path, &least("room")).await;
        assert_eq!(alice.shown(&path).await["rule_id"], text);
        alice.puts(&format!("{path}/enabled"), &serde_json::json!(false)).await;
        assert_eq!(alice.own("global/room/").await, [text]);
        assert_eq!(alice.delete(&path).await.status, 200);
        let answer = alice.put(&format!("{path}a"), &least("room")).await;
        assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()));
    }
}

#[tokio::test]
async fn dots_are_an_id_like_any_that_nobody_has() {
    let service = service().await;
    let alice = service.person("alice").await;
    for id in [".", "..", "%2e%2e", "..%5c"] {
        let status = alice.get(&at(&format!("global/content/{id}"))).await.status;
        assert!(matches!(status, 400 | 404), "{id}: {status}");
    }
}

#[tokio::test]
async fn what_no_route_has_is_not_found() {
    let service = service().await;
    let alice = service.person("alice").await;
    for path in [
        "/_service/client/api/v1/pushrules",
        "/_matrix/client/v3/pushrules",
        "/_matrix/client/v3/pushrulesx/",
        "/_matrix/client/v3/",
        "/_matrix/client/unstable/pushrules/",
        "/_matrix//client/v3/pushrules/",
        "/_matrix/client/v3/%70ushrules/",
    ] {
        let answer = alice.get(path).await;
        assert_eq!(answer.errcode(), (404, "M_UNRECOGNIZED".into()), "{path}");
    }
}

/// The same over a socket, where the length that is told must be the length that is sent.
#[tokio::test]
async fn a_refusal_arrives_whole() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &[]);
    for (path, status) in [
        (at(""), 401),
        ("/_matrix/client/v3/pushrules".to_owned(), 404),
        ("/_matrix/client/v3/logout".to_owned(), 405),
        ("/oauth/nothing".to_owned(), 404),
        ("/nothing".to_owned(), 404),
    ] {
        let answer = reqwest::get(format!("{}{path}", process.url)).await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        let error: serde_json::Value = answer.json().await.unwrap();
        assert!(error["error"].is_string(), "{path}: {error}");
    }
}
