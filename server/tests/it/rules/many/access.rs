//! Methods and scopes of the endpoints.

use serde_json::json;

use crate::rules::{pushrules, service};

#[tokio::test]
async fn the_endpoints_have_one_method_each_and_no_trailing_slash() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    for (path, allowed) in
        [("export", "GET,HEAD"), ("import", "POST"), ("reset", "POST"), ("bulk", "POST")]
    {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "BREW"] {
            if allowed.split(',').any(|one| one == method) {
                continue;
            }
            let response = alice.send(&format!("{method} {}", pushrules(path)), "{}").await;
            assert_eq!(
                (response.status, response.header("allow")),
                (405, allowed),
                "{method} {path}"
            );
            if method != "HEAD" {
                assert_eq!(response.status_and_errcode().1, "M_UNRECOGNIZED", "{method} {path}");
            }
        }
        for below in ["/", "/room/", "/room/a"] {
            let response = alice.get(&pushrules(&format!("{path}{below}"))).await;
            assert_eq!(
                response.status_and_errcode(),
                (400, "M_UNRECOGNIZED".into()),
                "{path}{below}"
            );
        }
    }
    let export = format!("HEAD {}", pushrules("export"));
    assert_eq!(alice.send(&export, "").await.status, 200);
}

#[tokio::test]
async fn reading_and_writing_require_their_scopes() {
    let service = service().await;
    for (scopes, read, write) in [
        ("read", 200, 403),
        ("read:notifications", 200, 403),
        ("write:notifications", 403, 200),
        ("push", 200, 200),
        ("read:accounts", 403, 403),
    ] {
        let client = service.user_client_with_scopes("alice", scopes).await;
        assert_eq!(client.get(&pushrules("export")).await.status, read, "{scopes}");
        for (path, body) in [
            ("import", json!({ "global": {} })),
            ("reset", json!({})),
            ("bulk", json!({ "changes": [] })),
        ] {
            let response = client.post_rules(path, &body).await;
            assert_eq!(response.status, write, "{scopes} {path}");
            if write == 403 {
                assert_eq!(response.status_and_errcode().1, "M_FORBIDDEN");
            }
        }
    }
}
