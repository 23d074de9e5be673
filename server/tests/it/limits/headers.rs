//! Rate limit headers in responses, and rate limit metrics.

use serde_json::json;

use super::count_admitted;
use crate::support::Service;

const HEADERS: [&str; 5] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
];

#[tokio::test]
async fn a_response_reports_the_closest_limit_and_all_limits() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    service.clock.advance_millis(250);
    let response = alice.send("POST /api/v1/media", "").await;
    let header_values = HEADERS.map(|name| response.header(name));
    let expected = [
        "30",
        "29",
        "2027-01-15T08:30:00.250Z",
        r#""account";r=299;t=300, "media";r=29;t=1800, "ip";r=299;t=300"#,
        r#""account";q=300;w=300, "media";q=30;w=1800, "ip";q=300;w=300"#,
    ];
    assert_eq!(header_values, expected);
    assert_eq!(response.header("retry-after"), "");
}

#[tokio::test]
async fn error_responses_have_the_headers_too() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    for (request, status) in [
        ("GET /api/v1/nothing", 404),
        ("GET /_matrix/client/v3/nothing", 404),
        ("GET /oauth/nothing", 404),
        ("POST /gateway/check", 400),
        ("POST /gateway/check/x", 401),
    ] {
        let response = anonymous.send(request, "").await;
        assert_eq!(response.status, status, "{request}");
        for name in HEADERS {
            assert_ne!(response.header(name), "", "{request}: {name}");
        }
    }
}

#[tokio::test]
async fn a_rejection_reports_when_to_retry_in_the_format_of_its_area() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    assert_eq!(count_admitted(&anonymous, "GET /x", 300).await, 300);
    service.clock.advance_millis(100_700);
    let plain_body = json!({ "error": "Too many requests" });
    let matrix_body = json!({
        "errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests", "retry_after_ms": 199_300,
    });
    for (path, body) in [
        ("/api/v1/statuses", &plain_body),
        ("/oauth/token", &plain_body),
        ("/nowhere", &plain_body),
        ("/_matrix/client/v3/pushrules/", &matrix_body),
        ("/_service/client/api/v1/pushrules/", &matrix_body),
    ] {
        let response = anonymous.get(path).await;
        assert_eq!((response.status, &response.json()), (429, body), "{path}");
        let header_values = HEADERS.map(|name| response.header(name));
        let expected =
            ["300", "0", "2027-01-15T08:05:00.000Z", r#""ip";r=0;t=200"#, r#""ip";q=300;w=300"#];
        assert_eq!(header_values, expected, "{path}");
        assert_eq!(response.header("retry-after"), "200", "{path}");
    }
    service.clock.advance(200);
    assert_eq!(
        anonymous.get("/x").await.header("x-ratelimit-remaining"),
        "299",
        "the limit resets at the reported time"
    );
}

#[tokio::test]
async fn metrics_report_each_limit_by_name() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 33).await, 30);
    let metrics = service.metrics().await;
    for line in [
        "belfry_rate_limit_decisions_total{limit=\"media\",outcome=\"allowed\"} 30",
        "belfry_rate_limit_decisions_total{limit=\"media\",outcome=\"rejected\"} 3",
        "belfry_rate_limit_nearly_exhausted_total{limit=\"media\"} 7",
        "belfry_rate_limit_decisions_total{limit=\"account\",outcome=\"allowed\"} 30",
        "belfry_rate_limit_decisions_total{limit=\"account\",outcome=\"rejected\"} 0",
        "belfry_rate_limit_nearly_exhausted_total{limit=\"account\"} 0",
        "belfry_rate_limit_decisions_total{limit=\"ip\",outcome=\"allowed\"} 30",
        "belfry_rate_limit_decisions_total{limit=\"sign_in_name\",outcome=\"allowed\"} 0",
        "belfry_rate_limit_keys 3",
        "belfry_rate_limit_evicted_keys_total 0",
    ] {
        assert!(metrics.lines().any(|metric| metric == line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains("redis"), "Redis is not configured");
}
