//! Methods and scopes of the endpoints.

use serde_json::json;

use crate::rules::{pushrules_path, start_unlimited};

#[tokio::test]
async fn the_endpoints_have_one_method_each_and_no_trailing_slash() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (path, allowed_methods) in [("export", "GET,HEAD"), ("import", "POST"), ("reset", "POST")] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "BREW"] {
            if allowed_methods.split(',').any(|allowed| allowed == method) {
                continue;
            }
            let response = alice.send(&format!("{method} {}", pushrules_path(path)), "{}").await;
            assert_eq!(
                (response.status, response.header("allow")),
                (405, allowed_methods),
                "{method} {path}"
            );
            if method != "HEAD" {
                assert_eq!(response.status_and_errcode().1, "M_UNRECOGNIZED", "{method} {path}");
            }
        }
        for suffix in ["/", "/room/", "/room/a"] {
            let response = alice.get(&pushrules_path(&format!("{path}{suffix}"))).await;
            assert_eq!(
                response.status_and_errcode(),
                (400, "M_UNRECOGNIZED".into()),
                "{path}{suffix}"
            );
        }
    }
    let head_request = format!("HEAD {}", pushrules_path("export"));
    assert_eq!(alice.send(&head_request, "").await.status, 200);
}

#[tokio::test]
async fn reading_and_writing_require_their_scopes() {
    let service = start_unlimited().await;
    for (scopes, read_status, write_status) in [
        ("read", 200, 403),
        ("read:notifications", 200, 403),
        ("write:notifications", 403, 200),
        ("push", 200, 200),
        ("read:accounts", 403, 403),
    ] {
        let client = service.user_client_with_scopes("alice", scopes).await;
        assert_eq!(client.get(&pushrules_path("export")).await.status, read_status, "{scopes}");
        for (path, body) in [("import", json!({ "global": {} })), ("reset", json!({}))] {
            let response = client.post_rules(path, &body).await;
            assert_eq!(response.status, write_status, "{scopes} {path}");
            if write_status == 403 {
                assert_eq!(response.status_and_errcode().1, "M_FORBIDDEN");
            }
        }
    }
}
