//! Cross-origin requests (CORS).

use crate::rules::{pushrules_path, start_unlimited};

#[tokio::test]
async fn any_origin_may_send_preflight_and_actual_requests() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await.with_header("origin", "https://app.example");
    for path in [
        pushrules_path("global/room/a"),
        "/_matrix/client/v3/login".to_owned(),
        "/api/v1/apps".to_owned(),
        "/oauth/token".to_owned(),
        "/oauth/revoke".to_owned(),
        "/oauth/userinfo".to_owned(),
        "/.well-known/oauth-authorization-server".to_owned(),
        "/.well-known/oauth-authorization-server/id".to_owned(),
        "/_matrix/client/v1/auth_metadata".to_owned(),
        "/id/register".to_owned(),
        "/id/token".to_owned(),
        "/id/revoke".to_owned(),
    ] {
        let preflight = alice
            .with_header("access-control-request-method", "PUT")
            .send(&format!("OPTIONS {path}"), "")
            .await;
        assert_eq!((preflight.status, preflight.text.as_str()), (204, ""), "{path}");
        assert_eq!(preflight.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(preflight.header("access-control-allow-credentials"), "", "{path}");
        for method in ["GET", "PUT", "DELETE", "POST"] {
            assert!(preflight.header("access-control-allow-methods").contains(method), "{path}");
        }
        let allowed_headers = preflight.header("access-control-allow-headers");
        assert_eq!(
            allowed_headers,
            "Authorization, Content-Type, MCP-Protocol-Version, Traceparent, Tracestate",
            "{path}"
        );
        let response = alice.get(&path).await;
        assert_eq!(response.header("access-control-allow-origin"), "*", "{path}");
        let exposed_headers = response.header("access-control-expose-headers");
        for name in [
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
            "RateLimit",
            "Retry-After",
            "X-Request-Id",
        ] {
            assert!(exposed_headers.contains(name), "{path}: {exposed_headers}");
        }
    }
}

#[tokio::test]
async fn a_preflight_request_needs_no_token_and_changes_nothing() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &crate::rules::minimal_rule("room")).await;
    let preflight = service
        .anonymous_client()
        .send(&format!("OPTIONS {}", pushrules_path("global/room/a")), "")
        .await;
    assert_eq!(preflight.status, 204);
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
}

#[tokio::test]
async fn pages_do_not_allow_other_origins() {
    let service = start_unlimited().await;
    let cross_origin_client =
        service.anonymous_client().with_header("origin", "https://evil.example");
    for path in ["/oauth/authorize", "/oauth/authorize/native", "/healthz", "/"] {
        for method in ["GET", "OPTIONS"] {
            let response = cross_origin_client.send(&format!("{method} {path}"), "").await;
            assert_eq!(response.header("access-control-allow-origin"), "", "{method} {path}");
            assert_eq!(response.header("access-control-allow-methods"), "", "{method} {path}");
        }
    }
}
